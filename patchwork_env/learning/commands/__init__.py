"""The commands, each a module with a ``main``; ``--help`` prints the docstring of the module."""
