"""Observations of a state, as one float32 vector or as named tensors of the same content.

============  ===========  ===================================================================================
name          shape        content
============  ===========  ===================================================================================
``quilts``    (2, 9, 9)    covered cells, the observer's own quilt first: 0 or 1
``offered``   (3, 29)      the patches that may be bought: 5x5 drawing in orientation 0 (25 cells row by row,
                           0 or 1), size / 8, price in buttons / 10, time / 6, income / 3; zeros if none
``circle``    (33,)        the patches left, clockwise from the neutral token: (index + 1) / 33; then zeros
``players``   (2, 10)      the observer first: to move, must place a special patch, position / 53,
                           buttons / 32, income / 38, income marks ahead / 9, spaces to the next one / 6,
                           empty cells / 81, owns the bonus tile, reached the end first
``specials``  (5,)         spaces of the special patches still on the track / 53; 0 for those that are taken
============  ===========  ===================================================================================

The vector holds them in this order, each flattened row by row; :data:`SLICES` has their slices. Entries are
in 0 ... 1, except for buttons / 32, which are in 0 ... 13. The game has perfect information, and an
observation holds all of it.
"""

from __future__ import annotations

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.core.tensors import Layout, Observation, read_number, shares
from patchwork_env.patchwork.components import (
    INCOME_SPACES,
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    NUM_PATCHES,
    NUM_PLAYERS,
    PATCHES,
    QUILT_SIZE,
    SPECIAL_SPACES,
)
from patchwork_env.patchwork.engine import empty_cells
from patchwork_env.patchwork.state import NOBODY, States
from patchwork_env.patchwork.tables import SECOND_WORD_ROW, WORD_ROWS

BOX = 5
"""The side in cells of the square in which patches are drawn."""
OFFERED_FEATURES = BOX * BOX + 4
PLAYER_FEATURES = 10
BUTTONS_FEATURE = 3
MAX_BUTTONS = 13.0
"""The upper bound of buttons / 32: 5 to start with, 53 by advancing and 9 incomes of at most 38 make 400."""

SHAPES: dict[str, tuple[int, ...]] = {
    "quilts": (NUM_PLAYERS, QUILT_SIZE, QUILT_SIZE),
    "offered": (NUM_OFFERED, OFFERED_FEATURES),
    "circle": (NUM_PATCHES,),
    "players": (NUM_PLAYERS, PLAYER_FEATURES),
    "specials": (len(SPECIAL_SPACES["revised"]),),
}
"""The shapes of the tensors by name, in the order of the vector."""

LAYOUT = Layout(SHAPES)
SLICES = LAYOUT.slices
"""The slices of the vector that hold the tensors, by name."""
OBSERVATION_SIZE = LAYOUT.size
"""The length of the vector."""
as_dict = LAYOUT.as_dict
as_dict(LAYOUT.upper_bounds)["players"][:, BUTTONS_FEATURE] = MAX_BUTTONS


def _offered_table() -> Observation:
    table = np.zeros((NUM_PATCHES, OFFERED_FEATURES), np.float32)
    for features, patch in zip(table, PATCHES, strict=True):
        for row, column in patch.cells:
            features[row * BOX + column] = 1
        features[BOX * BOX :] = patch.size / 8, patch.buttons / 10, patch.time / 6, patch.income / 3
    return table


def _space_table() -> Observation:
    """Return for each space: the space, the number of income marks after it, the distance to the next one."""
    spaces = range(LAST_SPACE + 1)
    left = [sum(mark > space for mark in INCOME_SPACES) for space in spaces]
    distances = [next((mark - space for mark in INCOME_SPACES if mark > space), 0) for space in spaces]
    features = shares(spaces, LAST_SPACE), shares(left, len(INCOME_SPACES)), shares(distances, 6)
    return np.stack(features, axis=1)


OFFERED_TABLE = _offered_table()
"""The features of each patch in ``offered``, one row per patch."""
_OFFERS = np.vstack([OFFERED_TABLE, np.zeros_like(OFFERED_TABLE[:1])])  # the last row is for no patch
_BITS = shares(np.arange(256)[:, None] >> np.arange(8) & 1, 1)
_SPACES = _space_table()
_PATCH_NUMBERS = shares(np.arange(NUM_PATCHES) + 1, NUM_PATCHES)
_INCOMES = shares(np.arange(256), 38)
_EMPTY_CELLS = shares(np.arange(NUM_CELLS + 1), NUM_CELLS)
_SPECIAL_SPACES = np.array(list(SPECIAL_SPACES.values()), np.uint8)
_SPECIAL_SHARES = shares(_SPECIAL_SPACES, LAST_SPACE)
_QUILTS, _OFFERED, _CIRCLE, _PLAYERS, _SPECIALS = (SLICES[name].start for name in SHAPES)
"""The first indices of the tensors."""
_U18, _U46, _U62, _U255 = map(np.uint64, (18, 46, 62, 255))
_F = np.float32
_HALF = _F(0.5)
_MOST_BUTTONS = int(32 * MAX_BUTTONS)


