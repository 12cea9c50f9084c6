"""The relief of a player's table: a window of 3x3 cells around each cell, as rows of a learned table.

A neighbor is lower than the middle, as high, or higher. Windows that are turns of each other are alike; flips
are not, as no tile may be flipped. Each kind of window has one row for each height of its middle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.engine import Levels

_HIGHEST = 5
"""Heights from this one on are alike."""
EMPTY = 0
"""The row of windows on the bare table, which are not listed."""

_NEIGHBORS = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
"""The cells around the middle, in an order in which a quarter turn moves each by two."""
_NUM_PATTERNS = 3 ** len(_NEIGHBORS)


def _sums() -> npt.NDArray[np.int64]:
    """For each window of 9 bits, the number whose digits in base 3 are its neighbors."""
    bits, sums = np.arange(1 << 9), np.zeros(1 << 9, np.int64)
    for k, (row, column) in enumerate(_NEIGHBORS):
        sums += 3**k * (bits >> (3 * row + column) & 1)
    return sums


def _rows() -> npt.NDArray[np.int32]:
    """Table rows by height of the middle and pattern."""
    patterns = np.arange(_NUM_PATTERNS)
    digits = patterns[:, None] // 3 ** np.arange(8) % 3
    turned = [np.roll(digits, 2 * turns, 1) @ 3 ** np.arange(8) for turns in range(4)]
    lowest = np.min(turned, axis=0)
    on_table = (digits >= 1).all(1)
    rows = np.zeros((_HIGHEST + 1, _NUM_PATTERNS), np.int32)
    # Nothing is lower than the bare table, and a window that is all bare has row 0, ``EMPTY``.
    rows[0, on_table] = np.unique(lowest[on_table], return_inverse=True)[1].reshape(-1)
    kinds = np.unique(lowest, return_inverse=True)[1].reshape(-1)
    first = int(rows.max()) + 1
    for height in range(1, _HIGHEST + 1):
        rows[height] = first + (height - 1) * (int(kinds.max()) + 1) + kinds
    return rows


_SUMS = _sums()
_ROWS = _rows()
NUM_ROWS = int(_ROWS.max()) + 1
"""The number of rows of the table."""
AREA = 36
"""The most windows that a tile changes: those of its bounding box and one cell more on each side."""

_U = np.uint64
_U1, _SEVEN = _U(1), _U(7)
_ALL = (1 << 9) - 1

Rows = npt.NDArray[np.int32]
Grid = npt.NDArray[np.int32]
"""Shape ``(engine.NUM_ROWS, TABLE_SIZE)``: the row of the window around each cell."""
GRID_SHAPE = (NUM_TABLE_ROWS, TABLE_SIZE)


@kernel(inline=True)
def _window(levels: Levels, level: int, row: int, column: int) -> int:
    """The 3x3 bits of a level around a cell; cells beyond the table are not covered."""
    shift = _U(column)
    upper = (levels[level, row - 1] << _U1) >> shift & _SEVEN
    middle = (levels[level, row] << _U1) >> shift & _SEVEN
    lower = (levels[level, row + 1] << _U1) >> shift & _SEVEN
    return int(np.int64(upper | middle << _U(3) | lower << _U(6)))


@kernel(inline=True)
def window_row(levels: Levels, row: int, column: int) -> int:
    """The table row of the window around a cell."""
    height = 0
    while (levels[height, row] >> _U(column)) & _U1 != 0:
        height += 1
    covered = _window(levels, height - 1, row, column) if height > 0 else _ALL
    pattern = _SUMS[covered] + _SUMS[_window(levels, height, row, column)]
    return int(_ROWS[min(height, _HIGHEST), pattern])


@kernel
def span(first: int, length: int, end: int) -> tuple[int, int]:
    """The first index of ``length`` cells and one more on each side, and the index behind the last."""
    return max(first - 1, 0), min(first + length + 1, end)


@kernel
def list_windows(levels: Levels, top: int, left: int, height: int, width: int, grid: Grid, rows: Rows) -> int:
    """Writes the rows of all windows of a painted table into ``grid``, and lists those not ``EMPTY``.

    The tiles spread over ``height`` rows and ``width`` columns from row ``top`` and column ``left`` on. In
    the grid, rows in and around this box are written; all else must be ``EMPTY`` already. Returns the length
    of the list.
    """
    count = 0
    first, end = span(top, height, NUM_TABLE_ROWS - 1)
    first_column, end_column = span(left, width, TABLE_SIZE)
    for row in range(first, end):
        for column in range(first_column, end_column):
            found = window_row(levels, row, column)
            grid[row, column] = found
            rows[count] = found
            count += found != EMPTY
    return count


@kernel
def list_changes(
    levels: Levels, row: int, column: int, height: int, width: int, grid: Grid, old: Rows, new: Rows
) -> tuple[int, int]:
    """Lists the rows of windows that go and that come when a tile is added; returns both numbers.

    ``levels`` is the painted table with the tile, whose box has its top-left corner at ``row`` and
    ``column``; ``grid`` holds the rows of all windows without it.
    """
    gone, come = 0, 0
    first, end = span(row, height, NUM_TABLE_ROWS - 1)
    first_column, end_column = span(column, width, TABLE_SIZE)
    for r in range(first, end):
        for c in range(first_column, end_column):
            before, after = grid[r, c], window_row(levels, r, c)
            if before != after:
                old[gone], new[come] = before, after
                gone += before != EMPTY
                come += after != EMPTY
    return gone, come
