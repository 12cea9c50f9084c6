"""The commands, each a module with a ``main``."""
