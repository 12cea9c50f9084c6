"""The benchmarks run as documented, on small inputs."""

from __future__ import annotations

import json

from tests.test_benchmarks import run


def test_engine() -> None:
    done = run("nmbr9_engine.py", "--games", "4", "--repeats", "1", "--seconds", "0.01", "--json")
    assert done.returncode == 0, done.stderr
    rates = json.loads(done.stdout.splitlines()[-1])["steps_per_second"]
    assert set(rates) == {"plain", "mask", "mask_observation"}
    assert min(rates.values()) > 0


def test_table() -> None:
    done = run("nmbr9_table.py", "--random", "300", "--greedy", "100", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["random"]["mean_score"] < 5 < 40 < figures["greedy"]["mean_score"] < 65
    assert figures["greedy"]["largest_spread"] < figures["random"]["largest_spread"] < 59
