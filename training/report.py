"""Writes a page about a run: see ``python -m training.report --help``."""

import sys

from patchwork_env.learning.commands.report import main

if __name__ == "__main__":
    sys.exit(main())
