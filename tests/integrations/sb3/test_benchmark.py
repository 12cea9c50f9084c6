"""The comparison with SubprocVecEnv runs as documented, on few environments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def test_benchmark():
    command = [sys.executable, str(ROOT / "benchmarks" / "maskable_ppo.py"), "--envs", "2", "--rounds", "1"]
    command += ["--decisions", "128", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])["2"]
    names = ["MaskablePPO, SubprocVecEnv", "MaskablePPO, batch", "algorithm: maskable_ppo"]
    names.append("PatchworkPolicy, batch")
    assert list(figures) == names
    for own in figures.values():
        assert own["collecting"] > own["whole"] > 0
    assert done.stdout.count(" 1.0x") >= 2
