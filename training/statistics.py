"""What games say about play: scores, quilts, length, and where the buttons come from and where they go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_CELLS, NUM_PLAYERS
from patchwork_env.patchwork.engine import apply, empty_cells, is_over, score
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import PRICES
from patchwork_env.polyomino import NUM_ORIENTATIONS

SPENT, FROM_INCOME, FROM_ADVANCING = range(3)
"""Columns of an economy: buttons paid for patches, received at income marks, and received for advancing."""

Economy = npt.NDArray[np.int64]
"""Sums of buttons, shape ``(3,)``."""


def statistics_of_turns(states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
    """Statistics of the games that ended within some turns of self-play; empty if none did.

    To those of :func:`statistics_of_games` it adds what the turns themselves say, divided by the number of
    games that ended, be the turns of these games or of others: in the long run that is the mean of a game.

    - ``turns_per_game``: of both players, special patches included.
    - ``buttons_from_income``, ``buttons_from_advancing``: what a player earns in a game.

    Args:
        states: Records before each turn, of any shape.
        actions: int64 of the same shape.
    """
    economy, finals = np.zeros(3, np.int64), empty_states(states.size)
    ended = int(_replay(states.ravel(), actions.ravel(), economy, finals))
    if not ended:
        return {}
    players = NUM_PLAYERS * ended
    return statistics_of_games(finals[:ended]) | {
        "turns_per_game": states.size / ended,
        "buttons_from_income": float(economy[FROM_INCOME] / players),
        "buttons_from_advancing": float(economy[FROM_ADVANCING] / players),
    }


def statistics_of_games(finals: States) -> dict[str, float]:
    """Mean figures of games that are over; empty if there are none.

    - ``score``: of a player; ``winner_score`` and ``loser_score`` of the better and of the other one.
    - ``empty_cells``, ``income``, ``buttons``: of a player at the end.
    - ``buttons_spent``: by a player in the whole game.
    - ``bonus_tiles``: share of the games in which somebody owns the bonus tile.

    Args:
        finals: ``(k,)`` records of how the games ended.
    """
    if not len(finals):
        return {}
    scores, empty = (np.empty((len(finals), NUM_PLAYERS), np.int64) for _ in range(2))
    _count_up(finals, scores, empty)
    return {
        "score": float(scores.mean()),
        "winner_score": float(scores.max(1).mean()),
        "loser_score": float(scores.min(1).mean()),
        "empty_cells": float(empty.mean()),
        "income": float(finals["income"].mean()),
        "buttons": float(finals["buttons"].mean()),
        "buttons_spent": float(_spent(finals).mean() / NUM_PLAYERS),
        "bonus_tiles": float((finals["bonus_owner"] != NOBODY).mean()),
    }


@kernel
def apply_counting(states: States, i: int, action: int, economy: Economy) -> None:
    """Plays a legal action and adds the buttons that it moves to ``economy``."""
    player = states[i]["current_player"]
    buttons, position = int(states[i]["buttons"][player]), int(states[i]["position"][player])
    price, advanced = 0, 0
    if FIRST_BUY <= action < FIRST_SPECIAL:
        slot = (action - FIRST_BUY) // (NUM_ORIENTATIONS * NUM_CELLS)
        price = int(PRICES[states[i]["circle"][slot]])
    apply(states, i, action)
    if action == ADVANCE:
        advanced = int(states[i]["position"][player]) - position
    economy[SPENT] += price
    economy[FROM_ADVANCING] += advanced
    economy[FROM_INCOME] += int(states[i]["buttons"][player]) + price - advanced - buttons


@kernel
def _replay(states: States, actions: npt.NDArray[np.int64], economy: Economy, finals: States) -> int:
    """Plays every turn on a copy, sums up the economy, lists how games ended and returns their number."""
    ended = 0
    for k in range(len(states)):
        finals[ended] = states[k]
        apply_counting(finals, ended, actions[k], economy)
        if is_over(finals, ended):
            ended += 1
    return ended


@kernel
def _count_up(finals: States, scores: npt.NDArray[np.int64], empty: npt.NDArray[np.int64]) -> None:
    for i in range(len(finals)):
        for player in range(NUM_PLAYERS):
            scores[i, player] = score(finals, i, player)
            empty[i, player] = empty_cells(finals, i, player)


def _spent(finals: States) -> npt.NDArray[np.int64]:
    """What both players together paid in each game: the prices of the patches that left the circle."""
    circles = finals["circle"]
    is_left = np.arange(circles.shape[1]) < finals["num_patches"][:, None]
    return PRICES.sum() - np.where(is_left, PRICES[circles], 0).sum(1)
