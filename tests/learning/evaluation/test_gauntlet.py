"""The gauntlet: the frozen pool, results, the command, resuming, wrong input."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from patchwork_env import __version__
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_weights_file
from patchwork_env.learning.commands import gauntlet as command
from patchwork_env.learning.evaluation import gauntlet as module
from patchwork_env.learning.evaluation import ratings
from patchwork_env.learning.evaluation.gauntlet import GauntletPool, Member, play_gauntlet, read_pool
from patchwork_env.learning.evaluation.matches import play_matches

ROOT = Path(__file__).parents[3]
FROZEN = {
    "ppo-v1": "80b37aa1c233af43df2a1883988c455af43b7f7eb601b55e77823a5c9fca6f4d",
    "ppo-quick-v1": "29d72b4a2a50a82e0ce857857a41349f256efc0aeaa7bea1ec105d84eedd7a13",
}
"""SHA-256 of the weights of members. A pool that changes needs a new version: never edit these."""
SCORES = "37051a0c4452189b252c6911b23325faf092fee4478f076f55dfda1a97b64af7"
"""SHA-256 of the scores of greedy's first games against random."""
SEARCHES = {"mcts:simulations=400": (400, 20), "mcts:simulations=5000": (100, 5), "mcts:seconds=1": (40, 1)}
"""Games, and circles that are played at once, of the members that search."""
SMALL = GauntletPool(2, 7, "revised", (Member("random", None, 150, 140), Member("greedy", None, 1000, 20, 4)))


def lowest(game):
    return game.legal_actions()[0]


@pytest.fixture
def small(monkeypatch):
    """A pool whose games take no time."""
    monkeypatch.setattr(module, "read_pool", lambda: SMALL)
    return SMALL


def test_the_pool_is_as_it_was_frozen():
    pool = read_pool()
    assert (pool.version, pool.seed, pool.special_patches) == (2, 20261121, "revised")
    assert {m.agent: m.weights for m in pool.members if m.weights} == FROZEN
    protocol = {m.agent: (m.games, m.circles_per_block) for m in pool.members}
    assert protocol == dict.fromkeys(("random", "greedy", *FROZEN), (1000, 64)) | SEARCHES
    assert [member.rating for member in pool.members] == [108, 779, 1000, 1094, 1773, 2022, 2172]
    contents = json.loads(module.POOL_FILE.read_text())
    assert contents["format"] == "patchwork-env gauntlet pool"
    for member in contents["members"]:
        low, high = member["interval"]
        assert (low or -1e9) <= member["rating"] <= (high or 1e9)


def test_changed_weights_of_a_member_are_an_error(monkeypatch):
    pool = GauntletPool(2, 7, "revised", (Member("ppo-v1", "0" * 64, 1200, 4),))
    monkeypatch.setattr(module, "read_pool", lambda: pool)
    message = "the weights of 'ppo-v1' are not those of gauntlet v2: SHA-256 80b37aa1c"
    with pytest.raises(ValueError, match=message):
        play_gauntlet("random")


def test_members_and_the_circles_are_as_they_were_frozen(small):
    """A change of greedy, of random, of the rules or of the circles needs a new version as well."""
    scores = play_matches("greedy", "random", 128, seed=20261121).games.scores
    assert hashlib.sha256(scores.astype("<i8").tobytes()).hexdigest() == SCORES
    for name, digest in FROZEN.items():
        assert hashlib.sha256(read_weights_file(SHIPPED_FOLDER / name)).hexdigest() == digest
    assert play_gauntlet("ppo-quick-v1", games=2).weights == FROZEN["ppo-quick-v1"]


def test_the_documents_have_the_pool_and_the_fields_of_the_file(small):
    protocol = (ROOT / "docs/measure/gauntlet.md").read_text(encoding="utf-8").partition("## The pool")[2]
    for member in read_pool().members:
        row = rf"^\| `{member.agent}` \| .* \| {member.games} \| {member.rating} \|$"
        assert re.search(row, protocol, re.MULTILINE), member
    assert "seed 20261121" in protocol
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")))
    data = play_gauntlet("random", games=2).as_dict()
    assert set(data) | set(data["matches"][0]) <= documented


def test_an_agent_plays_every_member_as_in_a_match(small):
    result = play_gauntlet(lowest)
    assert result.agent == "lowest"
    wins = np.zeros((70, 3, 3))
    for k, (opponent, games) in enumerate((("random", 140), ("greedy", 20)), 1):
        match = result.results[k - 1]
        assert match.as_dict() == play_matches(lowest, opponent, games, seed=7).as_dict()
        won = match.games.agent_wins.reshape(-1, 2).sum(1).astype(float)
        wins[: len(won), 0, k], wins[: len(won), k, 0] = won, 2 - won
    expected = ratings.rate(wins, np.array([np.nan, 150, 1000]))
    assert (result.rating, result.interval) == (expected.values[0], expected.intervals[0])


