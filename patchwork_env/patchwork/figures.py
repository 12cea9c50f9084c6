"""Figures of games: scores, quilts, length, and how buttons are gained and spent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.parts import MatchPart
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_CELLS, NUM_PLAYERS, VARIANTS
from patchwork_env.patchwork.engine import apply, empty_cells, is_over, score
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork.tables import PRICES

SPENT, FROM_INCOME, FROM_ADVANCING = range(3)
"""The counts of buttons: paid for patches, received at income marks, and received for advancing."""
_TURNS = 3
_NUM_COUNTED = 4
_PATCHES, _SPECIALS = 3, 4  # further counts of matches: what a player placed
_COUNTED = ("buttons_spent", "buttons_from_income", "buttons_from_advancing", "patches", "special_patches")
"""The names of the counts of matches."""


class GameStats:
    """Statistics of the games of a batch from their beginnings; ``counts`` has those of games in progress."""

    def __init__(self, num_games: int) -> None:
        self.counts = np.zeros((num_games, _NUM_COUNTED), np.int64)

    def count(self, states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
        """Return the :meth:`Ended.figures` of the games that end with the next turns."""
        return self.ended(states, actions).figures()

    def ended(self, states: States, actions: npt.NDArray[np.int64]) -> Ended:
        """Count the next turns; return the games that end with them.

        ``states`` are the records before each turn, ``(T, num_games)``; after the end of a game they are
        those of the next one. ``actions`` are the actions of these turns.
        """
        finals, counted = empty_states(states.size), np.empty((states.size, _NUM_COUNTED), np.int64)
        ended = int(_replay(states, actions, self.counts, finals, counted))
        return Ended(finals[:ended].copy(), counted[:ended].copy())


class Ended(NamedTuple):
    """Games that are over."""

    finals: States  # (k,), the last records
    counts: npt.NDArray[np.int64]  # (k, 4), the counts of each game, by `SPENT` … `_TURNS`

    def figures(self) -> dict[str, float]:
        """Return :func:`statistics_of_games`, the turns of both players, and the counts of one's buttons."""
        if not len(self.finals):
            return {}
        means = self.counts.mean(0)
        return statistics_of_games(self.finals) | {
            "turns_per_game": float(means[_TURNS]),
            "buttons_spent": float(means[SPENT] / NUM_PLAYERS),
            "buttons_from_income": float(means[FROM_INCOME] / NUM_PLAYERS),
            "buttons_from_advancing": float(means[FROM_ADVANCING] / NUM_PLAYERS),
        }


def player_figures(finals: States) -> dict[str, npt.NDArray[Any]]:
    """Return the figures of both players at the end of ``n`` games by name, arrays ``(n, 2)``.

    ``bonus_tile`` is bool, whether the player owns it; ``score``, ``empty_cells``, ``income`` and ``buttons``
    are int64.
    """
    scores, empty = np.empty((2, len(finals), NUM_PLAYERS), np.int64)
    _count_up(finals, scores, empty)
    return {
        "score": scores,
        "empty_cells": empty,
        "bonus_tile": finals["bonus_owner"][:, None] == np.arange(NUM_PLAYERS),
        "income": finals["income"].astype(np.int64),
        "buttons": finals["buttons"].astype(np.int64),
    }


def statistics_of_games(finals: States) -> dict[str, float]:
    """Return mean figures of games that are over; empty if there are none.

    - ``score``, ``winner_score``, ``loser_score``: the scores of all players, of the better and of the other
      one.
    - ``empty_cells``, ``income``, ``buttons``: see :func:`player_figures`.
    - ``bonus_tiles``: the share of the games in which a player owns the bonus tile.
    """
    if not len(finals):
        return {}
    figures = player_figures(finals)
    scores = figures["score"]
    return {
        "score": float(scores.mean()),
        "winner_score": float(scores.max(1).mean()),
        "loser_score": float(scores.min(1).mean()),
        **{name: float(figures[name].mean()) for name in ("empty_cells", "income", "buttons")},
        "bonus_tiles": float(figures["bonus_tile"].any(1).mean()),
    }


@kernel
def apply_counting(states: States, i: int, action: int, economy: npt.NDArray[np.int64]) -> None:
    """Play a legal action and add the buttons that it moves to ``economy``."""
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


@kernel(allocates=True)
def _replay(
    states: States,
    actions: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    finals: States,
    counted: npt.NDArray[np.int64],
) -> int:
    """Play and count every turn on a copy; list the games that ended, and return their number."""
    ended = 0
    for t in range(len(states)):
        for i in range(len(counts)):
            finals[ended] = states[t, i]
            apply_counting(finals, ended, actions[t, i], counts[i])
            counts[i, _TURNS] += 1
            if is_over(finals, ended):
                counted[ended] = counts[i]
                counts[i] = 0
                ended += 1
    return ended


@kernel
def _count_up(finals: States, scores: npt.NDArray[np.int64], empty: npt.NDArray[np.int64]) -> None:
    for i in range(len(finals)):
        for player in range(NUM_PLAYERS):
            scores[i, player] = score(finals, i, player)
            empty[i, player] = empty_cells(finals, i, player)


@kernel
def _play_counting(
    states: States,
    games: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Play actions in the listed games and count them for the player who acts."""
    for k in range(len(games)):
        action, sums = actions[k], counts[games[k]]
        apply_counting(states, games[k], action, sums)
        sums[_PATCHES] += ADVANCE < action < FIRST_SPECIAL
        sums[_SPECIALS] += action >= FIRST_SPECIAL


MATCHES = MatchPart(
    set_up="circle",
    variant="special_patches",
    variants=VARIANTS,
    figures=("score", "empty_cells", "bonus_tile", "income", "buttons", *_COUNTED, "turns"),
    shares=("bonus_tile",),
    in_rankings=("score", "empty_cells"),
    figures_of=player_figures,
    counted=_COUNTED,
    count=_play_counting,
)
