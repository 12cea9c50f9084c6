"""The measurement of the gauntlet's members: a ladder beside ratings that stand, and what it freezes."""

import importlib
import json
import sys

import pytest

from patchwork_env.learning.evaluation import ratings
from patchwork_env.learning.evaluation.gauntlet import GauntletPool, Member, pool_file, read_pool
from tests.benchmarks.test_benchmarks import ROOT, run

RANDOM, GREEDY = Member("random", None, 150, 4), Member("greedy", None, 1000, 4)
NEW = Member("mcts:simulations=2", None, None, 4, 2), Member("mcts:simulations=9", None, None, 4, 2)
POOLS = {
    1: GauntletPool(1, 7, "revised", (RANDOM, GREEDY)),
    2: GauntletPool(2, 7, "revised", (RANDOM, GREEDY, *NEW)),
}
LADDER = {
    ("mcts:simulations=2", "greedy"): 12,
    ("mcts:simulations=9", "greedy"): 8,
    ("mcts:simulations=9", "mcts:simulations=2"): 6,
}


def load_script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("gauntlet_ratings")


def test_the_ladder_of_the_script_connects_all_new_members(monkeypatch):
    """Everybody in it is a member, and each new one meets weaker members."""
    ladder, specs = load_script(monkeypatch).LADDER, read_pool().specs
    assert {agent for agent, _ in ladder} == set(specs) - set(read_pool(1).specs)
    assert all(specs.index(agent) > specs.index(opponent) for agent, opponent in ladder)


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script with a ladder that takes no time, and a file of its own to write."""
    monkeypatch.setattr(ratings, "DRAWS", 200)
    module = load_script(monkeypatch)
    monkeypatch.setattr(module, "LADDER", LADDER)
    monkeypatch.setattr(module, "read_pool", POOLS.__getitem__)
    monkeypatch.setattr(module, "pool_file", lambda version: tmp_path / f"gauntlet_v{version}.json")
    members = [{"agent": m.agent, "weights": None, "rating": m.rating} for m in POOLS[2].members]
    (tmp_path / "gauntlet_v2.json").write_text(json.dumps({"members": members, "rated_with": None}))
    return module


def measure(module, folder, monkeypatch, *arguments):
    command = ["gauntlet_ratings.py", "--workers", "1", "--out", str(folder / "games"), *arguments]
    monkeypatch.setattr(sys, "argv", command)
    module.main()


def test_parts_make_the_whole_and_are_frozen(script, tmp_path, monkeypatch, capsys):
    measure(script, tmp_path, monkeypatch, "--only", "mcts:simulations=9")
    assert "ratings need the matches of all new members" in capsys.readouterr().out
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("blocks/*.json")}
    assert len(kept) == 4
    measure(script, tmp_path, monkeypatch, "--write")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    contents = json.loads((tmp_path / "gauntlet_v2.json").read_text())
    *old, weak, strong = contents["members"]
    assert [member["rating"] for member in old] == [150, 1000]
    rated = contents["rated_with"]
    assert {(m["agent"], m["opponent"]): m["games"] for m in rated["matches"]} == LADDER
    assert (rated["taken_from_version_1"], rated["seed"]) == (["random", "greedy"], 1)
    printed = capsys.readouterr().out
    for member in (weak, strong):
        low, high = member["interval"]
        assert (low or -1e9) < member["rating"] < (high or 1e9)
        assert str(member["rating"]) in printed


@pytest.mark.slow
def test_the_script_runs_as_documented(tmp_path):
    before = pool_file(2).read_bytes()
    games = [word for name in ("greedy", "ppo-v1") for word in ("--games", "mcts:simulations=400", name, "2")]
    arguments = ["--only", "mcts:simulations=400", *games, "--workers", "1", "--out", str(tmp_path / "games")]
    done = run("gauntlet_ratings.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert "mcts:simulations=400 against ppo" in done.stdout
    assert pool_file(2).read_bytes() == before
