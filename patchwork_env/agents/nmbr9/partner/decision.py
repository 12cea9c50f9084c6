"""Which of the judged placements is played: some are overlooked, and all are judged a little wrong."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.slips import draw_error, draw_errors, happens
from patchwork_env.agents.nmbr9.partner.levels import Habits
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.nmbr9.actions import NUM_ANCHORS, NUM_TURNS
from patchwork_env.nmbr9.engine import MAX_LEVELS

MOST_PLACEMENTS = 4096
"""The most placements that are judged; a table of 40 tiles in a line has fewer."""


class Thoughts(NamedTuple):
    """What somebody thinks of the placements of a tile.

    Attributes:
        actions: int64 ``(MOST_PLACEMENTS,)``, the placements that are looked at, ascending.
        levels: int64 ``(MOST_PLACEMENTS,)``, the levels on which they lie.
        worths: float64 ``(MOST_PLACEMENTS,)``, what they are worth, in points.
        errors: float64 ``(MAX_LEVELS + 1,)``, how wrong each level is judged.
        tried: uint8 ``(NUM_TURNS,)``, the orientations that are tried.
    """

    actions: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    worths: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    tried: npt.NDArray[np.uint8]


def new_thoughts() -> Thoughts:
    """Room for the thoughts of one thread."""
    return Thoughts(
        np.empty(MOST_PLACEMENTS, np.int64),
        np.empty(MOST_PLACEMENTS, np.int64),
        np.empty(MOST_PLACEMENTS),
        np.empty(MAX_LEVELS + 1),
        np.empty(NUM_TURNS, np.uint8),
    )


@kernel
def decide(thoughts: Thoughts, count: int, habits: Habits, streams: Streams) -> int:
    """The placement that seems best among the first ``count``; without one that is tried, the first of all.

    The random numbers come from ``streams[0]``.
    """
    draw_errors(habits.misjudging, habits.lapses, habits.lapse, thoughts.errors, streams)
    for orientation in range(NUM_TURNS):
        thoughts.tried[orientation] = happens(habits.turning, streams)
    best, most = thoughts.actions[0], -math.inf
    for k in range(count):
        error = thoughts.errors[thoughts.levels[k]] + habits.carelessness * draw_error(streams)
        if thoughts.tried[thoughts.actions[k] // NUM_ANCHORS] and thoughts.worths[k] + error > most:
            best, most = thoughts.actions[k], thoughts.worths[k] + error
    return int(best)
