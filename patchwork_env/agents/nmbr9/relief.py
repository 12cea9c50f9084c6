"""The relief of a player's table: a window of 3x3 cells around each cell, a row of a learned table.

A neighbor is lower than the middle, as high, or higher. Windows that are turns of each other have the same
row; flips do not, because tiles cannot be flipped. Each kind of window has one row per height of its middle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Rows
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.engine import Levels
from patchwork_env.nmbr9.tables import HEIGHTS, WIDTHS

_U = np.uint64
Grid = npt.NDArray[np.int32]  # the row of the window around each cell, by row and column
GRID_SHAPE = (NUM_TABLE_ROWS, TABLE_SIZE + 2)
"""The table plus one cell past its ends; the entries for row and column -1 are the last ones."""
_SEVEN, _MIDDLE = _U(7), _U(2)
_HIGHEST = 5  # greater heights have the same rows
EMPTY = 0  # the row of windows on the bare table, which are not listed
_NEIGHBORS = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
"""The cells around the middle, in an order in which a quarter turn shifts each by two."""
_NUM_PATTERNS = 3 ** len(_NEIGHBORS)


def _sums() -> npt.NDArray[np.int64]:
    """Return, for each window of 9 bits, the number whose digits in base 3 are its neighbors."""
    bits, sums = np.arange(1 << 9), np.zeros(1 << 9, np.int64)
    for k, (row, column) in enumerate(_NEIGHBORS):
        sums += 3**k * (bits >> (3 * row + column) & 1)
    return sums


def _rows() -> npt.NDArray[np.int32]:
    patterns = np.arange(_NUM_PATTERNS)
    digits = patterns[:, None] // 3 ** np.arange(8) % 3
    turned = [np.roll(digits, 2 * turns, 1) @ 3 ** np.arange(8) for turns in range(4)]
    lowest = np.min(turned, axis=0)
    on_table = (digits >= 1).all(1)
    rows = np.zeros((_HIGHEST + 1, _NUM_PATTERNS), np.int32)
    # No neighbor is lower than the bare table; a completely bare window has row 0, ``EMPTY``.
    rows[0, on_table] = np.unique(lowest[on_table], return_inverse=True)[1].reshape(-1)
    kinds = np.unique(lowest, return_inverse=True)[1].reshape(-1)
    first = int(rows.max()) + 1
    for height in range(1, _HIGHEST + 1):
        rows[height] = first + (height - 1) * (int(kinds.max()) + 1) + kinds
    return rows


_SUMS = _sums()
_ROWS = _rows()
NUM_WINDOWS = int(_ROWS.max()) + 1  # the number of rows of the table of windows
AREA = 36  # the maximum number of windows that a tile changes: in its bounding box and one cell around it
_ALL = (1 << 9) - 1


@kernel(inline=True)
def _window(levels: Levels, level: int, row: int, column: int) -> int:
    """Return the 3x3 bits of a level around a cell; cells beyond the table are not covered."""
    upper, middle = _three_bits(levels[level, row - 1], column), _three_bits(levels[level, row], column)
    lower = _three_bits(levels[level, row + 1], column)
    return int(np.int64(upper | middle << _U(3) | lower << _U(6)))


@kernel(inline=True)
def _three_bits(word: np.uint64, column: int) -> np.uint64:
    """Return the bits around a column, -1 to 64; bits outside the word are 0."""
    return np.uint64(word >> _U(column - 1) & _SEVEN if column > 0 else word << _U(1 - column) & _SEVEN)


@kernel(inline=True)
def _row_of_window(levels: Levels, row: int, column: int) -> int:
    """Return the table row of the window around a cell."""
    height = 0
    while _three_bits(levels[height, row], column) & _MIDDLE != 0:
        height += 1
    covered = _window(levels, height - 1, row, column) if height > 0 else _ALL
    pattern = _SUMS[covered] + _SUMS[_window(levels, height, row, column)]
    return int(_ROWS[min(height, _HIGHEST), pattern])


@kernel
def list_windows(levels: Levels, top: int, left: int, height: int, width: int, grid: Grid, rows: Rows) -> int:
    """Write the rows of all windows to ``grid``, and list those that are not ``EMPTY``; return their number.

    ``top``, ``left``, ``height`` and ``width`` are the bounding box of the tiles; elsewhere the grid must be
    ``EMPTY``.
    """
    count = 0
    for row in range(top - 1, top + height + 1):
        for column in range(left - 1, left + width + 1):
            found = _row_of_window(levels, row, column)
            grid[row, column] = found
            rows[count] = found
            count += found != EMPTY
    return count


@kernel
def list_changes(levels: Levels, tile: Tile, grid: Grid, old: Rows, new: Rows) -> tuple[int, int]:
    """List the rows of windows that a tile removes and adds; return both numbers.

    ``levels`` are those with the tile, and ``grid`` has the rows of all windows without it.
    """
    gone, come = 0, 0
    for r in range(tile.row - 1, tile.row + HEIGHTS[tile.piece] + 1):
        for c in range(tile.column - 1, tile.column + WIDTHS[tile.piece] + 1):
            before, after = grid[r, c], _row_of_window(levels, r, c)
            if before != after:
                old[gone], new[come] = before, after
                gone += before != EMPTY
                come += after != EMPTY
    return gone, come
