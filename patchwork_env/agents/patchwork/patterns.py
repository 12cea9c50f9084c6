"""The patterns in small windows of a quilt, as rows of one table.

A quilt is seen through 81 windows of 3x3 cells, one around each cell, and 64 windows of 4x4 cells, one at
each place at which it shows at most one row and one column beyond the border. Cells beyond the border count
as covered. Two windows that are turns or flips of each other share a row, so that all eight symmetric views
of a quilt have the same rows. The rows of the 3x3 windows also depend on the distance of their middle from
the border.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Rows
from patchwork_env.patchwork.components import NUM_CELLS, QUILT_SIZE
from patchwork_env.patchwork.tables import SECOND_WORD_ROW, WORD_ROWS

_PADDED = QUILT_SIZE + 2  # rows and columns of a quilt with its border
_LARGE = _PADDED - 3  # windows of 4x4 cells along a side
NUM_WINDOWS = NUM_CELLS + _LARGE**2
NUM_BANDS = QUILT_SIZE

Bands = npt.NDArray[np.uint64]
"""A quilt with its border, ``(NUM_BANDS,)``: band ``k`` holds the rows from ``k`` on, four of them, the last
band three. Each takes 16 bits, of which bit ``column`` says whether a cell is covered. The first row and the
first column are border."""


def _kinds_of_windows(size: int) -> npt.NDArray[np.int32]:
    """Numbers all patterns of ``size`` x ``size`` bits so that symmetric ones have the same number."""
    patterns = np.arange(1 << size**2)
    bits = (patterns[:, None] >> np.arange(size**2) & 1).reshape(-1, size, size)
    weights = 1 << np.arange(size**2).reshape(size, size)
    views = [np.rot90(flipped, turns, (0, 1)) for flipped in (weights, weights.T) for turns in range(4)]
    lowest = np.min([np.tensordot(bits, view, 2) for view in views], axis=0)
    return np.unique(lowest, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _rings() -> npt.NDArray[np.int32]:
    """The distance of each cell from the border."""
    along = np.minimum(np.arange(QUILT_SIZE), np.arange(QUILT_SIZE)[::-1])
    return np.minimum(along[:, None], along[None, :]).astype(np.int32)


_SMALL_KINDS = _kinds_of_windows(3)
_NUM_SMALL_KINDS = int(_SMALL_KINDS.max()) + 1
_RINGS = _rings()
_FIRST_LARGE_ROW = (int(_RINGS.max()) + 1) * _NUM_SMALL_KINDS
_LARGE_ROWS = _FIRST_LARGE_ROW + _kinds_of_windows(4)
_SMALL_ROWS = _RINGS * _NUM_SMALL_KINDS
NUM_ROWS = int(_LARGE_ROWS.max()) + 1
"""The number of rows of the table."""

_U = np.uint64
_ROW_MASK = _U((1 << QUILT_SIZE) - 1)
_BORDER_ROW = _U((1 << _PADDED) - 1)
_SIDES = _U(1 | 1 << (_PADDED - 1))
_LANE = _U(16)
_LAST_LANE = _U(48)
# A window in the low bits of each lane, and factors that gather its rows side by side in the product.
_SMALL_MASK, _SMALL_FACTOR, _SMALL_SHIFT = _U(0x000700070007), _U(1 | 1 << 13 | 1 << 26), _U(26)
_LARGE_MASK, _LARGE_FACTOR, _LARGE_SHIFT = _U(0x000F000F000F000F), _U(1 | 1 << 12 | 1 << 24 | 1 << 36), _U(36)
_SMALL_PATTERN, _LARGE_PATTERN = _U((1 << 9) - 1), _U((1 << 16) - 1)


@kernel(inline=True)
def write_bands(word_0: np.uint64, word_1: np.uint64, bands: Bands) -> None:
    """Writes a quilt, given by its two words, with the border around it."""
    band = _BORDER_ROW << _LAST_LANE
    for row in range(_PADDED - 1):
        if row < WORD_ROWS:
            bits = (word_0 >> _U(row * QUILT_SIZE)) & _ROW_MASK
        elif row < QUILT_SIZE:
            bits = (word_1 >> _U((row - SECOND_WORD_ROW) * QUILT_SIZE)) & _ROW_MASK
        else:
            bits = _ROW_MASK
        band = band >> _LANE | (bits << _U(1) | _SIDES) << _LAST_LANE
        if row >= 2:
            bands[row - 2] = band
    bands[NUM_BANDS - 1] = band >> _LANE


@kernel(inline=True)
def _small_row(bands: Bands, row: int, column: int) -> int:
    """The table row of the 3x3 window around a cell."""
    window = bands[row] >> _U(column) & _SMALL_MASK
    pattern = window * _SMALL_FACTOR >> _SMALL_SHIFT & _SMALL_PATTERN
    return int(_SMALL_ROWS[row, column] + _SMALL_KINDS[pattern])


@kernel(inline=True)
def _large_row(bands: Bands, row: int, column: int) -> int:
    """The table row of the 4x4 window with a corner at this row and column, counted from the border."""
    window = bands[row] >> _U(column) & _LARGE_MASK
    pattern = window * _LARGE_FACTOR >> _LARGE_SHIFT & _LARGE_PATTERN
    return int(_LARGE_ROWS[pattern])


@kernel
def list_rows(bands: Bands, rows: Rows) -> None:
    """Writes the table rows of all windows, int32 ``(NUM_WINDOWS,)``."""
    for row in range(QUILT_SIZE):
        for column in range(QUILT_SIZE):
            rows[row * QUILT_SIZE + column] = _small_row(bands, row, column)
    for row in range(_LARGE):
        for column in range(_LARGE):
            rows[NUM_CELLS + row * _LARGE + column] = _large_row(bands, row, column)


@kernel(inline=True)
def list_changes(before: Bands, after: Bands, rows: Rows, old: Rows, new: Rows) -> int:
    """Lists what changes in the windows when cells of a quilt are covered.

    ``rows`` are the table rows of all windows before; see :func:`list_rows`. Of these, ``old`` go and ``new``
    come in their places; returns their number.
    """
    count = 0
    for row in range(NUM_BANDS):
        difference = before[row] ^ after[row]
        if difference == 0:
            continue
        first, last = _span(difference)
        for column in range(max(first - 2, 0), min(last, QUILT_SIZE - 1) + 1):
            window = row * QUILT_SIZE + column
            count = _note_change(rows[window], _small_row(after, row, column), old, new, count)
        if row == _LARGE:
            continue
        for column in range(max(first - 3, 0), min(last, _LARGE - 1) + 1):
            window = NUM_CELLS + row * _LARGE + column
            count = _note_change(rows[window], _large_row(after, row, column), old, new, count)
    return count


@kernel(inline=True)
def _span(band: np.uint64) -> tuple[int, int]:
    """The first and the last column with a one in any row of a band that is not 0."""
    columns = (band | band >> _LANE | band >> _U(32) | band >> _LAST_LANE) & _BORDER_ROW
    below = columns | columns >> _U(1)
    below |= below >> _U(2)
    below |= below >> _U(4)
    below |= below >> _U(8)
    return lowest_bit(columns), popcount(below) - 1


@kernel(inline=True)
def _note_change(old_row: int, new_row: int, old: Rows, new: Rows, count: int) -> int:
    old[count], new[count] = old_row, new_row
    return count + (old_row != new_row)
