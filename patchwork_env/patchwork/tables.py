"""Tables for the compiled rules: shapes as bits of quilt words, prices, and marks of the time track.

:mod:`~patchwork_env.patchwork.state` explains the two words of a quilt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.polyomino import NUM_ORIENTATIONS, Cell
from patchwork_env.patchwork.actions import DISTINCT, ORIENTED, fits
from patchwork_env.patchwork.components import (
    BONUS_SQUARE,
    INCOME_SPACES,
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    PATCHES,
    QUILT_SIZE,
    SPECIAL_SPACES,
)

WORD_ROWS = 7
"""The number of rows in a word of a quilt."""
SECOND_WORD_ROW = QUILT_SIZE - WORD_ROWS
"""The first row of word 1 of a quilt, and of the anchors in it."""
FULL_WORD = np.uint64((1 << (WORD_ROWS * QUILT_SIZE)) - 1)
"""The word of a quilt in which all cells are covered."""
_MAX_SIZE = max(patch.size for patch in PATCHES)


def _bits(cells: Any, first_row: int = 0) -> int:
    return sum(1 << ((row - first_row) * QUILT_SIZE + column) for row, column in cells)


def _anchors_that_fit(patch: int, orientation: int) -> tuple[int, int]:
    """Return the anchors on an empty quilt as two words; 0 for an orientation that repeats a lower one."""
    cells = DISTINCT[patch].get(orientation)
    if cells is None:
        return 0, 0
    anchors = [divmod(a, QUILT_SIZE) for a in range(NUM_CELLS) if fits(cells, *divmod(a, QUILT_SIZE))]
    upper = [anchor for anchor in anchors if anchor[0] < SECOND_WORD_ROW]
    lower = [anchor for anchor in anchors if anchor[0] >= SECOND_WORD_ROW]
    return _bits(upper), _bits(lower, SECOND_WORD_ROW)


def _shift_table() -> npt.NDArray[np.uint64]:
    table = np.zeros((NUM_PATCHES, _MAX_SIZE, NUM_ORIENTATIONS), np.uint64)
    for patch, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            shifts = [row * QUILT_SIZE + column for row, column in cells]
            table[patch, :, orientation] = shifts + shifts[:1] * (_MAX_SIZE - len(cells))
    return table


def _fit_table() -> npt.NDArray[np.uint64]:
    pairs = [[_anchors_that_fit(p, o) for o in range(NUM_ORIENTATIONS)] for p in range(NUM_PATCHES)]
    return np.ascontiguousarray(np.array(pairs, np.uint64).transpose(0, 2, 1))


def _square_table() -> npt.NDArray[np.uint64]:
    span = range(BONUS_SQUARE)
    corners = [divmod(a, QUILT_SIZE - BONUS_SQUARE + 1) for a in range((QUILT_SIZE - BONUS_SQUARE + 1) ** 2)]
    squares: list[list[Cell]] = [[(top + r, left + c) for r in span for c in span] for top, left in corners]
    upper = [_bits(cell for cell in square if cell[0] < WORD_ROWS) for square in squares]
    lower = [_bits((c for c in square if c[0] >= SECOND_WORD_ROW), SECOND_WORD_ROW) for square in squares]
    return np.array([upper, lower], np.uint64).T.copy()


def _marks_up_to(marks: tuple[int, ...]) -> list[int]:
    return [sum(mark <= space for mark in marks) for space in range(LAST_SPACE + 1)]


SHIFTS = _shift_table()
"""``SHIFTS[patch, cell, orientation]``: a cell's bit counted from the anchor; small patches repeat a cell."""
FITS = _fit_table()
"""``FITS[patch, word, orientation]``: the anchors on an empty quilt."""
FOOTPRINTS = np.array([[_bits(cells) for cells in oriented] for oriented in ORIENTED], np.uint64)
"""``FOOTPRINTS[patch, orientation]``: the cells of a patch whose anchor is bit 0."""
SQUARES = _square_table()
"""``SQUARES[square, word]``: the cells of each 7x7 square."""
SIZES = np.array([patch.size for patch in PATCHES], np.int64)
PRICES = np.array([patch.buttons for patch in PATCHES], np.int16)
TIMES = np.array([patch.time for patch in PATCHES], np.int16)
INCOMES = np.array([patch.income for patch in PATCHES], np.uint8)
INCOMES_UP_TO = np.array(_marks_up_to(INCOME_SPACES), np.uint8)
"""``INCOMES_UP_TO[space]``: the number of income marks reached or passed by a token on that space."""
SPECIALS_UP_TO = np.array([_marks_up_to(spaces) for spaces in SPECIAL_SPACES.values()], np.uint8)
"""``SPECIALS_UP_TO[variant, space]``: the number of spaces with special patches reached or passed."""
