"""A third game has matches, tournaments and tables by its rules and its record of parts."""

import numpy as np
import pytest

from patchwork_env import games
from patchwork_env.learning.commands import evaluate
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.results import SampleGame, sample_games
from patchwork_env.learning.evaluation.tournament import Tournament


@pytest.fixture(autouse=True)
def row(monkeypatch):
    """Row with its parts; other tests have it without."""
    parts = games._parts().copy()
    monkeypatch.setattr(games, "_parts", lambda: parts)
    games.register("row", "tests.toy", "tests.toy_parts")


def widest(game):
    """Covers two cells where it can."""
    assert game.root().notation() == game.notation().partition("\n")[0] + "\n\n"
    return int(game.legal_actions()[-1])


def test_matches_are_paired_and_their_figures_those_of_the_games():
    result = play_matches(widest, "random", 40, seed=3, game="row", keep=40)
    played = result.games
    for i, (game, sample) in enumerate(zip(result.kept, sample_games(result), strict=True)):
        assert game.is_over
        seat = int(played.seats[i])
        assert played.scores[i].tolist() == [game.scores()[seat], game.scores()[1 - seat]]
        assert played.agent_wins[i] == {(seat,): 1, (1 - seat,): 0}.get(game.winners(), 0.5)
        winner = {1.0: seat, 0.0: 1 - seat}.get(float(played.agent_wins[i]))
        names = ("widest", "random") if seat == 0 else ("random", "widest")
        assert sample == SampleGame("random", names, winner, game.notation())
        assert played.turns[i].sum() == len(game.history)
        assert played.agent_starts[i] == (game.root().current_player == seat)
        assert np.array_equal(game.root().state, result.kept[i // 2 * 2].root().state)
    assert played.agent_starts.sum() == 20
    assert result.win_rate > 0.6
    assert "20 set-ups from both seats, seed 3" in result.table()


def test_commands_and_tournaments_take_the_game(tmp_path, monkeypatch, capsys):
    (tmp_path / "rows.py").write_text("def first(game):\n    return game.legal_actions()[0]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert evaluate.main(["random", "--against", "rows:first", "--game", "row", "--games", "20"]) == 0
    assert "10 set-ups from both seats" in capsys.readouterr().out
    tournament = Tournament.enter(["random", "rows:first"], 20, game="row")
    standings = tournament.play(tmp_path / "t")
    assert tournament.play(tmp_path / "t").as_dict() == standings.as_dict()
    heading, first = standings.csv().splitlines()[:2]
    assert heading.startswith("agent,opponent,set-up,seat,agent_starts,agent_wins,score_of_agent,")
    assert first.startswith("random,rows:first,0,0,")
    with pytest.raises(ValueError, match="matches of row have no option 'order'; it has none"):
        play_matches("random", "random", 2, game="row", order="known")
