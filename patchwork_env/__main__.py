"""``python -m patchwork_env`` is the command ``patchwork-env``."""

import sys

from patchwork_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
