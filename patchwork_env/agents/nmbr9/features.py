"""The features of a player's table for the value: rows of two learned tables and a few numbers.

The relief is a window of 3x3 cells around each cell. A neighbor is lower than the middle, as high, or higher.
Windows that are turns of each other are alike; flips are not, as no tile may be flipped. Each kind of window
has one row for each height of its middle.

All else has ranges of rows in the second table; numbers beyond a range count as its last one. The next tile
is one of those left, as in a deck of unknown order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.fits import Record, Tile
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import TABLE_SIZE
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.engine import MAX_LEVELS, Levels
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.tables import HEIGHTS, WIDTHS

Rows = npt.NDArray[np.int32]
Grid = npt.NDArray[np.int32]
"""Shape ``(engine.NUM_ROWS, TABLE_SIZE)``: the row of the window around each cell."""
GRID_SHAPE = (NUM_TABLE_ROWS, TABLE_SIZE)
_U = np.uint64
_U1, _SEVEN = _U(1), _U(7)


# --- windows ----------------------------------------------------------------------------------------------


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
NUM_WINDOWS = int(_ROWS.max()) + 1
"""The number of rows of the table of windows."""
AREA = 36
"""The most windows that a tile changes: those of its bounding box and one cell more on each side."""
_ALL = (1 << 9) - 1


@kernel(inline=True)
def _window(levels: Levels, level: int, row: int, column: int) -> int:
    """The 3x3 bits of a level around a cell; cells beyond the table are not covered."""
    shift = _U(column)
    upper = (levels[level, row - 1] << _U1) >> shift & _SEVEN
    middle = (levels[level, row] << _U1) >> shift & _SEVEN
    lower = (levels[level, row + 1] << _U1) >> shift & _SEVEN
    return int(np.int64(upper | middle << _U(3) | lower << _U(6)))


@kernel(inline=True)
def _row_of_window(levels: Levels, row: int, column: int) -> int:
    """The table row of the window around a cell."""
    height = 0
    while (levels[height, row] >> _U(column)) & _U1 != 0:
        height += 1
    covered = _window(levels, height - 1, row, column) if height > 0 else _ALL
    pattern = _SUMS[covered] + _SUMS[_window(levels, height, row, column)]
    return int(_ROWS[min(height, _HIGHEST), pattern])


@kernel
def _span(first: int, length: int, end: int) -> tuple[int, int]:
    """The first index of ``length`` cells and one more on each side, and the index behind the last."""
    return max(first - 1, 0), min(first + length + 1, end)


@kernel
def list_windows(levels: Levels, top: int, left: int, height: int, width: int, grid: Grid, rows: Rows) -> int:
    """Writes the rows of all windows into ``grid``, and lists those not ``EMPTY``; returns how many.

    ``top``, ``left``, ``height`` and ``width`` are the box of the tiles; the rest of the grid is ``EMPTY``.
    """
    count = 0
    first, end = _span(top, height, NUM_TABLE_ROWS - 1)
    first_column, end_column = _span(left, width, TABLE_SIZE)
    for row in range(first, end):
        for column in range(first_column, end_column):
            found = _row_of_window(levels, row, column)
            grid[row, column] = found
            rows[count] = found
            count += found != EMPTY
    return count


@kernel
def list_changes(levels: Levels, tile: Tile, grid: Grid, old: Rows, new: Rows) -> tuple[int, int]:
    """Lists the rows of windows that go and that come with a tile; returns both numbers.

    ``levels`` is painted with the tile; ``grid`` holds the rows of all windows without it.
    """
    gone, come = 0, 0
    first, end = _span(tile.row, HEIGHTS[tile.piece], NUM_TABLE_ROWS - 1)
    first_column, end_column = _span(tile.column, WIDTHS[tile.piece], TABLE_SIZE)
    for r in range(first, end):
        for c in range(first_column, end_column):
            before, after = grid[r, c], _row_of_window(levels, r, c)
            if before != after:
                old[gone], new[come] = before, after
                gone += before != EMPTY
                come += after != EMPTY
    return gone, come


# --- features ---------------------------------------------------------------------------------------------

_COPIES = 3
"""Digits with that many tiles left, or more, count as alike."""
_LEVELS = 7
"""The highest level that is told apart from those above it; level 0 lies on the table itself."""
_FIT_CLASSES = np.searchsorted([0, 1, 2, 4, 7, 12, 20, 36], np.arange(513)).astype(np.int64)
_NUM_FIT_CLASSES = int(_FIT_CLASSES.max())
"""Classes of numbers of placements above 0, which has no row: 1, 2, 3-4, 5-7, 8-12, 13-20, 21-36 and more."""
_TILES, _AREAS = 10, 60

_LEFT = 0
_REMAINING = _LEFT + MAX_CARDS + 1
_BEST = _REMAINING + NUM_DIGITS * (_COPIES + 1)
_FITS = _BEST + NUM_DIGITS * 2 * (_LEVELS + 1)
_TILES_ON = _FITS + NUM_DIGITS * 2 * _LEVELS * _NUM_FIT_CLASSES
_OPEN = _TILES_ON + (_LEVELS + 1) * _TILES
NUM_FEATURES = _OPEN + (_LEVELS + 1) * _AREAS
"""The number of rows of the table of features."""
MAX_ROWS = 1 + 2 * NUM_DIGITS + NUM_DIGITS * _LEVELS + 2 * (_LEVELS + 1)
"""The most rows of a table."""
NUM_INPUTS = 4
"""The number of inputs besides the rows."""

FIELDS = {
    "fits": (np.int64, (MAX_LEVELS + 2, NUM_DIGITS)),
    "tiles_on": (np.int64, (MAX_LEVELS + 2,)),
    "area": (np.int64, (MAX_LEVELS + 2,)),
    "remaining": (np.int64, (NUM_DIGITS,)),
    "inputs": (np.float32, (NUM_INPUTS,)),
}
"""The fields of a buffer for :func:`list_rows`, which writes ``inputs``."""


@kernel
def list_rows(buffer: Record, number: int, left: int, rows: Rows) -> int:
    """Lists the rows of a table with ``number`` levels and ``left`` tiles to come; returns how many."""
    remaining, fits = buffer["remaining"], buffer["fits"]
    rows[0] = _LEFT + min(left, MAX_CARDS)
    count = 1
    cards, digits, best_points = 0, 0, 0
    for digit in range(NUM_DIGITS):
        tiles = remaining[digit]
        rows[count] = _REMAINING + digit * (_COPIES + 1) + min(tiles, _COPIES)
        count += 1
        if tiles == 0:
            continue
        several, best = min(tiles, 2) - 1, 0
        for level in range(1, min(number, _LEVELS) + 1):
            fit_class = _FIT_CLASSES[min(fits[level, digit], len(_FIT_CLASSES) - 1)]
            if fit_class > 0:
                best = level
                kind = (digit * 2 + several) * _LEVELS + level - 1
                rows[count] = _FITS + kind * _NUM_FIT_CLASSES + fit_class - 1
                count += 1
        rows[count] = _BEST + (digit * 2 + several) * (_LEVELS + 1) + best
        count += 1
        cards += tiles
        digits += tiles * digit
        best_points += tiles * digit * best
    for level in range(min(number, _LEVELS + 1)):
        rows[count] = _TILES_ON + level * _TILES + min(buffer["tiles_on"][level], _TILES - 1)
        open_cells = buffer["area"][level] - buffer["area"][level + 1]
        rows[count + 1] = _OPEN + level * _AREAS + min(open_cells // 2, _AREAS - 1)
        count += 2
    inputs, share = buffer["inputs"], left / cards if cards > 0 else 0.0
    inputs[0] = left / 20
    inputs[1] = best_points * share / 60
    inputs[2] = best_points / cards / 10 if cards > 0 else 0.0
    inputs[3] = digits * share / 90
    return count
