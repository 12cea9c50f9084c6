"""The placements that are worth a closer look."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.value.features import signed
from patchwork_env.patchwork.actions import FIRST_BUY
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED
from patchwork_env.patchwork.greedy import footprint_of, joints_left
from patchwork_env.patchwork.state import States
from patchwork_env.polyomino import NUM_ORIENTATIONS

_ACTIONS_PER_SLOT = NUM_ORIENTATIONS * NUM_CELLS
_MOST_JOINTS = 144
NUM_KINDS = NUM_OFFERED + 2
"""Of actions: see :func:`kind_of`."""


@kernel
def kind_of(action: int) -> int:
    """-1, the last kind, for advancing, the slot of a purchase, or ``NUM_OFFERED`` for a special patch."""
    return -1 if action < FIRST_BUY else min((action - FIRST_BUY) // _ACTIONS_PER_SLOT, NUM_OFFERED)


@kernel(inline=True)
def first_of_kind(kind: int) -> int:
    """The first action of a kind of placements, legal or not."""
    return FIRST_BUY + kind * _ACTIONS_PER_SLOT


@kernel
def select_placements(
    states: States,
    i: int,
    width: int,
    actions: npt.NDArray[np.int16],
    count: int,
    joints: npt.NDArray[np.int64],
) -> int:
    """Keeps, of the placements of each patch, those that leave the most joints among the empty cells.

    Args:
        states: Records.
        i: Which of them.
        width: How many to keep of each patch; the first ones on equal terms.
        actions: The legal actions, ascending; those that are kept move to the front in the same order.
        count: Their number.
        joints: int64, as long as ``actions``; memory to work with.

    Returns:
        How many are kept.
    """
    kept, first = 0, 0
    while first < count:
        kind, end = kind_of(signed(actions[first])), first
        while end < count and kind_of(signed(actions[end])) == kind:
            end += 1
        kept = _select(states, i, width, actions, first, end, joints, kept)
        first = end
    return kept


@kernel
def _select(
    states: States,
    i: int,
    width: int,
    actions: npt.NDArray[np.int16],
    first: int,
    end: int,
    joints: npt.NDArray[np.int64],
    kept: int,
) -> int:
    """Selects among actions ``first ... end - 1``, all of one kind; returns how many are kept in all."""
    least, at_least = -1, 0
    if end - first > width:
        for k in range(first, end):
            placement = signed(actions[k]) - FIRST_BUY
            footprint = footprint_of(states, i, placement // NUM_CELLS)
            joints[k] = joints_left(states, i, footprint, placement % NUM_CELLS)
        least, at_least = _threshold(joints[first:end], width)
    for k in range(first, end):
        if least >= 0:
            if joints[k] < least or (joints[k] == least and at_least == 0):
                continue
            at_least -= joints[k] == least
        actions[kept] = actions[k]
        kept += 1
    return kept


@kernel(allocates=True)
def _threshold(joints: npt.NDArray[np.int64], width: int) -> tuple[int, int]:
    """The ``width``-th largest number, and how many that equal it are among the ``width`` largest."""
    histogram = np.zeros(_MOST_JOINTS + 1, np.int64)
    for number in joints:
        histogram[number] += 1
    left = width
    for number in range(_MOST_JOINTS, -1, -1):
        if histogram[number] >= left:
            return number, left
        left -= histogram[number]
    return 0, 0
