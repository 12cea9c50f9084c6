"""A study of how far the tiles of NMBR 9 spread, which the numbering of actions limits."""
