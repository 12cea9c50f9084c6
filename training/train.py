"""Trains a policy by self-play from a configuration: see ``python -m training.train --help``."""

import sys

from patchwork_env.learning.commands.train import main

if __name__ == "__main__":
    sys.exit(main())
