"""The benchmark of clusters runs as documented, on a small input.

Runs where Ray is installed: ``make test-older``.
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("ray")

from tests.benchmarks.test_benchmarks import run
from tests.learning.distributed.configs import TD

pytestmark = pytest.mark.older


def test_scaling(tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text(TD)
    arguments = ["--workers", "1", "--rounds", "1", "--seconds", "0.1"]
    done = run("scaling.py", "--configs", str(config), *arguments, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])[str(config)]
    assert list(figures["ways"]) == [
        "no Ray, 1 thread",
        "no Ray, 2 threads",
        "1 worker, 1 thread",
        "1 worker, 1 thread, ahead",
    ]
    for way, row in figures["ways"].items():
        assert row["games_per_second"] > 0
        assert 0 < row["learner_idle_share"] < 1
        assert (row["bytes_back_per_game"] > 0) == way.startswith("1 worker")
    assert all(figure > 0 for figure in figures["parts"].values())


def test_scaling_of_a_run_without_workers(tmp_path):
    config = tmp_path / "ppo.yaml"
    config.write_text("algorithm: ppo")
    done = run("scaling.py", "--configs", str(config))
    assert done.returncode == 2
    assert "algorithm 'ppo'" in done.stderr
    assert "Traceback" not in done.stderr
