"""The actions that a search considers, in the order in which it comes to consider them.

Actions are ordered by a value in buttons. The value of a purchase is that of the patch for the greedy agent,
less a price for every joint that its placement leaves fewer than the best placement of the same patch; the
value of advancing is 0. Advancing and the best placement of each patch come before all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.heuristics import (
    FIRST_LOWER_ANCHOR,
    footprint_of,
    joints_left,
    patch_value,
)
from patchwork_env.core.bits import U1, lowest_bit
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, legal
from patchwork_env.patchwork.state import States

MOST_CANDIDATES = 32
_PRICE_OF_A_JOINT = 1.0
_MOST_PLACEMENTS = 448
_AHEAD = 1000.0
"""Added to the value of actions that come before all others."""


class CandidateBuffers(NamedTuple):
    """The buffers of :func:`list_candidates`.

    Attributes:
        actions: int64 ``(MOST_CANDIDATES,)``, receives the actions, best first.
        values: float64 ``(MOST_CANDIDATES,)``, the values of the actions, in buttons.
        anchors: The legal set.
        placements: int64 ``(2, _MOST_PLACEMENTS)``, the placements of one patch: the actions, and the joints
            that they leave.
    """

    actions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    anchors: LegalSet
    placements: npt.NDArray[np.int64]


def new_candidate_buffers() -> CandidateBuffers:
    """Buffers for :func:`list_candidates`."""
    return CandidateBuffers(
        np.empty(MOST_CANDIDATES, np.int64),
        np.empty(MOST_CANDIDATES, np.float64),
        np.empty((2, NUM_MAPS), np.uint64),
        np.empty((2, max(_MOST_PLACEMENTS, NUM_CELLS)), np.int64),
    )


@kernel
def list_candidates(states: States, i: int, out: CandidateBuffers) -> int:
    """Lists the best actions of a game that is not over, best first, and returns their number."""
    legal(states, i, out.anchors)
    if states[i]["pending_special"]:
        return _add_placements(states, i, SPECIAL_MAP, NUM_MAPS, 0.0, out, 0)
    count = _insert(out, 0, ADVANCE, _AHEAD)
    for slot in range(min(NUM_OFFERED, states[i]["num_patches"])):
        first = slot * NUM_ORIENTATIONS
        value = patch_value(states, i, states[i]["circle"][slot])
        count = _add_placements(states, i, first, first + NUM_ORIENTATIONS, value, out, count)
    return count


@kernel
def _add_placements(
    states: States, i: int, first_map: int, end_map: int, value: float, out: CandidateBuffers, count: int
) -> int:
    """Adds the placements of one patch, which are those of the maps ``first_map ... end_map - 1``."""
    found, best, most_joints = 0, 0, -1
    for k in range(first_map, end_map):
        footprint = footprint_of(states, i, k)
        for word in range(2):
            bits = out.anchors[word, k]
            while bits:
                anchor = lowest_bit(bits) + word * FIRST_LOWER_ANCHOR
                bits &= bits - U1
                joints = joints_left(states, i, footprint, anchor)
                out.placements[0, found] = FIRST_BUY + k * NUM_CELLS + anchor
                out.placements[1, found] = joints
                if joints > most_joints:
                    best, most_joints = found, joints
                found += 1
    for k in range(found):
        lost = most_joints - out.placements[1, k]
        ahead = _AHEAD if k == best else 0.0
        count = _insert(out, count, out.placements[0, k], ahead + value - _PRICE_OF_A_JOINT * lost)
    return count


@kernel
def _insert(out: CandidateBuffers, count: int, action: int, value: float) -> int:
    """Inserts an action by its value, if it is among the best; returns the new number of candidates."""
    if count == len(out.actions):
        if value <= out.values[count - 1]:
            return count
        count -= 1
    k = count
    while k > 0 and value > out.values[k - 1]:
        out.actions[k], out.values[k] = out.actions[k - 1], out.values[k - 1]
        k -= 1
    out.actions[k], out.values[k] = action, value
    return count + 1
