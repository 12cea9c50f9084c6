"""Where POSIX, instructions of processors or internals of Numba are missing, everything goes on without them.

What is missing is hidden from a process of its own; see :mod:`tests.portable`.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from numba import config

PROJECT = Path(__file__).parents[1]
compiled_only = pytest.mark.skipif(config.DISABLE_JIT, reason="looks at machine code")


def printed(*words, **variables):
    """The lines that the program prints."""
    command = [sys.executable, "-m", "tests.portable", *words]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("fcntl") is None, reason="there is nothing to hide")
def test_without_posix_a_run_is_stored_and_resumed_and_the_page_answers(tmp_path):
    lines = printed("without_posix", str(tmp_path))
    assert f"resuming from {tmp_path / 'run' / 'checkpoints' / 'step_0000000064'}" in lines
    assert lines[-3:] == ["the page answered", "SIGTERM came after the work", "tests were imported"]


@pytest.mark.slow
@compiled_only
def test_kernels_of_an_old_processor_compute_the_same(tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    (sums,) = printed("vectors", **folder)
    assert "fmaf" not in sums
    assert printed("vectors", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", **folder) == [sums]


@pytest.mark.slow
@compiled_only
def test_a_numba_without_the_internals_plays_a_game_and_a_batch():
    assert printed("plain_numba", NUMBA_OPT="0") == ["False", "(16, -15)", "(4, 23)"]
