"""Rates an agent against a fixed pool of reference players: see ``python -m training.gauntlet --help``."""

import sys

from patchwork_env.learning.commands.gauntlet import main

if __name__ == "__main__":
    sys.exit(main())
