"""Judges every move of a game: see ``python -m training.review --help``."""

import sys

from patchwork_env.learning.commands.review import main

if __name__ == "__main__":
    sys.exit(main())
