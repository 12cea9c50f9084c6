"""Measures an agent against others: see ``python -m training.evaluate --help``."""

import sys

from patchwork_env.learning.commands.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
