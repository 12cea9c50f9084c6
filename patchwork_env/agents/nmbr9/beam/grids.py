"""Grids of 16x16 cells as four 64-bit words, and all places of all pieces on them.

Cell ``16 * row + column`` is bit ``cell % 64`` of word ``cell // 64``. The upper levels of good stacks fit
in, as each is made of few tiles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import extent
from patchwork_env.nmbr9.tables import NUM_PIECES, SHAPES

SIDE = 16
NUM_CELLS = SIDE * SIDE
NUM_WORDS = NUM_CELLS // 64

Grid = npt.NDArray[np.uint64]
"""The cells of a set as bits, shape ``(NUM_WORDS,)``."""

_U = np.uint64
_U1 = _U(1)
_ROW, _LAST = _U(SIDE), _U(64 - SIDE)
_NOT_LAST_COLUMN = _U(0x7FFF7FFF7FFF7FFF)
_NOT_FIRST_COLUMN = _U(0xFFFEFFFEFFFEFFFE)


def _places() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    grids = np.zeros((NUM_PIECES, NUM_CELLS, NUM_WORDS), np.uint64)
    fits = np.zeros((NUM_PIECES, NUM_CELLS), np.bool_)
    for piece, shape in enumerate(SHAPES):
        height, width = extent(shape)
        for row in range(SIDE - height + 1):
            for column in range(SIDE - width + 1):
                anchor = SIDE * row + column
                fits[piece, anchor] = True
                for down, right in shape:
                    cell = anchor + SIDE * down + right
                    grids[piece, anchor, cell // 64] |= _U(1 << cell % 64)
    return grids, fits


PLACES, FITS = _places()
"""``PLACES[piece, anchor]`` is the grid of the cells that a piece covers if its bounding box begins in the
cell ``anchor``; ``FITS[piece, anchor]`` says whether all of them lie on the grid."""


@kernel(inline=True)
def count(grid: Grid) -> int:
    """The number of cells of a grid."""
    return popcount(grid[0]) + popcount(grid[1]) + popcount(grid[2]) + popcount(grid[3])


@kernel(inline=True)
def common(a: Grid, b: Grid) -> int:
    """The number of cells in both grids."""
    return popcount(a[0] & b[0]) + popcount(a[1] & b[1]) + popcount(a[2] & b[2]) + popcount(a[3] & b[3])


@kernel(inline=True)
def overlap(a: Grid, b: Grid) -> bool:
    """Whether any cell is in both grids."""
    return bool((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3]))


@kernel(inline=True)
def contains(a: Grid, b: Grid) -> bool:
    """Whether all cells of ``b`` are in ``a``."""
    return not bool((b[0] & ~a[0]) | (b[1] & ~a[1]) | (b[2] & ~a[2]) | (b[3] & ~a[3]))


@kernel(inline=True)
def has(grid: Grid, cell: int) -> bool:
    """Whether a cell is in the grid."""
    return bool((grid[cell >> 6] >> _U(cell & 63)) & _U1)


@kernel
def write_union(a: Grid, b: Grid, out: Grid) -> None:
    """Writes the cells that are in at least one of two grids."""
    for k in range(NUM_WORDS):
        out[k] = a[k] | b[k]


@kernel
def write_neighbors(grid: Grid, out: Grid) -> None:
    """Writes the cells that share an edge with a cell of the grid."""
    for k in range(NUM_WORDS):
        word = grid[k]
        near = (word << _ROW) | (word >> _ROW)
        near |= ((word >> _U1) & _NOT_LAST_COLUMN) | ((word << _U1) & _NOT_FIRST_COLUMN)
        if k > 0:
            near |= grid[k - 1] >> _LAST
        if k < NUM_WORDS - 1:
            near |= grid[k + 1] << _LAST
        out[k] = near


@kernel
def perimeter(grid: Grid) -> int:
    """The number of unit edges between cells in the grid and cells that are not."""
    joints = 0
    for k in range(NUM_WORDS):
        word = grid[k]
        above = word >> _ROW
        if k < NUM_WORDS - 1:
            above |= grid[k + 1] << _LAST
        joints += popcount(word & (word >> _U1) & _NOT_LAST_COLUMN) + popcount(word & above)
    return 4 * count(grid) - 2 * joints
