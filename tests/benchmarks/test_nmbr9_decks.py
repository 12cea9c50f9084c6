"""NMBR 9 alone: the published decks, honest games, figures, and games that are kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.nmbr9_decks import FILE, decks_text, play_decks, read_decks, shuffled_decks
from patchwork_env import agents
from patchwork_env.agents import Agent, GreedyAgent
from patchwork_env.learning.evaluation.store import open_store
from patchwork_env.nmbr9 import Game

ROOT = Path(__file__).parents[2]
DECKS = dict(enumerate(shuffled_decks(6, seed=9)))


class Spy(Agent):
    """Plays greedily and remembers what it was shown."""

    name = "spy"

    def __init__(self):
        self.shown: list[Game] = []

    def act(self, game):
        self.shown.append(game)
        return GreedyAgent().act(game)


def test_the_file_holds_what_the_generator_makes():
    assert read_decks(FILE) == shuffled_decks(1000, seed=9)
    assert FILE.read_text() == decks_text(read_decks(FILE))
    assert all(sorted(deck) == sorted([*range(10), *range(10)]) for deck in read_decks(FILE))
    assert len(set(read_decks(FILE))) == 1000


def test_decks_are_those_of_games_with_the_seed():
    assert Game(seed=9).deck == DECKS[0]
    assert shuffled_decks(3, seed=9) == [DECKS[k] for k in range(3)]


def test_an_agent_is_not_shown_the_order_of_the_cards_to_come():
    spy = Spy()
    result = play_decks(spy, {0: DECKS[0]})
    shown = spy.shown[-20:]
    for k, game in enumerate(shown):
        assert game.deck[: k + 1] == DECKS[0][: k + 1]
        assert sorted(game.deck[k + 1 :]) == sorted(DECKS[0][k + 1 :])
    assert shown[0].deck[1:] != DECKS[0][1:]
    assert len({game.deck for game in shown[:10]}) == 10
    assert Game.from_notation(result.games[0].notation).deck == DECKS[0]


def test_a_known_deck_is_shown():
    spy = Spy()
    play_decks(spy, {0: DECKS[0]}, "known")
    assert {(game.deck, game.order) for game in spy.shown} == {(DECKS[0], "known")}


def test_figures_are_those_of_the_games():
    result = play_decks(agents.load("greedy"), DECKS)
    replayed = [Game.from_notation(game.notation) for game in result.games]
    assert all(game.is_over for game in replayed)
    assert [game.deck for game in replayed] == list(DECKS.values())
    scores = [game.scores()[0] for game in replayed]
    assert result.scores.tolist() == scores
    tiles = Counter(move.level for game in replayed for move in game.placements(0))
    assert result.tiles_per_level() == pytest.approx([tiles[level] / 6 for level in range(len(tiles))])
    data = result.as_dict()
    assert data["mean"] == pytest.approx(np.mean(scores))
    assert data["standard_error"] == pytest.approx(np.std(scores, ddof=1) / 6**0.5)
    assert (data["lowest"], data["highest"], data["decks"]) == (min(scores), max(scores), 6)
    assert data["scores"] == {str(k): score for k, score in enumerate(scores)}
    assert 0 < data["seconds_per_move"] <= data["longest_move"]
    assert f"mean score {np.mean(scores):.2f} ± " in result.table()
    bins = Counter(score // 10 for score in scores)
    rows = [line.split() for line in result.table().splitlines()[5:]]
    assert [int(row[1]) for row in rows] == [bins[k] for k in range(min(bins), max(bins) + 1)]
    assert play_decks(agents.load("greedy"), {3: DECKS[3]}).as_dict()["standard_error"] is None


@pytest.mark.slow
def test_processes_and_other_decks_change_nothing():
    agent = agents.load("random")
    alone = play_decks(agent, DECKS, seed=4)
    shared = play_decks(agent, {k: DECKS[k] for k in (5, 2, 3)}, seed=4, workers=2)
    assert shared.scores.tolist() == alone.scores[[2, 3, 5]].tolist()
    assert [game.notation for game in shared.games] == [alone.games[k].notation for k in (2, 3, 5)]
    assert play_decks(agent, DECKS, seed=5).games[0].notation != alone.games[0].notation


def test_the_documents_show_what_the_benchmark_prints_and_writes():
    pages = ("measure/nmbr9.md", "reference/formats.md")
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    result = play_decks(agents.load("greedy"), dict(enumerate(read_decks(FILE))))
    assert "\n".join(result.table().splitlines()[:4]) in text
    assert set(result.as_dict()) <= set(re.findall(r"`(\w+)`", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no deck"),
        ("0123\n01a3\n", "line 2: '01a3' is no deck; it must be a line of digits"),
        ("0123\n\n", "line 2: ''"),
        ("x" * 5000, "line 1: 'x{1,200}… is no deck"),
        ("0" * 41, "line 1: the deck has 41 cards; allowed are 1 to 40"),
    ],
)
def test_files_that_hold_something_else_are_errors(tmp_path, text, message):
    path = tmp_path / "decks.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_decks(path)


def test_games_that_are_kept_go_on_where_they_were_stopped(tmp_path):
    greedy, alone = agents.load("greedy"), play_decks(agents.load("greedy"), DECKS)
    played: list[int] = []
    with open_store(tmp_path, "decks", 2, {}) as store:
        for wanted in (range(3), range(6)):
            decks = {k: DECKS[k] for k in wanted}
            result = play_decks(greedy, decks, done=lambda game: played.append(game.deck), store=store)
        assert played == list(range(6))
        assert [game[:3] for game in result.games] == [game[:3] for game in alone.games]
        for changed in (
            {"score": "7"},
            {"score": 10**6},
            {"tiles": [[1]]},
            {"deck": 2},
            {"seconds": float("nan")},
            {"longest": None},
            {"notation": "nmbr9"},
            {"notation": alone.games[2].notation},
        ):
            (tmp_path / "blocks" / "000001.json").write_text(json.dumps(alone.games[1]._asdict() | changed))
            with pytest.raises(ValueError, match=r"000001\.json is damaged"):
                play_decks(greedy, DECKS, store=store)


@pytest.mark.slow
def test_the_benchmark_needs_only_the_library_and_goes_on_after_a_stop(tmp_path):
    code = (
        "import runpy, sys\n"
        "sys.modules |= dict.fromkeys(['torch', 'tqdm', 'scipy', 'matplotlib', 'yaml', 'pydantic'])\n"
        f"sys.path.insert(0, {str(FILE.parent)!r})\n"
        f"runpy.run_path({str(FILE.with_suffix('.py'))!r}, run_name='__main__')\n"
    )
    kept, figures = tmp_path / "games", tmp_path / "figures.json"
    outputs = []
    for number in ("2", "3"):
        arguments = ["greedy", "--first", "4", "--decks", number, "--keep", str(kept), "--json", str(figures)]
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "greedy: 3 decks, order unknown" in outputs[1]
    assert len(list((kept / "blocks").iterdir())) == 3
    decks = {k: read_decks(FILE)[k] for k in (4, 5, 6)}
    expected = play_decks(agents.load("greedy"), decks).scores.tolist()
    assert list(json.loads(figures.read_text())["scores"].values()) == expected
