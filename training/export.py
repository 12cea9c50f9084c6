"""Writes the policy of a checkpoint as an ONNX file: see ``python -m training.export --help``."""

import sys

from patchwork_env.learning.commands.export import main

if __name__ == "__main__":
    sys.exit(main())
