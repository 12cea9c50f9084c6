"""Plays a round robin among agents: see ``python -m training.tournament --help``."""

import sys

from patchwork_env.learning.commands.tournament import main

if __name__ == "__main__":
    sys.exit(main())
