"""The comparison with SubprocVecEnv runs as documented, on few environments."""

import json

import pytest

from tests.scripts import run_benchmark

pytestmark = pytest.mark.slow


def test_benchmark():
    few = ("--envs", "2", "--rounds", "1", "--decisions", "128")
    done = run_benchmark("maskable_ppo.py", *few, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])["2"]
    assert list(figures) == ["MaskablePPO, SubprocVecEnv", "MaskablePPO, batch", "PatchworkPolicy, batch"]
    for own in figures.values():
        assert own["collecting"] > own["whole"] > 0
    assert done.stdout.count(" 1.0x") >= 2
