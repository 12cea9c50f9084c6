"""Figures of games that one player plays: the score, and the levels on which tiles lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.engine import apply, is_over, score
from patchwork_env.nmbr9.state import States, empty_states


class GameStats:
    """Finds the games of a batch that end; nothing is counted before."""

    def count(self, states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
        """The :func:`statistics_of_games` that end with ``(T, num_games)`` turns."""
        finals = empty_states(states.size)
        ended = _list_finals(states.reshape(-1), actions.reshape(-1), finals)
        return statistics_of_games(finals[:ended])

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing: there are no counts."""
        return {}

    def restore(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Does nothing."""


def statistics_of_games(finals: States) -> dict[str, float]:
    """Mean figures of the first players of games that are over; empty if there are none.

    - ``score``, ``score_deviation``: the scores, and their standard deviation.
    - ``levels``: how many levels have tiles, the table included.
    - ``tiles_on_table``: how many tiles lie on the table itself.
    """
    if not len(finals):
        return {}
    scores = np.empty(len(finals), np.int64)
    _count_up(finals, scores)
    levels = finals["level"][:, 0]
    is_placed = np.arange(levels.shape[1]) < finals["num_rounds"][:, None]
    return {
        "score": float(scores.mean()),
        "score_deviation": float(scores.std()),
        "levels": float(1 + levels.max(1).mean()),
        "tiles_on_table": float((is_placed & (levels == 0)).sum(1).mean()),
    }


@kernel
def _count_up(finals: States, scores: npt.NDArray[np.int64]) -> None:
    for i in range(len(finals)):
        scores[i] = score(finals, i, 0)


@kernel(allocates=True)
def _list_finals(states: States, actions: npt.NDArray[np.int64], finals: States) -> int:
    """Lists the games that the actions end; returns their number."""
    ended = 0
    for i in range(len(states)):
        if states[i]["round"] + 1 == states[i]["num_rounds"]:
            finals[ended] = states[i]
            apply(finals, ended, actions[i])
            ended += is_over(finals, ended)
    return ended
