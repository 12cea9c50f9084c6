"""Pictures as lists of primitives, drawn as SVG, as pixels and in a window; they know no game."""