@kernel
def write_observation(states: States, i: int, observer: int, out: Observation) -> None:
    """Write the observation of a player to ``out``, a contiguous array ``(OBSERVATION_SIZE,)``."""
    for k in range(NUM_PLAYERS):
        player = observer ^ k
        _write_quilt(states, i, player, out, _QUILTS + k * NUM_CELLS)
        _write_player(states, i, player, out, _PLAYERS + k * PLAYER_FEATURES)
    num_patches = np.int64(states[i]["num_patches"])
    for slot in range(NUM_OFFERED):
        patch = np.int64(states[i]["circle"][slot]) if slot < num_patches else NUM_PATCHES
        for k in range(OFFERED_FEATURES):
            out[_OFFERED + slot * OFFERED_FEATURES + k] = _OFFERS[patch, k]
    for k in range(NUM_PATCHES):
        out[_CIRCLE + k] = _PATCH_NUMBERS[states[i]["circle"][k]] if k < num_patches else _F(0)
    variant, furthest = states[i]["variant"], max(states[i]["position"][0], states[i]["position"][1])
    for k in range(_SPECIAL_SPACES.shape[1]):
        is_left = _SPECIAL_SPACES[variant, k] > furthest
        out[_SPECIALS + k] = _SPECIAL_SHARES[variant, k] if is_left else _F(0)


@kernel
def read_observation(observation: Observation, states: States, i: int) -> None:
    """Write the state that an observation shows, with the observer as player 0, to move.

    The inverse of :func:`write_observation` for the player to move. For an array that is not an observation
    the result has no meaning, but its fields are within their bounds.
    """
    state = states[i]
    for player in range(NUM_PLAYERS):
        _read_quilt(observation, _QUILTS + player * NUM_CELLS, states, i, player)
        begin = _PLAYERS + player * PLAYER_FEATURES
        state["position"][player] = read_number(observation[begin + 2], LAST_SPACE, LAST_SPACE)
        state["buttons"][player] = read_number(observation[begin + BUTTONS_FEATURE], 32, _MOST_BUTTONS)
        state["income"][player] = read_number(observation[begin + 4], 38, 38)
    state["circle"][:] = 0
    state["num_patches"] = 0
    while state["num_patches"] < NUM_PATCHES:
        patch = read_number(observation[_CIRCLE + state["num_patches"]], NUM_PATCHES, NUM_PATCHES)
        if patch == 0:
            break
        state["circle"][state["num_patches"]] = patch - 1
        state["num_patches"] += 1
    state["current_player"] = 0
    state["pending_special"] = observation[_PLAYERS + 1] > _HALF
    state["bonus_owner"] = _owner(observation, 8)
    state["first_finisher"] = _owner(observation, 9)
    state["variant"] = _read_variant(observation, max(state["position"][0], state["position"][1]))


@kernel
def _owner(observation: Observation, feature: int) -> int:
    """Return the first player whose feature is 1, or NOBODY."""
    for player in range(NUM_PLAYERS):
        if observation[_PLAYERS + player * PLAYER_FEATURES + feature] > _HALF:
            return player
    return NOBODY


@kernel
def _read_quilt(observation: Observation, begin: int, states: States, i: int, player: int) -> None:
    quilt = states[i]["quilt"]
    for word in range(2):
        first = begin + word * SECOND_WORD_ROW * QUILT_SIZE
        quilt[player, word] = 0
        for cell in range(WORD_ROWS * QUILT_SIZE):
            quilt[player, word] |= np.uint64(observation[first + cell] > _HALF) << np.uint64(cell)


@kernel
def _read_variant(observation: Observation, furthest: int) -> int:
    """Return the first variant with the special patches that are left."""
    for variant in range(len(_SPECIAL_SPACES)):
        agrees = True
        for k in range(_SPECIAL_SPACES.shape[1]):
            space = _SPECIAL_SPACES[variant, k]
            left = space if space > furthest else 0
            agrees &= read_number(observation[_SPECIALS + k], LAST_SPACE, LAST_SPACE) == left
        if agrees:
            return variant
    return 0


@kernel(inline=True)
def _write_quilt(states: States, i: int, player: int, out: Observation, begin: int) -> None:
    """Write the 81 cells of a quilt: eight at a time, then the last one."""
    upper, lower = states[i]["quilt"][player, 0], states[i]["quilt"][player, 1]
    _write_bytes(upper | (lower << _U18), 8, out, begin)
    _write_bytes(lower >> _U46, 2, out, begin + 64)
    out[begin + NUM_CELLS - 1] = lower >> _U62


@kernel(inline=True)
def _write_bytes(word: np.uint64, number: int, out: Observation, begin: int) -> None:
    for k in range(number):
        byte = (word >> np.uint64(8 * k)) & _U255
        for bit in range(8):
            out[begin + 8 * k + bit] = _BITS[byte, bit]


@kernel
def _write_player(states: States, i: int, player: int, out: Observation, begin: int) -> None:
    to_move = states[i]["current_player"] == player
    position = states[i]["position"][player]
    out[begin] = to_move
    out[begin + 1] = to_move and states[i]["pending_special"] == 1
    out[begin + 2] = _SPACES[position, 0]
    out[begin + BUTTONS_FEATURE] = states[i]["buttons"][player] / _F(32)
    out[begin + 4] = _INCOMES[states[i]["income"][player]]
    out[begin + 5] = _SPACES[position, 1]
    out[begin + 6] = _SPACES[position, 2]
    out[begin + 7] = _EMPTY_CELLS[empty_cells(states, i, player)]
    out[begin + 8] = states[i]["bonus_owner"] == player
    out[begin + 9] = states[i]["first_finisher"] == player
