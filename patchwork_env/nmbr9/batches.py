"""What agents ask of batches of games, in one compiled call each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_MAPS, is_legal, is_over, legal, meets_edge, nth_legal
from patchwork_env.nmbr9.state import States


@kernel
def first_finished(states: States) -> int:
    """Index of the first game that is over, or -1."""
    for i in range(len(states)):
        if is_over(states, i):
            return i
    return -1


@kernel
def write_over(states: States, games: npt.NDArray[np.int64], over: npt.NDArray[np.bool_]) -> None:
    """Writes for each of the listed games, ``(k,)``, whether it is over."""
    for k in range(len(games)):
        over[k] = is_over(states, games[k])


@kernel
def first_refused(states: States, actions: npt.NDArray[np.int64]) -> int:
    """Index of the first game whose action, any integer, is not legal or meets the edge, or -1."""
    for i in range(len(states)):
        if not is_legal(states, i, actions[i]) or meets_edge(states, i, actions[i]):
            return i
    return -1


@kernel(allocates=True)
def sample_actions(states: States, stream: Streams, actions: npt.NDArray[np.int64]) -> None:
    """Writes a uniformly random legal action of every game.

    Args:
        states: ``(n,)`` games, none of them over.
        stream: ``(1,)``, the random numbers, drawn for one game after the other.
        actions: ``(n,)``, receives the actions.
    """
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    for i in range(len(states)):
        actions[i] = nth_legal(maps, random_below(stream, 0, legal(states, i, maps)))
