"""The gauntlet: what is frozen, what it says about agents, the command, resuming, bad input."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from patchwork_env import agents
from training import gauntlet as module
from training import ratings
from training.gauntlet import POOL_FILE, Member, Pool, gauntlet, rating_of, read_pool
from training.matches import play_matches
from training.ratings import rate_against

ROOT = Path(__file__).parents[2]
FUNCTIONS = """
def lowest(game):
    return game.legal_actions()[0]

def illegal(game):
    return 5000
"""
FROZEN = {
    "ppo": "80b37aa1c233af43df2a1883988c455af43b7f7eb601b55e77823a5c9fca6f4d",
    "ppo-quick": "29d72b4a2a50a82e0ce857857a41349f256efc0aeaa7bea1ec105d84eedd7a13",
}
"""SHA-256 of the weights in version 1. A pool that changes is a new version: never edit these."""
SCORES = "37051a0c4452189b252c6911b23325faf092fee4478f076f55dfda1a97b64af7"
"""SHA-256 of the scores of greedy's first games against random in version 1."""
SMALL = Pool(4, 7, "revised", (Member("random", None, 150), Member("greedy", None, 1000)))


def lowest(game):
    return game.legal_actions()[0]


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch) -> None:
    monkeypatch.setattr(ratings, "DRAWS", 300)


@pytest.fixture
def small(monkeypatch) -> Pool:
    """A pool that takes no time."""
    monkeypatch.setattr(module, "read_pool", lambda: SMALL)
    return SMALL


# --- what is frozen ---------------------------------------------------------------------------------------


def test_version_1_is_as_it_was_frozen() -> None:
    pool = read_pool()
    assert (module.VERSION, POOL_FILE.name) == (1, "gauntlet_v1.json")
    assert (pool.games, pool.seed, pool.special_patches) == (1000, 20261121, "revised")
    assert {m.agent: m.weights for m in pool.members if m.weights} == FROZEN
    assert {m.agent for m in pool.members} == {"random", "greedy", *FROZEN}


@pytest.mark.parametrize("name", FROZEN)
def test_the_package_holds_the_weights_of_the_members(name: str) -> None:
    weights = agents.SHIPPED_FOLDER / name / "weights.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == FROZEN[name]


def test_members_without_weights_and_the_circles_are_as_they_were_frozen() -> None:
    """A change of greedy, of random, of the rules or of the circles is a new version as well."""
    scores = play_matches("greedy", "random", 128, seed=read_pool().seed).games.scores
    assert hashlib.sha256(scores.astype("<i8").tobytes()).hexdigest() == SCORES


def test_the_ratings_are_on_the_scale_that_the_file_names() -> None:
    contents = json.loads(POOL_FILE.read_text())
    frozen = {member["agent"]: member for member in contents["members"]}
    assert (contents["format"], contents["version"]) == ("patchwork-env gauntlet pool", 1)
    assert contents["rated_with"]["anchor"] == "greedy"
    assert contents["rated_with"]["games_per_pairing"] >= 1000
    assert frozen["greedy"]["rating"] == 1000
    ordered = [member["rating"] for member in contents["members"]]
    assert ordered == sorted(ordered)
    for member in frozen.values():
        low, high = member["interval"]
        assert low is None or low <= member["rating"]
        assert high is None or member["rating"] <= high


def test_weights_that_are_not_those_of_the_version_are_an_error(monkeypatch) -> None:
    pool = Pool(4, 7, "revised", (Member("ppo", "0" * 64, 1200),))
    monkeypatch.setattr(module, "read_pool", lambda: pool)
    with pytest.raises(
        ValueError, match="the weights of 'ppo' are not those of gauntlet v1: SHA-256 80b37aa1c"
    ):
        gauntlet("random")


def test_the_documents_say_what_is_frozen_and_what_the_file_holds(small) -> None:
    text = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8")
    protocol = text[text.index("## The gauntlet") :]
    for member in read_pool().members:
        assert re.search(rf"^\| `{member.agent}` \| .* \| {member.rating} \|$", protocol, re.MULTILINE)
    assert "seed 20261121" in protocol
    documented = set(re.findall(r"`(\w+)`", text))
    data = gauntlet("random", games=2).as_dict()
    assert set(data) | set(data["matches"][0]) <= documented


# --- results ----------------------------------------------------------------------------------------------


def test_an_agent_meets_every_member_as_in_a_match(small) -> None:
    result = gauntlet(lowest, games=140)
    assert result.agent == "lowest"
    assert result.is_complete is False
    for match, opponent in zip(result.results, ("random", "greedy"), strict=True):
        alone = play_matches(lowest, opponent, 140, seed=7)
        assert match.as_dict() == alone.as_dict()
    wins = np.stack([r.games.agent_wins.reshape(-1, 2).sum(1) for r in result.results], 1).astype(float)
    assert (result.rating, result.interval) == rate_against(np.array([150.0, 1000]), wins, 2 - wins)


