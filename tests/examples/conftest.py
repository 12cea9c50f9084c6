"""Examples are started as a user would: as commands, in a folder of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def start(tmp_path):
    """Runs an example, in which every warning is an error, and returns what it printed.

    ``tmp_path`` is the working folder. The example must succeed. ``ignored`` is an exception for a warning of
    a library about itself, as ``python -W`` takes it.
    """

    def start(name, *arguments, ignored=None):
        warnings = ["-W", "error", *(() if ignored is None else ("-W", ignored))]
        done = subprocess.run(
            [sys.executable, *warnings, str(EXAMPLES / name), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return start
