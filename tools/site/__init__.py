"""The page without a server: kernels as WebAssembly, and the static folder around them; see ``make site``."""
