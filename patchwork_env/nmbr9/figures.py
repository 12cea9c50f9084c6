"""Figures of games that one player plays: the score, and the levels of the tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.parts import MatchPart
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.nmbr9.engine import apply, is_over, score
from patchwork_env.nmbr9.state import States, empty_states

_TILES_ON_LEVELS = ("tiles_on_level_1", "tiles_on_level_2", "tiles_on_level_3")


class GameStats:
    """Statistics of the games of a batch; all of them follow from the last records."""

    def __init__(self, num_games: int) -> None:
        self.counts = np.zeros((num_games, 0), np.int64)

    def count(self, states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
        """Return the statistics of the games that end with the next turns, ``(T, num_games)``."""
        finals = empty_states(states.size)
        ended = _list_finals(states.reshape(-1), actions.reshape(-1), finals)
        return statistics_of_games(finals[:ended])


def player_figures(finals: States, players: int = 2) -> dict[str, npt.NDArray[np.int64]]:
    """Return the figures of the first players at the end of ``n`` games by name, int64 ``(n, players)``.

    They are the ``score``, the number of ``levels`` with tiles, including the table, and the numbers of tiles
    by level.
    """
    scores = np.empty((len(finals), players), np.int64)
    _count_up(finals, scores)
    levels = finals["level"][:, :players].astype(np.int64)
    is_placed = np.arange(levels.shape[2]) < finals["num_rounds"][:, None, None]
    levels = np.where(is_placed, levels, -1)
    tiles = {name: (levels == level).sum(2) for level, name in enumerate(_TILES_ON_LEVELS, 1)}
    return {
        "score": scores,
        "levels": 1 + levels.max(2),
        "tiles_on_the_table": (levels == 0).sum(2),
        **tiles,
        "tiles_higher_up": (levels > 3).sum(2),
    }


def statistics_of_games(finals: States) -> dict[str, float]:
    """Return mean figures of the first players of games that are over; empty if there are none.

    - ``score``, ``score_deviation``: the scores, and their standard deviation.
    - ``levels``, ``tiles_on_table``: see :func:`player_figures`.
    """
    if not len(finals):
        return {}
    figures = player_figures(finals, 1)
    return {
        "score": float(figures["score"].mean()),
        "score_deviation": float(figures["score"].std()),
        "levels": float(figures["levels"].mean()),
        "tiles_on_table": float(figures["tiles_on_the_table"].mean()),
    }


@kernel
def _count_up(finals: States, scores: npt.NDArray[np.int64]) -> None:
    for i in range(len(finals)):
        for player in range(scores.shape[1]):
            scores[i, player] = score(finals, i, player)


@kernel(allocates=True)
def _list_finals(states: States, actions: npt.NDArray[np.int64], finals: States) -> int:
    """List the games that the actions end; return their number."""
    ended = 0
    for i in range(len(states)):
        if states[i]["round"] + 1 == states[i]["num_rounds"]:
            finals[ended] = states[i]
            apply(finals, ended, actions[i])
            ended += is_over(finals, ended)
    return ended


MATCHES = MatchPart(
    set_up="deck",
    variant="order",
    variants=ORDERS,
    is_noninteractive=True,
    figures=("score", "levels", "tiles_on_the_table", *_TILES_ON_LEVELS, "tiles_higher_up"),
    in_rankings=("score", "levels"),
    figures_of=player_figures,
)
