"""The action that looks best now, without looking ahead: what a greedy agent plays.

It chooses in two steps.

1. *Which patch?* Bought now, a patch is worth, in buttons, its income at every income mark ahead, plus the
   penalty that it saves, minus its price, minus the spaces that the token moves: a space is worth the one
   button that advancing earns. The penalty is 2 per cell, but counts only by the share of the track that lies
   behind the token after the move: the earlier in the game, the likelier another patch would have covered the
   cell as well. It buys the patch worth most, on equal terms that in the lower slot. Advancing is worth 0 by
   the same measure, and preferred to a patch worth 0.
2. *Where?* Where the empty cells hang together best. The measure is how many joints are left: pairs of
   neighboring empty cells. Contact with the border and with covered cells saves joints, and cells that become
   holes lose theirs. Special patches follow the same rule. On equal terms it takes the lower action.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.joints import count_joints
from patchwork_env.core.bits import lowest_bit
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, legal, placed_words
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import (
    FOOTPRINTS,
    INCOMES,
    INCOMES_UP_TO,
    PRICES,
    SECOND_WORD_ROW,
    TIMES,
)

_U = np.uint64
_U1 = _U(1)
_FIRST_LOWER_ANCHOR = SECOND_WORD_ROW * QUILT_SIZE
_SIZES = np.array([patch.size for patch in PATCHES], np.int64)


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
    """The slot of the patch that is worth most, or -1 if advancing is worth no less than any."""
    best_slot, best_value = -1, 0.0
    for slot in range(NUM_OFFERED):
        if can_be_placed(anchors, slot):
            value = patch_value(states, i, states[i]["circle"][slot])
            if value > best_value:
                best_slot, best_value = slot, value
    return best_slot


@kernel(inline=True)
def can_be_placed(anchors: LegalSet, slot: int) -> bool:
    """Whether a legal set has placements of the patch in a slot; ``NUM_OFFERED`` stands for a special one."""
    placements = _U(0)
    for k in range(slot * NUM_ORIENTATIONS, min((slot + 1) * NUM_ORIENTATIONS, NUM_MAPS)):
        placements |= anchors[0, k] | anchors[1, k]
    return bool(placements)


@kernel
def patch_value(states: States, i: int, patch: int) -> float:
    """What buying a patch now is worth to the current player, in buttons; advancing is worth 0."""
    space = np.int64(states[i]["position"][states[i]["current_player"]])
    target = min(space + np.int64(TIMES[patch]), np.int64(LAST_SPACE))
    incomes_ahead = np.int64(INCOMES_UP_TO[LAST_SPACE] - INCOMES_UP_TO[space])
    income = np.int64(INCOMES[patch]) * incomes_ahead
    penalty_saved = PENALTY_PER_EMPTY_CELL * _SIZES[patch] * target / LAST_SPACE
    return float(income + penalty_saved - PRICES[patch] - (target - space))


@kernel
def _best_placement(states: States, i: int, anchors: LegalSet, first_map: int, end_map: int) -> int:
    """The action, among those of some maps of the legal set, that leaves the most joints."""
    best_action, best_joints = -1, -1
    for k in range(first_map, end_map):
        footprint = footprint_of(states, i, k)
        for word in range(2):
            bits = anchors[word, k]
            while bits:
                anchor = lowest_bit(bits) + word * _FIRST_LOWER_ANCHOR
                bits &= bits - _U1
                joints = joints_left(states, i, footprint, anchor)
                if joints > best_joints:
                    best_action, best_joints = FIRST_BUY + k * NUM_CELLS + anchor, joints
    return best_action


@kernel
def footprint_of(states: States, i: int, k: int) -> np.uint64:
    """The cells of the piece that map ``k`` of the legal set places."""
    if k == SPECIAL_MAP:
        return _U1
    patch = states[i]["circle"][k // NUM_ORIENTATIONS]
    return np.uint64(FOOTPRINTS[patch, k % NUM_ORIENTATIONS])


@kernel
def joints_left(states: States, i: int, footprint: np.uint64, anchor: int) -> int:
    """Pairs of neighboring empty cells on the current player's quilt after covering a footprint."""
    word_0, word_1 = placed_words(footprint, anchor)
    quilt = states[i]["quilt"][states[i]["current_player"]]
    return count_joints(quilt[0] | word_0, quilt[1] | word_1)