def test_a_member_gets_about_the_rating_that_it_has() -> None:
    """In few games of the real pool; against itself it wins every second one."""
    places = {member.agent: k for k, member in enumerate(read_pool().members)}
    found = gauntlet("greedy", games=64)
    low, high = found.interval
    assert low - 40 < read_pool().members[places["greedy"]].rating < high + 40
    assert found.results[places["random"]].win_rate > 0.9
    assert found.results[places["greedy"]].win_rate == 0.5


def test_plain_data_and_the_table_say_the_same(small) -> None:
    result = gauntlet("random")
    data = result.as_dict()
    assert (data["format"], data["version"], data["game"]) == ("patchwork-env gauntlet", 1, "patchwork")
    assert (data["agent"], data["weights"], data["complete"]) == ("random", None, True)
    assert data["rating"] == result.rating
    assert [match["opponent"] for match in data["matches"]] == ["random", "greedy"]
    assert [match["opponent_rating"] for match in data["matches"]] == [150, 1000]
    greedy = data["matches"][1]
    assert greedy["expected_win_rate"] == pytest.approx(1 / (1 + 10 ** ((1000 - result.rating) / 400)))
    assert data["seconds_per_move"] > 0
    assert data["made_with"]["machine"]
    lines = result.table().splitlines()
    assert lines[0].startswith(f"random in gauntlet v1: rating {result.rating:.0f}, 95% interval ")
    assert f"{greedy['win_rate']:.1%}" in lines[4]
    assert "trial" not in lines[0]
    assert "(a trial: 2 of 4 games per member)" in gauntlet("random", games=2).table()


def test_weights_of_a_checkpoint_are_named(small) -> None:
    assert gauntlet("ppo-quick", games=2).weights == FROZEN["ppo-quick"]


def test_processes_and_stops_change_nothing(small, tmp_path, monkeypatch) -> None:
    whole = gauntlet("random", games=140)
    parallel = gauntlet("random", games=140, workers=2)
    counted: list[int] = []

    def stop(games: int) -> None:
        counted.append(games)
        if len(counted) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gauntlet("random", games=140, folder=tmp_path / "games", progress=stop)
    assert len(list((tmp_path / "games" / "blocks").iterdir())) == 2
    counted.clear()
    resumed = gauntlet("random", games=140, folder=tmp_path / "games", progress=counted.append)
    assert counted[0] == 256
    assert sum(counted) == 280
    for other in (parallel, resumed):
        assert [r.as_dict() for r in other.results] == [r.as_dict() for r in whole.results]
        assert (other.rating, other.interval) == (whole.rating, whole.interval)


def test_matches_of_others_give_a_rating_too(small) -> None:
    results = [play_matches(lowest, name, 20, seed=3) for name in ("random", "greedy")]
    value, _ = rating_of(results, SMALL)
    assert value < 1000
    assert rating_of(results[:1], SMALL)[0] != value
    with pytest.raises(ValueError, match="ppo is not in the gauntlet; its members: random, greedy"):
        rating_of([play_matches(lowest, "ppo", 2)], SMALL)
    with pytest.raises(ValueError, match="the same circles"):
        rating_of([results[0], play_matches(lowest, "greedy", 20, seed=4)], SMALL)


# --- the command ------------------------------------------------------------------------------------------


def test_the_command_measures_a_function_of_another_module(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    command = [sys.executable, "-m", "training.gauntlet", "mine:lowest", "--games", "2", "--workers", "1"]
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "result.json")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mine:lowest in gauntlet v1 (a trial: 2 of 1000 games per member): rating ")
    data = json.loads((tmp_path / "result.json").read_text())
    assert (data["agent"], data["complete"]) == ("mine:lowest", False)
    assert [match["opponent"] for match in data["matches"]] == [m.agent for m in read_pool().members]
    assert {match["seed"] for match in data["matches"]} == {20261121}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gredy"], "there is no agent 'gredy'"),
        (["no_such_module:act"], "No module named 'no_such_module'"),
        (["random", "--games", "3"], "games is 3; it must be even"),
        (["random", "--workers", "0"], "workers is 0"),
        (["random", "--json", "none/here.json"], "there is no folder none"),
        (["mine:illegal", "--games", "2", "--workers", "1"], "agent 'mine:illegal' chose action 5000"),
    ],
)
def test_mistakes_end_with_one_line(arguments, message, small, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    assert module.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("training.gauntlet: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_another_agent_in_the_same_folder_is_an_error(small, tmp_path) -> None:
    gauntlet("random", games=2, folder=tmp_path / "games")
    with pytest.raises(ValueError, match="agents there: random random greedy, here: greedy random greedy"):
        gauntlet("greedy", games=2, folder=tmp_path / "games")
