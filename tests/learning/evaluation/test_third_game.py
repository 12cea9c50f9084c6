"""A game that nothing here knows has matches, tournaments and tables by its rules alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from patchwork_env.games import register
from patchwork_env.learning.commands import evaluate, tournament
from patchwork_env.learning.evaluation import ratings
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT
from tests.toy import Game

register("row", "tests.toy")


def widest(game: Game) -> int:
    """Covers two cells where it can."""
    assert game.root().notation() == game.notation().partition("\n")[0] + "\n\n"
    return int(game.legal_actions()[-1])


def test_matches_are_paired_and_their_figures_those_of_the_games() -> None:
    result = play_matches(widest, "random", 40, seed=3, game="row", keep=40)
    games = result.games
    for i, game in enumerate(result.kept):
        assert game.is_over
        seat = int(games.seats[i])
        assert games.scores[i].tolist() == [game.scores()[seat], game.scores()[1 - seat]]
        assert games.agent_wins[i] == {(seat,): 1, (1 - seat,): 0}.get(game.winners(), 0.5)
        assert games.turns[i].sum() == len(game.history)
        assert games.agent_starts[i] == (game.root().current_player == seat)
    assert all(
        np.array_equal(first.root().state, second.root().state)
        for first, second in zip(result.kept[::2], result.kept[1::2], strict=True)
    )
    assert games.agent_starts.sum() == 20
    assert result.win_rate > 0.6
    assert result.means(AGENT)["score"] > result.means(OPPONENT)["score"]
    assert "20 set-ups from both seats, seed 3" in result.table()
    again = play_matches(widest, "random", 40, seed=3, game="row")
    assert again.games.as_dict() == games.as_dict()


def test_a_game_without_options_says_so() -> None:
    with pytest.raises(ValueError, match="row has no option 'order'; it has none"):
        play_matches("random", "random", 2, game="row", order="known")


def test_commands_take_the_game(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(ratings, "DRAWS", 50)
    (tmp_path / "rows.py").write_text("def first(game):\n    return game.legal_actions()[0]\n")
    monkeypatch.syspath_prepend(tmp_path)
    agents, about = ["random", "rows:first"], ["--game", "row", "--games", "20"]
    assert evaluate.main([agents[0], "--against", agents[1], *about]) == 0
    assert "10 set-ups from both seats" in capsys.readouterr().out
    folder = tmp_path / "t"
    command = ["--workers", "1", "--out", str(folder)]
    assert tournament.main([*agents, *about, *command]) == 0
    contents = json.loads((folder / "results.json").read_text())
    assert contents["game"] == "row"
    assert tournament.main(["--resume", *command]) == 0
    assert json.loads((folder / "results.json").read_text())["matches"] == contents["matches"]
