"""Trains runs that differ in some values of one configuration: see ``python -m training.sweep --help``."""

import sys

from patchwork_env.learning.commands.sweep import main

if __name__ == "__main__":
    sys.exit(main())
