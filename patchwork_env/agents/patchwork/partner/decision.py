"""Which of the judged moves is played: some are overlooked, and all are judged a little wrong."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.slips import draw_error, draw_errors, happens
from patchwork_env.agents.patchwork.heuristics import NUM_KINDS, kind_of
from patchwork_env.agents.patchwork.partner.levels import Habits
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.actions import FIRST_BUY
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS

_UNFLIPPED = NUM_ORIENTATIONS // 2


class Thoughts(NamedTuple):
    """What somebody thinks of the moves of a position.

    Attributes:
        actions: int16 ``(MAX_LEGAL_ACTIONS,)``, the moves that are looked at, ascending.
        worths: float64 ``(MAX_LEGAL_ACTIONS,)``, what they are worth, in points.
        errors: float64 ``(NUM_KINDS,)``, how wrong each kind of moves is judged, advancing last.
        tried: uint8 ``(NUM_OFFERED, NUM_ORIENTATIONS)``, the orientations that are tried.
    """

    actions: npt.NDArray[np.int16]
    worths: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    tried: npt.NDArray[np.uint8]


def new_thoughts() -> Thoughts:
    """Room for the thoughts of one thread."""
    return Thoughts(
        np.empty(MAX_LEGAL_ACTIONS, np.int16),
        np.empty(MAX_LEGAL_ACTIONS),
        np.empty(NUM_KINDS),
        np.empty((NUM_OFFERED, NUM_ORIENTATIONS), np.uint8),
    )


@kernel
def decide(thoughts: Thoughts, count: int, habits: Habits, streams: Streams) -> int:
    """The move that seems best among the first ``count``; advancing and special patches are never overlooked.

    The random numbers come from ``streams[0]``.
    """
    draw_errors(habits.misjudging, habits.lapses, habits.lapse, thoughts.errors, streams)
    for slot in range(NUM_OFFERED):
        for orientation in range(NUM_ORIENTATIONS):
            chance = habits.turning if orientation < _UNFLIPPED else habits.flipping
            thoughts.tried[slot, orientation] = happens(chance, streams)
    best, most = 0, -math.inf
    for k in range(count):
        action = signed(thoughts.actions[k])
        kind = kind_of(action)
        seeming = thoughts.worths[k] + thoughts.errors[kind - 1] + habits.carelessness * draw_error(streams)
        if 1 <= kind <= NUM_OFFERED and not thoughts.tried[kind - 1, _orientation_of(action)]:
            continue
        if seeming > most:
            best, most = action, seeming
    return best


@kernel(inline=True)
def _orientation_of(action: int) -> int:
    return (action - FIRST_BUY) // NUM_CELLS % NUM_ORIENTATIONS
