"""Symmetries of the quilts: turning or flipping a quilt and all its moves leaves the game the same.

Symmetry ``g`` is ``g % 4`` clockwise quarter turns, after a left-right flip if ``g >= 4``, like orientation
``g`` of a patch. Each player's quilt is turned independently.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS, Cell, extent, orient
from patchwork_env.patchwork.actions import (
    ADVANCE,
    DISTINCT,
    FIRST_BUY,
    FIRST_SPECIAL,
    NUM_ACTIONS,
    SLOT_SIZE,
)
from patchwork_env.patchwork.components import NUM_CELLS, NUM_PATCHES, QUILT_SIZE
from patchwork_env.patchwork.engine import placed_words
from patchwork_env.patchwork.state import States

NUM_SYMMETRIES = NUM_ORIENTATIONS

Integers = npt.NDArray[np.int64]

_U1 = np.uint64(1)


def _move(cell: Cell, symmetry: int) -> Cell:
    row, column = cell
    if symmetry >= NUM_SYMMETRIES // 2:
        column = QUILT_SIZE - 1 - column
    for _ in range(symmetry % 4):
        row, column = column, QUILT_SIZE - 1 - row
    return row, column


def _cell_table() -> npt.NDArray[np.uint8]:
    cells = [divmod(cell, QUILT_SIZE) for cell in range(NUM_CELLS)]
    moved = [[_move(cell, symmetry) for cell in cells] for symmetry in range(NUM_SYMMETRIES)]
    return np.array(moved, np.uint8) @ np.array([QUILT_SIZE, 1], np.uint8)


def _placement_table() -> npt.NDArray[np.uint16]:
    table = np.zeros((NUM_PATCHES, NUM_SYMMETRIES, NUM_ORIENTATIONS, NUM_CELLS), np.uint16)
    for patch, distinct in enumerate(DISTINCT):
        by_shape = {shape: orientation for orientation, shape in distinct.items()}
        for orientation, shape in distinct.items():
            for symmetry in range(NUM_SYMMETRIES):
                moved = by_shape[orient(shape, symmetry)]
                anchors = _anchors_after(extent(shape), symmetry)
                table[patch, symmetry, orientation] = moved * NUM_CELLS + anchors
    return table


@cache
def _anchors_after(box: tuple[int, int], symmetry: int) -> npt.NDArray[np.uint16]:
    """Return the new top-left cell of a box for each old one, ``(81,)``; 0 if the box is not on the quilt."""
    anchors = np.zeros(NUM_CELLS, np.uint16)
    for row in range(QUILT_SIZE - box[0] + 1):
        for column in range(QUILT_SIZE - box[1] + 1):
            corners = _move((row, column), symmetry), _move((row + box[0] - 1, column + box[1] - 1), symmetry)
            top, left = (min(coordinates) for coordinates in zip(*corners, strict=True))
            anchors[row * QUILT_SIZE + column] = top * QUILT_SIZE + left
    return anchors


CELLS_AFTER = _cell_table()
"""``CELLS_AFTER[symmetry, cell]``: the cell to which a cell moves."""
_PLACEMENTS_AFTER = _placement_table()
"""``[patch, symmetry, orientation, anchor]``: the moved patch's placement, ``81 orientation + anchor``."""


@kernel
def turn_quilts(states: States, own: Integers, other: Integers) -> None:
    """Turn quilts in place, by ``(n,)`` symmetries for the player to move and for the other one."""
    for i in range(len(states)):
        player = states[i]["current_player"]
        _turn_quilt(states, i, player, own[i])
        _turn_quilt(states, i, 1 - player, other[i])


@kernel
def _turn_quilt(states: States, i: int, player: int, symmetry: int) -> None:
    quilt = states[i]["quilt"]
    covered_0, covered_1 = quilt[player, 0], quilt[player, 1]
    quilt[player, 0] = np.uint64(0)
    quilt[player, 1] = np.uint64(0)
    for cell in range(NUM_CELLS):
        word_0, word_1 = placed_words(_U1, cell)
        if (covered_0 & word_0) | (covered_1 & word_1):
            word_0, word_1 = placed_words(_U1, int(CELLS_AFTER[symmetry, cell]))
            quilt[player, 0] |= word_0
            quilt[player, 1] |= word_1


@kernel(allocates=True)
def turn_actions(states: States, counts: Integers, actions: Integers, own: Integers) -> Integers:
    """Return the actions that legal actions become when the quilts of the players to move are turned.

    ``actions`` are ``(total,)``, with ``counts[i]`` of state ``i``. :func:`turn_quilts` may have turned the
    states before.
    """
    turned = np.empty(len(actions), np.int64)
    begin = 0
    for i in range(len(states)):
        for k in range(begin, begin + counts[i]):
            turned[k] = _turn_action(states, i, actions[k], own[i])
        begin += counts[i]
    return turned


@kernel
def _turn_action(states: States, i: int, action: int, symmetry: int) -> int:
    if action == ADVANCE:
        return ADVANCE
    if action >= FIRST_SPECIAL:
        return FIRST_SPECIAL + int(CELLS_AFTER[symmetry, action - FIRST_SPECIAL])
    slot, placement = divmod(action - FIRST_BUY, SLOT_SIZE)
    patch = states[i]["circle"][slot]
    orientation, anchor = divmod(placement, NUM_CELLS)
    return FIRST_BUY + slot * SLOT_SIZE + int(_PLACEMENTS_AFTER[patch, symmetry, orientation, anchor])


def reorder(
    counts: Integers, actions: Integers, values: npt.NDArray[np.float32], order: Integers
) -> npt.NDArray[np.float32]:
    """Return the ``(total,)`` values of actions in another ``order`` of each state's actions."""
    first = np.repeat(np.arange(len(counts)) * NUM_ACTIONS, counts)
    result = np.empty_like(values)
    result[np.argsort(first + order)] = values[np.argsort(first + actions)]
    return result
