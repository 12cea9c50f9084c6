"""The number of ways in which each tile fits on a level, counted in about a fifth of a microsecond.

The rules themselves are in :mod:`patchwork_env.nmbr9.engine`, which lists placements one by one; here they
are only counted, of ten tiles at once and thousands of times per move. The cells of a level are a string of
bits, row after row of the level below, with three zeros behind each row, so that no tile reaches from the end
of one row into the next. A shift of the string moves it by rows and columns, and a tile fits where all its
cells are free. Cells are looked up in blocks: where two or three cells in a line are free, or four in a
square, is computed once for all tiles.

Of a level that lies above more than :data:`MOST_COLUMNS` columns, or above more bits than :data:`NUM_WORDS`
words have, only the middle is counted.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import Levels
from patchwork_env.nmbr9.tables import HEIGHTS, INSIDE, IS_DISTINCT, NUM_PIECES, SHAPES, SIZES, WIDTHS

NUM_WORDS = 6
_PADDING = 3
MOST_COLUMNS = 17
"""The most columns: with the padding, three rows and three columns are less than a word."""

_BLOCKS: tuple[Cells, ...] = (
    ((0, 0),),
    ((0, 0), (0, 1)),
    ((0, 0), (1, 0)),
    ((0, 0), (0, 1), (0, 2)),
    ((0, 0), (1, 0), (2, 0)),
    ((0, 0), (0, 1), (1, 0), (1, 1)),
)
NUM_BLOCKS = len(_BLOCKS)
_SINGLE, _ROW_2, _COLUMN_2, _ROW_3, _COLUMN_3, _SQUARE = range(NUM_BLOCKS)

Term = tuple[int, int, int]
"""A block, and the row and the column of its first cell."""


def _cover(shape: Cells) -> tuple[Term, ...]:
    """The fewest blocks whose union is a shape."""
    cells = frozenset(shape)
    places: dict[Term, frozenset[Cell]] = {}
    for block, (row, column) in itertools.product(range(NUM_BLOCKS), cells):
        covered = frozenset((row + r, column + c) for r, c in _BLOCKS[block])
        if covered <= cells:
            places[block, row, column] = covered
    for number in range(1, len(cells) + 1):
        for terms in itertools.combinations(places, number):
            if frozenset().union(*(places[term] for term in terms)) == cells:
                return terms
    raise AssertionError("single cells cover every shape")


_COVERS = [_cover(shape) for shape in SHAPES]
_NUM_TERMS = np.array([len(terms) for terms in _COVERS], np.int64)
_TERMS = np.zeros((NUM_PIECES, int(_NUM_TERMS.max()), 3), np.int64)
for _piece, _terms in enumerate(_COVERS):
    _TERMS[_piece, : len(_terms)] = _terms


def _list_inside() -> npt.NDArray[np.int64]:
    """The upper pieces that fit into each lower piece, ``(upper, row, column)``; -1 ends each list."""
    lists: list[list[tuple[int, int, int]]] = [[] for _ in range(NUM_PIECES)]
    for upper, lower in itertools.product(range(NUM_PIECES), repeat=2):
        if IS_DISTINCT[upper]:
            places = int(INSIDE[upper, lower])
            lists[lower] += [(upper, *divmod(bit, 4)) for bit in range(16) if places >> bit & 1]
    table = np.full((NUM_PIECES, max(map(len, lists)) + 1, 3), -1, np.int64)
    for lower, entries in enumerate(lists):
        table[lower, : len(entries)] = np.array(entries, np.int64).reshape(-1, 3)
    return table


_INSIDE_LISTS = _list_inside()

_U = np.uint64
_U0, _U1, _U63 = _U(0), _U(1), _U(63)

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Record = Any
"""One element of an array of records, in a kernel."""

FIELDS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "free": (np.uint64, (NUM_BLOCKS, NUM_WORDS + 1)),
    "near": (np.uint64, (NUM_BLOCKS, NUM_WORDS + 1)),
    "anchors": (np.uint64, (NUM_PIECES, NUM_WORDS)),
}
"""The fields of a buffer that :func:`count_fits` needs, besides ``piece``, ``level``, ``row`` and ``column``
of the tiles."""


@kernel
def count_fits(levels: Levels, level: int, placed: int, buffer: Record, wanted: Counts, fits: Counts) -> None:
    """Counts the legal placements of every digit on a level above the table itself, into ``fits``, ``(10,)``.

    ``levels`` is the painted table, with ``placed`` tiles. ``wanted``, ``(10,)``, is 0 for digits to leave
    out, whose number is 0. The buffer holds the tiles and the fields of :data:`FIELDS`.
    """
    fits[:] = 0
    top, left, bottom, right, supports = box_of(level - 1, placed, buffer)
    if supports < 2:
        return
    if right - left > MOST_COLUMNS:
        left += (right - left - MOST_COLUMNS) // 2
        right = left + MOST_COLUMNS
    stride = right - left + _PADDING
    most_rows = 64 * NUM_WORDS // stride
    if bottom - top > most_rows:
        top += (bottom - top - most_rows) // 2
        bottom = top + most_rows
    number = (stride * (bottom - top) + 63) // 64
    free, near = buffer["free"], buffer["near"]
    is_empty = _write_strings(levels, level, top, left, bottom, stride, number, free[_SINGLE], near[_SINGLE])
    cells = 0
    for j in range(number):
        cells += popcount(free[_SINGLE, j])
    _write_blocks(free, number, stride, True)
    if not is_empty:
        _write_blocks(near, number, stride, False)
    for digit in range(NUM_DIGITS):
        if wanted[digit] > 0 and SIZES[digit] <= cells:
            for turn in range(NUM_TURNS):
                piece = NUM_TURNS * digit + turn
                if IS_DISTINCT[piece]:
                    fits[digit] += _write_anchors(buffer, piece, number, stride, is_empty)
    _discount_single_supports(buffer, level, placed, top, left, bottom, right, stride, wanted, fits)


@kernel
def box_of(level: int, placed: int, buffer: Record) -> tuple[int, int, int, int, int]:
    """The first row and column of a level, those behind the last, and the number of its tiles."""
    top, left, bottom, right, number = 1 << 20, 1 << 20, 0, 0, 0
    for t in range(placed):
        if buffer["level"][t] == level:
            row, column, piece = buffer["row"][t], buffer["column"][t], buffer["piece"][t]
            top, left = min(top, row), min(left, column)
            bottom, right = max(bottom, row + HEIGHTS[piece]), max(right, column + WIDTHS[piece])
            number += 1
    return top, left, bottom, right, number


@kernel
def _write_strings(
    levels: Levels,
    level: int,
    top: int,
    left: int,
    bottom: int,
    stride: int,
    number: int,
    free: Words,
    near: Words,
) -> bool:
    """Writes the free cells of a level, and those next to its tiles; returns whether the level is empty."""
    free[: number + 1] = _U0
    near[: number + 1] = _U0
    mask = (_U1 << _U(stride - _PADDING)) - _U1
    any_cover = _U0
    for row in range(top, bottom):
        cover = levels[level, row]
        any_cover |= cover | levels[level, row - 1] | levels[level, row + 1]
        beside = (cover << _U1) | (cover >> _U1) | levels[level, row - 1] | levels[level, row + 1]
        open_cells = levels[level - 1, row] & ~cover
        position = (row - top) * stride
        _write_bits(free, position, (open_cells >> _U(left)) & mask)
        _write_bits(near, position, ((open_cells & beside) >> _U(left)) & mask)
    return bool(any_cover == _U0)


@kernel(inline=True)
def _write_bits(words: Words, position: int, bits: np.uint64) -> None:
    word, shift = position >> 6, _U(position & 63)
    words[word] |= bits << shift
    words[word + 1] |= (bits >> _U1) >> (_U63 - shift)


@kernel(inline=True)
def _shifted(words: Words, j: int, shift: np.uint64) -> np.uint64:
    """Word ``j`` of a string that is shifted down by less than 64 bits."""
    return np.uint64((words[j] >> shift) | ((words[j + 1] << _U1) << (_U63 - shift)))


@kernel(inline=True)
def _write_blocks(strings: npt.NDArray[np.uint64], number: int, stride: int, all_of: bool) -> None:
    """Writes where all cells of each block have their bit, or where any of them has, from single cells."""
    _join(strings, _ROW_2, _SINGLE, _SINGLE, number, 1, all_of)
    _join(strings, _COLUMN_2, _SINGLE, _SINGLE, number, stride, all_of)
    _join(strings, _ROW_3, _ROW_2, _ROW_2, number, 1, all_of)
    _join(strings, _COLUMN_3, _COLUMN_2, _COLUMN_2, number, stride, all_of)
    _join(strings, _SQUARE, _ROW_2, _ROW_2, number, stride, all_of)


@kernel(inline=True)
def _join(
    strings: npt.NDArray[np.uint64], out: int, first: int, second: int, number: int, shift: int, all_of: bool
) -> None:
    for j in range(number):
        other = _shifted(strings[second], j, _U(shift))
        strings[out, j] = strings[first, j] & other if all_of else strings[first, j] | other
    strings[out, number] = _U0


@kernel(inline=True)
def _write_anchors(buffer: Record, piece: int, number: int, stride: int, is_empty: bool) -> int:
    """Writes where a piece fits and touches tiles of the level; returns the number of places."""
    free, near, anchors = buffer["free"], buffer["near"], buffer["anchors"]
    count = 0
    for j in range(number):
        fitting = ~_U0
        for k in range(_NUM_TERMS[piece]):
            shift = _U(_TERMS[piece, k, 1] * stride + _TERMS[piece, k, 2])
            fitting &= _shifted(free[_TERMS[piece, k, 0]], j, shift)
        if fitting != _U0 and not is_empty:
            touching = _U0
            for k in range(_NUM_TERMS[piece]):
                shift = _U(_TERMS[piece, k, 1] * stride + _TERMS[piece, k, 2])
                touching |= _shifted(near[_TERMS[piece, k, 0]], j, shift)
            fitting &= touching
        anchors[piece, j] = fitting
        count += popcount(fitting)
    return count


@kernel
def _discount_single_supports(
    buffer: Record,
    level: int,
    placed: int,
    top: int,
    left: int,
    bottom: int,
    right: int,
    stride: int,
    wanted: Counts,
    fits: Counts,
) -> None:
    """Subtracts the placements that would rest on a single tile."""
    for t in range(placed):
        if buffer["level"][t] != level - 1:
            continue
        entries = _INSIDE_LISTS[buffer["piece"][t]]
        k = 0
        while entries[k, 0] >= 0:
            digit = entries[k, 0] // NUM_TURNS
            row, column = buffer["row"][t] + entries[k, 1], buffer["column"][t] + entries[k, 2]
            inside = top <= row < bottom and left <= column < right
            if inside and wanted[digit] > 0 and fits[digit] > 0:
                position = (row - top) * stride + column - left
                word = buffer["anchors"][entries[k, 0], position >> 6]
                fits[digit] -= int(np.int64((word >> _U(position & 63)) & _U1))
            k += 1
