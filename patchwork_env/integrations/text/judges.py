"""The champions as judges of single moves, by their learned values of the positions after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from patchwork_env.agents.analysis import Analyst, Scorer
from patchwork_env.core.game import BaseGame
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.nmbr9.game import Game as Nmbr9
from patchwork_env.service.agents import AgentPool, champion_of


class Judge(NamedTuple):
    """The functions that judge the moves of one game.

    With a perfect judge, the cost of a move is its advantage: a player whose moves cost nothing plays
    perfectly.
    """

    cost: Callable[[Any, int, AgentPool], float]  # of an action for the player to move, at most 0
    check: Callable[[Any], None] = lambda game: None  # raises ValueError if it does not judge such games


def _cost_in_patchwork(game: BaseGame, action: int, players: AgentPool) -> float:
    """Return the probability to win after the move minus that after the best one, -1 to 0."""
    with players.borrow(champion_of(PATCHWORK, "instant")) as analyst:
        assert isinstance(analyst, Analyst)
        wins = {line.action: line.win for line in analyst.evaluate_moves(game)}
    return float(wins[action] - max(wins.values()))


def _cost_in_nmbr9(game: BaseGame, action: int, players: AgentPool) -> float:
    """Return the expected final score after the move minus that after the champion's move at a glance.

    It is 0 for moves that the champion did not consider and likes better.
    """
    best = int(players.choice(game, champion_of(NMBR9, "instant"))["action"])
    with players.borrow(champion_of(NMBR9, "fast")) as scorer:
        assert isinstance(scorer, Scorer)
        return min(_expected(game, action, scorer) - _expected(game, best, scorer), 0.0)


def _expected(game: BaseGame, action: int, scorer: Scorer) -> float:
    after = game.clone()
    after.play(action)
    return float(scorer.expected_scores(after)[game.current_player])


def _check_order(game: Nmbr9) -> None:
    if game.order == "free":
        raise ValueError(
            "shaping is True; with the order 'free' the champion does not judge the choice of tiles"
        )


PATCHWORK_JUDGE = Judge(_cost_in_patchwork)
NMBR9_JUDGE = Judge(_cost_in_nmbr9, _check_order)