def test_plain_data_and_the_table_say_the_same(small):
    result = play_gauntlet("random")
    data = result.as_dict()
    expected = {"format": "patchwork-env gauntlet", "version": 2, "game": "patchwork", "agent": "random"}
    expected |= {"weights": None, "complete": True, "skipped": [], "rating": result.rating}
    assert {key: data[key] for key in expected} == expected
    met = [(match["opponent"], match["opponent_rating"], match["games"]) for match in data["matches"]]
    assert met == [("random", 150, 140), ("greedy", 1000, 20)]
    greedy = data["matches"][1]
    assert greedy["expected_win_rate"] == pytest.approx(1 / (1 + 10 ** ((1000 - result.rating) / 400)))
    played = [(match.seconds[0], match.games.turns[:, 0].sum()) for match in result.results]
    assert data["seconds_per_move"] == pytest.approx(np.divide(*np.sum(played, axis=0)))
    assert data["made_with"]["machine"]
    lines = result.table().splitlines()
    assert repr(result).startswith(f"<GauntletResult: random, rating {result.rating:.0f}, ")
    assert lines[0].startswith(f"random in gauntlet v2: rating {result.rating:.0f}, 95% interval ")
    assert f"{greedy['win_rate']:.1%}" in lines[4]
    assert lines[-1].endswith(f", {1000 * data['seconds_per_move']:.3g} ms per move")


def test_results_of_fewer_games_or_members_are_marked(small):
    for options, said, games in (
        ({"games": 30}, "(a trial: 50 of 160 games): rating ", [30, 20]),
        ({"skip": ["greedy"]}, "(by a part of the pool, without greedy): rating ", [140]),
        ({"games": 2, "skip": ["greedy"]}, "(a trial: 2 of 140 games; by a part of the pool, ", [2]),
    ):
        result = play_gauntlet("random", **options)
        assert result.table().startswith(f"random in gauntlet v2 {said}")
        data = result.as_dict()
        assert (data["complete"], data["skipped"]) == (False, options.get("skip", []))
        assert [match["games"] for match in data["matches"]] == games


def test_matches_of_others_give_a_rating_too(small):
    results = [play_matches(lowest, name, 20, seed=3) for name in ("random", "greedy")]
    value = module.standings_of(results, SMALL).ratings.values[0]
    assert value < 1000
    assert module.standings_of(results[:1], SMALL).ratings.values[0] != value
    with pytest.raises(ValueError, match="ppo is not in gauntlet v2; its members: random, greedy"):
        module.standings_of([play_matches(lowest, "ppo", 2)], SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gredy"], "there is no agent 'gredy'"),
        (["random", "--games", "3"], "games is 3; it must be even"),
        (["random", "--skip", "gredy"], "gredy is not in gauntlet v2; its members: random, greedy"),
        (["random", "--skip", "random", "greedy"], "no member is left of gauntlet v2 without random, greedy"),
        (["random", "--json", "none/here.json"], "there is no folder none"),
        (["random", "--workers", "0", "--folder", "kept"], "workers is 0; allowed are 1 to 1024"),
        (["mine:illegal", "--games", "2", "--workers", "1"], "agent 'mine:illegal' chose action 5000"),
    ],
)
def test_mistakes_end_with_one_line(arguments, message, small, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("def illegal(game):\n    return 5000\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert command.main(arguments) == 2
    printed, said = capsys.readouterr()
    assert (printed, said.count("\n"), said.partition(": ")[0]) == ("", 1, "patchwork-env gauntlet")
    assert message in said
    assert not (tmp_path / "kept").exists()


def test_a_folder_keeps_the_games_of_several_agents_with_one_pool(small, tmp_path, monkeypatch):
    alone = play_gauntlet("greedy", games=2)
    play_gauntlet("random", games=2, folder=tmp_path)
    assert play_gauntlet("greedy", games=2, folder=tmp_path).rating == alone.rating
    counted: list[int] = []
    play_gauntlet("random", games=4, folder=tmp_path, progress=counted.append)
    (tmp_path / "blocks" / ".half.partial").touch()  # of a killed process
    play_gauntlet("random", games=2, folder=tmp_path, progress=counted.append)
    assert counted == [0, 4, 4, 4]
    assert len(list(tmp_path.glob("blocks/*"))) == len(list(tmp_path.glob("blocks/*_against_*.json"))) == 6
    kept = {"format": "patchwork-env gauntlet", "version": 1, "pool": 2, "seed": 7, "package": __version__}
    assert (tmp_path / "gauntlet.json").read_text() == json.dumps(kept, indent=1) + "\n"
    monkeypatch.setattr(module, "read_pool", lambda: replace(SMALL, seed=8))
    with pytest.raises(ValueError, match=r"gauntlet games of other settings .*seed there: 7, here: 8"):
        play_gauntlet("random", games=2, folder=tmp_path)
