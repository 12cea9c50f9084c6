"""Empty cells of a quilt: their joints (pairs of neighbors), neighbors of every cell, and compactness."""

from __future__ import annotations

import numpy as np

from patchwork_env.core.bits import U1, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import QUILT_SIZE
from patchwork_env.patchwork.tables import FULL_WORD, SECOND_WORD_ROW, WORD_ROWS

_U = np.uint64
_ROW = _U(QUILT_SIZE)
ROWS_0_TO_4 = _U((1 << 5 * QUILT_SIZE) - 1)
ROWS_5_TO_8 = _U(((1 << 4 * QUILT_SIZE) - 1) << (5 - SECOND_WORD_ROW) * QUILT_SIZE)
"""Masks of word 0 and word 1 of a quilt, with every cell in exactly one of them."""
_FIRST_ROW = _U((1 << QUILT_SIZE) - 1)
_LAST_ROW = _U((WORD_ROWS - 1) * QUILT_SIZE)  # of a word
_TO_ROW_7 = _U((WORD_ROWS - SECOND_WORD_ROW) * QUILT_SIZE)  # in word 1
_NOT_LAST_COLUMN = _U(sum(1 << bit for bit in range(63) if (bit + 1) % QUILT_SIZE))


@kernel
def count_joints(covered_0: np.uint64, covered_1: np.uint64) -> int:
    """Return the number of joints of a quilt, given as its two words."""
    return _joints(~covered_0 & FULL_WORD, ROWS_0_TO_4) + _joints(~covered_1 & FULL_WORD, ROWS_5_TO_8)


@kernel
def _joints(empty: np.uint64, rows: np.uint64) -> int:
    beside = empty & (empty >> U1) & _NOT_LAST_COLUMN
    below = empty & (empty >> _ROW)
    return popcount(beside & rows) + popcount(below & rows)


Digits = tuple[np.uint64, np.uint64, np.uint64]
"""A number from 0 to 4 for every cell of a word, as three words of binary digits, the lowest first."""


@kernel(inline=True)
def count_neighbors(covered_0: np.uint64, covered_1: np.uint64) -> tuple[Digits, Digits]:
    """Count the empty neighbors of every cell, for both words of a quilt; other bits are undefined."""
    empty_0, empty_1 = ~covered_0 & FULL_WORD, ~covered_1 & FULL_WORD
    above_0, below_0 = empty_0 << _ROW, empty_0 >> _ROW | empty_1 >> _TO_ROW_7 << _LAST_ROW
    above_1, below_1 = empty_1 << _ROW | empty_0 >> _ROW & _FIRST_ROW, empty_1 >> _ROW
    return _add_neighbors(empty_0, above_0, below_0), _add_neighbors(empty_1, above_1, below_1)


@kernel(inline=True)
def _add_neighbors(empty: np.uint64, above: np.uint64, below: np.uint64) -> Digits:
    left, right = (empty & _NOT_LAST_COLUMN) << U1, empty >> U1 & _NOT_LAST_COLUMN
    odd_rows, both_rows, odd_sides, both_sides = above ^ below, above & below, left ^ right, left & right
    twos = both_rows ^ both_sides ^ (odd_rows & odd_sides)
    return odd_rows ^ odd_sides, twos, both_rows & both_sides


@kernel(inline=True)
def compactness(covered_0: np.uint64, covered_1: np.uint64) -> int:
    """Return twice the number of covered cells without an empty neighbor, plus that of cells with one."""
    return _compactness(covered_0, ROWS_0_TO_4) + _compactness(covered_1, ROWS_5_TO_8)


@kernel(inline=True)
def _compactness(covered: np.uint64, rows: np.uint64) -> int:
    empty = ~covered & FULL_WORD
    above, below = empty << _ROW, empty >> _ROW
    left, right = (empty & _NOT_LAST_COLUMN) << U1, empty >> U1 & _NOT_LAST_COLUMN
    ends, sides = above | below, left | right
    several = above & below | left & right | ends & sides
    return popcount(covered & rows & ~(ends | sides)) + popcount(covered & rows & ~several)
