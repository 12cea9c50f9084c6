"""The champion's judgement of a move at a glance: how much worse it is than the best one."""

from __future__ import annotations

from patchwork_env.agents.analysis import Analyst, Scorer
from patchwork_env.core.game import BaseGame
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
from patchwork_env.play.players import CHAMPIONS, Players


def require_judge(game: BaseGame) -> None:
    """Raises ValueError if the champion does not judge such games: those of NMBR 9 in free order."""
    if getattr(game, "order", None) == "free":
        raise ValueError("shaping is 'champion', who does not judge the choice of tiles: order is 'free'")


def judged(game: BaseGame, action: int, players: Players) -> float:
    """What a move costs whoever makes it, as the champion's learned value judges the positions after moves.

    In Patchwork it is the probability to win after the move minus that after the best one, -1 to 0. In NMBR 9
    it is the final score to expect after the move minus that after the one which the champion would make at a
    glance, and 0 for moves that it did not consider and likes better.

    With a perfect judge that would be the advantage of the move: whoever has learned never to lose any of it
    plays perfectly.

    Args:
        game: The game before the move; it is only read.
        action: The legal action.
        players: Whom the champion is borrowed from.
    """
    if rules_of(game.state).name == NMBR9:
        best = int(players.choice(game, f"{CHAMPIONS[NMBR9]}:instant")["action"])
        with players.lent(f"{CHAMPIONS[NMBR9]}:fast") as scorer:
            assert isinstance(scorer, Scorer)
            return min(_expected(game, action, scorer) - _expected(game, best, scorer), 0.0)
    with players.lent(f"{CHAMPIONS[PATCHWORK]}:instant") as analyst:
        assert isinstance(analyst, Analyst)
        wins = {line.action: line.win for line in analyst.appraise(game)}
    return float(wins[action] - max(wins.values()))


def _expected(game: BaseGame, action: int, scorer: Scorer) -> float:
    """The final score that the player to move may expect after an action."""
    after = game.clone()
    after.play(action)
    return float(scorer.expected_scores(after)[game.current_player])
