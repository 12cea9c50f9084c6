"""What greedy play, playouts and networks have in common: kinds of actions, values of patches, and joints.

The value of a patch that is bought now, in buttons, is its income at every income mark ahead, plus the
penalty that it saves, minus its price, minus one for every space that the token moves, as advancing would
earn a button there. The penalty is 2 per cell, times the share of the track that lies behind the token after
the move: the earlier in the game, the likelier another patch would have covered the cell as well.
"""

from __future__ import annotations

import numpy as np

from patchwork_env.agents.patchwork.joints import count_joints
from patchwork_env.core.bits import U1
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import FIRST_BUY, SLOT_SIZE
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_OFFERED,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, placed_words
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import (
    FOOTPRINTS,
    INCOMES,
    INCOMES_UP_TO,
    PRICES,
    SECOND_WORD_ROW,
    TIMES,
)

FIRST_LOWER_ANCHOR = SECOND_WORD_ROW * QUILT_SIZE
"""The cell of the lowest bit in the second word of a map."""
NUM_KINDS = NUM_OFFERED + 2
"""The number of kinds of actions; see :func:`kind_of`."""
_U = np.uint64
_SIZES = np.array([patch.size for patch in PATCHES], np.int64)


@kernel(inline=True)
def kind_of(action: int) -> int:
    """The kind of an action: 0 advance, 1-3 a slot, 4 special patch."""
    return 1 + (action - FIRST_BUY) // SLOT_SIZE


@kernel
def patch_value(states: States, i: int, patch: int) -> float:
    """The value for the current player of buying a patch now, in buttons; that of advancing is 0."""
    space = np.int64(states[i]["position"][states[i]["current_player"]])
    target = min(space + np.int64(TIMES[patch]), np.int64(LAST_SPACE))
    incomes_ahead = np.int64(INCOMES_UP_TO[LAST_SPACE] - INCOMES_UP_TO[space])
    income = np.int64(INCOMES[patch]) * incomes_ahead
    penalty_saved = PENALTY_PER_EMPTY_CELL * _SIZES[patch] * target / LAST_SPACE
    return float(income + penalty_saved - PRICES[patch] - (target - space))


@kernel(inline=True)
def can_be_placed(anchors: LegalSet, slot: int) -> bool:
    """Whether a legal set has placements of the patch in a slot; ``NUM_OFFERED`` stands for a special one."""
    placements = _U(0)
    for k in range(slot * NUM_ORIENTATIONS, min((slot + 1) * NUM_ORIENTATIONS, NUM_MAPS)):
        placements |= anchors[0, k] | anchors[1, k]
    return bool(placements)


@kernel
def footprint_of(states: States, i: int, k: int) -> np.uint64:
    """The cells of the piece that map ``k`` of the legal set places."""
    if k == SPECIAL_MAP:
        return U1
    patch = states[i]["circle"][k // NUM_ORIENTATIONS]
    return np.uint64(FOOTPRINTS[patch, k % NUM_ORIENTATIONS])


@kernel
def joints_left(states: States, i: int, footprint: np.uint64, anchor: int) -> int:
    """Pairs of neighboring empty cells on the current player's quilt after covering a footprint."""
    word_0, word_1 = placed_words(footprint, anchor)
    quilt = states[i]["quilt"][states[i]["current_player"]]
    return count_joints(quilt[0] | word_0, quilt[1] | word_1)
