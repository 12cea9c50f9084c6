"""Tables for the compiled rules, with a row for each piece.

A piece is a tile in one orientation; its number is ``4 * digit + orientation``. A level of a table is an
array of 64-bit words, one for each row, whose bit ``column`` is set for a covered cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.polyomino import Cells, extent
from patchwork_env.nmbr9.actions import DISTINCT, LONGEST_SIDE, MAX_SPREAD, NUM_TURNS, ORIENTED, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS, TILES

SHAPES: tuple[Cells, ...] = tuple(cells for oriented in ORIENTED for cells in oriented)
"""``SHAPES[piece]``: the cells of a piece."""
NUM_PIECES = len(SHAPES)
_MAX_SIZE = max(map(len, TILES))


def _cell_table(axis: int) -> npt.NDArray[np.int64]:
    table = np.zeros((NUM_PIECES, _MAX_SIZE), np.int64)
    for piece, cells in enumerate(SHAPES):
        table[piece, : len(cells)] = [cell[axis] for cell in cells]
    return table


def _footprints() -> npt.NDArray[np.uint64]:
    table = np.zeros((NUM_PIECES, LONGEST_SIDE), np.uint64)
    for piece, cells in enumerate(SHAPES):
        for row, column in cells:
            table[piece, row] |= np.uint64(1 << column)
    return table


def _places_inside(upper: Cells, lower: Cells) -> int:
    """Return the places where ``upper`` is completely on ``lower``, as bits ``4 * row + column``."""
    places = 0
    for row in range(LONGEST_SIDE):
        for column in range(LONGEST_SIDE):
            if {(row + r, column + c) for r, c in upper} <= set(lower):
                places |= 1 << (LONGEST_SIDE * row + column)
    return places


SIZES = np.array([len(tile) for tile in TILES], np.int64)
"""``SIZES[digit]``: the number of cells of a tile."""
CELL_ROWS, CELL_COLUMNS = _cell_table(0), _cell_table(1)
"""``CELL_ROWS[piece, k]``, ``CELL_COLUMNS[piece, k]``: cell ``k`` of a piece, counted from its anchor."""
FOOTPRINTS = _footprints()
"""``FOOTPRINTS[piece, row]``: the cells of a piece whose anchor is bit 0 of row 0."""
HEIGHTS, WIDTHS = np.array([extent(cells) for cells in SHAPES], np.int64).T.copy()
IS_DISTINCT = np.array([o in DISTINCT[d] for d in range(NUM_DIGITS) for o in range(NUM_TURNS)], np.bool_)
"""``IS_DISTINCT[piece]``: whether no lower orientation of the same tile looks the same."""
INSIDE = np.array([[_places_inside(a, b) for b in SHAPES] for a in SHAPES], np.uint64)
"""``INSIDE[upper, lower]``: the places where a piece would rest on a single other piece, as the bits
``4 * row + column`` of its anchor, counted from the anchor of the other piece."""
FIRST_INDEX = np.array(
    [min((TABLE_SIZE - n + LONGEST_SIDE - 1) // 2, MAX_SPREAD - n) for n in range(MAX_SPREAD + 1)]
)
"""``FIRST_INDEX[n]``: the first of the ``n`` rows, or columns, over which the tiles of a table spread. All
anchors of the next tile are then in the window. The last row and the last column stay free."""


def middle(piece: int) -> tuple[int, int]:
    """Return the row and column of a piece if it is the first on a table."""
    return int(FIRST_INDEX[HEIGHTS[piece]]), int(FIRST_INDEX[WIDTHS[piece]])
