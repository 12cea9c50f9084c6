"""The measurement of the gauntlet's members that search, against members whose ratings are fixed."""

import importlib
import sys

import numpy as np
import pytest

from patchwork_env.learning.evaluation.gauntlet import GauntletPool, Member, read_pool
from tests.benchmarks.test_benchmarks import ROOT

MEMBERS = [Member("random", None, 150, 4), Member("greedy", None, 1000, 4)]
MEMBERS += [Member(f"mcts:simulations={k}", None, rating, 4, 2) for k, rating in ((2, 400), (9, 800))]
POOL = GauntletPool(2, 7, "revised", tuple(MEMBERS))
LADDER = {
    ("mcts:simulations=2", "greedy"): 12,
    ("mcts:simulations=9", "greedy"): 8,
    ("mcts:simulations=9", "mcts:simulations=2"): 6,
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("gauntlet_ratings")


def test_the_ladder_connects_all_searches_to_weaker_members(script):
    ladder, specs = script.LADDER, read_pool().specs
    assert {agent for agent, _ in ladder} == {spec for spec in specs if spec.startswith("mcts")}
    assert all(specs.index(agent) > specs.index(opponent) for agent, opponent in ladder)


def test_searches_are_rated_against_fixed_ratings(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "LADDER", LADDER)
    monkeypatch.setattr(script, "read_pool", lambda: POOL)
    standings = script.measure(1, 1, tmp_path / "games")
    assert standings.names == ("greedy", "mcts:simulations=2", "mcts:simulations=9")
    assert np.array_equal(standings.known, [1000, np.nan, np.nan], equal_nan=True)
    met = {(m.agent, m.opponent): len(m.games) for m in standings.results.values()}
    assert met == LADDER
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("blocks/*.json")}
    assert len(kept) == 7
    monkeypatch.setattr(sys, "argv", f"gauntlet_ratings.py --workers 1 --out {tmp_path / 'games'}".split())
    script.main()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:3] == ["mcts:simulations=9", f"{standings.ratings.values[2]:.0f}", "800"]
