"""The action that looks best now, without looking ahead: what a greedy agent plays.

It chooses in two steps.

1. *Which patch?* The one with the highest value, see :mod:`~patchwork_env.agents.patchwork.heuristics`; ties
   go to the lower slot. Advancing has the value 0, and is preferred to a patch of the same value.
2. *Where?* Where the empty cells stay connected best. The measure is the number of joints that are left:
   pairs of neighboring empty cells. Contact with the border and with covered cells saves joints, and cells
   that become holes lose theirs. Special patches follow the same rule. Ties go to the lower action.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.heuristics import (
    FIRST_LOWER_ANCHOR,
    can_be_placed,
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


@kernel(allocates=True)
def choose_actions(states: States, actions: npt.NDArray[np.int64]) -> None:
    """Writes the greedy action of every game, none of which may be over."""
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    for i in range(len(states)):
        actions[i] = choose_action(states, i, anchors)


@kernel
def choose_action(states: States, i: int, anchors: LegalSet) -> int:
    """The greedy action of one game that is not over; ``anchors`` receives its legal set."""
    legal(states, i, anchors)
    if states[i]["pending_special"]:
        return _best_placement(states, i, anchors, SPECIAL_MAP, NUM_MAPS)
    slot = _best_slot(states, i, anchors)
    if slot < 0:
        return ADVANCE
    return _best_placement(states, i, anchors, slot * NUM_ORIENTATIONS, (slot + 1) * NUM_ORIENTATIONS)


@kernel
def _best_slot(states: States, i: int, anchors: LegalSet) -> int:
    """The slot of the patch with the highest value, or -1 if no value is above 0."""
    best_slot, best_value = -1, 0.0
    for slot in range(NUM_OFFERED):
        if can_be_placed(anchors, slot):
            value = patch_value(states, i, states[i]["circle"][slot])
            if value > best_value:
                best_slot, best_value = slot, value
    return best_slot


@kernel
def _best_placement(states: States, i: int, anchors: LegalSet, first_map: int, end_map: int) -> int:
    """The action that leaves the most joints, among those of the maps ``first_map ... end_map - 1``."""
    best_action, best_joints = -1, -1
    for k in range(first_map, end_map):
        footprint = footprint_of(states, i, k)
        for word in range(2):
            bits = anchors[word, k]
            while bits:
                anchor = lowest_bit(bits) + word * FIRST_LOWER_ANCHOR
                bits &= bits - U1
                joints = joints_left(states, i, footprint, anchor)
                if joints > best_joints:
                    best_action, best_joints = FIRST_BUY + k * NUM_CELLS + anchor, joints
    return best_action
