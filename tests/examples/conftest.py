"""Examples are started as a user would: as commands, in a folder of their own, here on one core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., str]:
    """Runs an example, in which every warning is an error, and returns what it printed.

    ``tmp_path`` is the working folder. The example must succeed. ``ignored`` is an exception for a warning of
    a library about itself, as ``python -W`` takes it.
    """

    def start(name: str, *arguments: str, ignored: str | None = None) -> str:
        warnings = ["-W", "error", *(() if ignored is None else ("-W", ignored))]
        done = subprocess.run(
            [sys.executable, *warnings, str(EXAMPLES / name), *arguments],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return start
