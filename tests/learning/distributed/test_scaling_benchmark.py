"""The benchmark of clusters runs as documented, on a small input.

Runs where Ray is installed: ``make test-older``.
"""

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
    ways = ["no Ray, 1 thread", "no Ray, 2 threads", "1 worker, 1 thread", "1 worker, 1 thread, ahead"]
    assert list(figures["ways"]) == ways
    for row in figures["ways"].values():
        assert row["games_per_second"] > 0
        assert 0 < row["learner_idle_share"] < 1
    assert all(figure > 0 for figure in figures["parts"].values())
