"""The features of a player's table for the learned value: rows of two learned tables and a few numbers.

The relief (:mod:`.relief`) selects rows of the first table. Every other feature has a range of rows in the
second table, and larger numbers count as its last row. The next tile is one of those left, as in a deck of
unknown order.

The placements of ten tiles on a level are counted together, in about two microseconds. The cells of a level
are a string of bits, one row of the level below after another, with three zeros after each row, so that no
tile reaches into the next row. A shift of the string moves it by rows and columns, and a tile fits where all
its cells are free. The free blocks (two or three cells in a line, or four in a square) are computed once for
all tiles. If the level below spans more than :data:`MOST_COLUMNS` columns, or more bits than
:data:`NUM_WORDS` words hold, only its middle is counted.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Rows
from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.nmbr9.actions import NUM_ANCHORS, NUM_TURNS, TABLE_SIZE, cells_at
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.engine import MAX_LEVELS, Levels
from patchwork_env.nmbr9.tables import HEIGHTS, INSIDE, IS_DISTINCT, NUM_PIECES, SHAPES, SIZES, WIDTHS

NUM_WORDS = 6
_PADDING = 3
MOST_COLUMNS = 17  # the most columns: with the padding, three rows and three columns are less than a word


class Tile(NamedTuple):
    """A tile on a table: piece, level, and the top-left corner of its bounding box."""

    piece: int
    level: int
    row: int
    column: int

    @property
    def digit(self) -> int:
        return self.piece // NUM_TURNS

    @property
    def cells(self) -> frozenset[Cell]:
        return cells_at(self.digit, self.piece % NUM_TURNS, self.row, self.column)


class Window(NamedTuple):
    """The part of a level that is counted, the number of bits of a row, and that of words of all rows."""

    top: int
    left: int
    bottom: int
    right: int
    stride: int
    words: int


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

Term = tuple[int, int, int]  # a block, and the row and the column of its first cell


def _cover(shape: Cells) -> tuple[Term, ...]:
    """Return the fewest blocks whose union is a shape."""
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
    """Return the upper pieces that fit into each lower piece, ``(upper, row, column)``; -1 ends each list."""
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
Record = Any  # one element of an array of records, in a kernel

FIT_FIELDS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "free": (np.uint64, (NUM_BLOCKS, NUM_WORDS + 1)),
    "near": (np.uint64, (NUM_BLOCKS, NUM_WORDS + 1)),
    "anchors": (np.uint64, (NUM_PIECES, NUM_WORDS)),
}
"""The fields of a buffer for :func:`count_fits`, besides ``piece``, ``level``, ``row`` and ``column``."""


@kernel
def count_fits(levels: Levels, level: int, placed: int, buffer: Record, wanted: Counts, fits: Counts) -> None:
    """Count the legal placements of every digit on a level above the table itself, into ``fits``, ``(10,)``.

    ``levels`` is the painted table, with ``placed`` tiles; digits whose ``wanted`` is 0 are left out.
    """
    fits[:] = 0
    top, left, bottom, right, supports = box_of(level - 1, placed, buffer)
    if supports < 2:
        return
    window = _window_of(top, left, bottom, right)
    free, near = buffer["free"], buffer["near"]
    is_empty = _write_strings(levels, level, window, free[_SINGLE], near[_SINGLE])
    cells = 0
    for j in range(window.words):
        cells += popcount(free[_SINGLE, j])
    _write_blocks(free, window, True)
    if not is_empty:
        _write_blocks(near, window, False)
    for digit in range(NUM_DIGITS):
        if wanted[digit] > 0 and SIZES[digit] <= cells:
            for turn in range(NUM_TURNS):
                piece = NUM_TURNS * digit + turn
                if IS_DISTINCT[piece]:
                    fits[digit] += _write_anchors(buffer, piece, window, is_empty)
    _discount_single_supports(buffer, level, placed, window, fits)


@kernel(inline=True)
def tile_of(action: int, digit: int, level: int) -> Tile:
    """Return the tile of a digit that an action places on a level."""
    anchor = action % NUM_ANCHORS
    piece = NUM_TURNS * digit + action // NUM_ANCHORS
    return Tile(piece, level, anchor // TABLE_SIZE, anchor % TABLE_SIZE)


@kernel
def box_of(level: int, placed: int, buffer: Record) -> tuple[int, int, int, int, int]:
    """Return the first row and column of a level, those past the last, and the number of its tiles."""
    top, left, bottom, right, number = 1 << 20, 1 << 20, 0, 0, 0
    for t in range(placed):
        if buffer["level"][t] == level:
            row, column, piece = buffer["row"][t], buffer["column"][t], buffer["piece"][t]
            top, left = min(top, row), min(left, column)
            bottom, right = max(bottom, row + HEIGHTS[piece]), max(right, column + WIDTHS[piece])
            number += 1
    return top, left, bottom, right, number


@kernel(inline=True)
def _window_of(top: int, left: int, bottom: int, right: int) -> Window:
    """Return the largest middle part of a box that can be counted."""
    if right - left > MOST_COLUMNS:
        left += (right - left - MOST_COLUMNS) // 2
        right = left + MOST_COLUMNS
    stride = right - left + _PADDING
    most_rows = 64 * NUM_WORDS // stride
    if bottom - top > most_rows:
        top += (bottom - top - most_rows) // 2
        bottom = top + most_rows
    return Window(top, left, bottom, right, stride, (stride * (bottom - top) + 63) // 64)


@kernel
def _write_strings(levels: Levels, level: int, window: Window, free: Words, near: Words) -> bool:
    """Write the free cells of a level, and those next to its tiles; return whether the level is empty."""
    free[: window.words + 1] = _U0
    near[: window.words + 1] = _U0
    left, mask = _U(window.left), (_U1 << _U(window.stride - _PADDING)) - _U1
    any_cover = _U0
    for row in range(window.top, window.bottom):
        cover = levels[level, row]
        around = levels[level, row - 1] | levels[level, row + 1]
        any_cover |= cover | around
        open_cells = levels[level - 1, row] & ~cover
        beside = (cover << _U1) | (cover >> _U1) | around
        position = (row - window.top) * window.stride
        _write_bits(free, position, (open_cells >> left) & mask)
        _write_bits(near, position, ((open_cells & beside) >> left) & mask)
    return bool(any_cover == _U0)


@kernel(inline=True)
def _write_bits(words: Words, position: int, bits: np.uint64) -> None:
    word, shift = position >> 6, _U(position & 63)
    words[word] |= bits << shift
    words[word + 1] |= (bits >> _U1) >> (_U63 - shift)


@kernel(inline=True)
def _shifted(words: Words, j: int, shift: np.uint64) -> np.uint64:
    """Return word ``j`` of a string that is shifted down by less than 64 bits."""
    return np.uint64((words[j] >> shift) | ((words[j + 1] << _U1) << (_U63 - shift)))


@kernel(inline=True)
def _write_blocks(strings: Words, window: Window, all_of: bool) -> None:
    """Write where all cells of each block are set, or any of them, from the bits of single cells."""
    _join(strings, _ROW_2, _SINGLE, 1, window.words, all_of)
    _join(strings, _COLUMN_2, _SINGLE, window.stride, window.words, all_of)
    _join(strings, _ROW_3, _ROW_2, 1, window.words, all_of)
    _join(strings, _COLUMN_3, _COLUMN_2, window.stride, window.words, all_of)
    _join(strings, _SQUARE, _ROW_2, window.stride, window.words, all_of)


@kernel(inline=True)
def _join(strings: Words, out: int, block: int, shift: int, words: int, all_of: bool) -> None:
    """Join a block with its shifted copy to a larger block."""
    for j in range(words):
        other = _shifted(strings[block], j, _U(shift))
        strings[out, j] = strings[block, j] & other if all_of else strings[block, j] | other
    strings[out, words] = _U0


@kernel(inline=True)
def _write_anchors(buffer: Record, piece: int, window: Window, is_empty: bool) -> int:
    """Write where a piece fits and touches tiles of the level; return the number of places."""
    free, near, anchors = buffer["free"], buffer["near"], buffer["anchors"]
    count = 0
    for j in range(window.words):
        fitting = ~_U0
        for k in range(_NUM_TERMS[piece]):
            shift = _U(_TERMS[piece, k, 1] * window.stride + _TERMS[piece, k, 2])
            fitting &= _shifted(free[_TERMS[piece, k, 0]], j, shift)
        if fitting != _U0 and not is_empty:
            touching = _U0
            for k in range(_NUM_TERMS[piece]):
                shift = _U(_TERMS[piece, k, 1] * window.stride + _TERMS[piece, k, 2])
                touching |= _shifted(near[_TERMS[piece, k, 0]], j, shift)
            fitting &= touching
        anchors[piece, j] = fitting
        count += popcount(fitting)
    return count


@kernel
def _discount_single_supports(buffer: Record, level: int, placed: int, window: Window, fits: Counts) -> None:
    """Subtract the placements that would rest on a single tile."""
    for t in range(placed):
        if buffer["level"][t] != level - 1:
            continue
        entries = _INSIDE_LISTS[buffer["piece"][t]]
        k = 0
        while entries[k, 0] >= 0:
            digit = entries[k, 0] // NUM_TURNS
            row, column = buffer["row"][t] + entries[k, 1], buffer["column"][t] + entries[k, 2]
            inside = window.top <= row < window.bottom and window.left <= column < window.right
            if inside and fits[digit] > 0:
                position = (row - window.top) * window.stride + column - window.left
                word = buffer["anchors"][entries[k, 0], position >> 6]
                fits[digit] -= int(np.int64((word >> _U(position & 63)) & _U1))
            k += 1


# --- features ---------------------------------------------------------------------------------------------

_COPIES = 3  # larger numbers of tiles left of a digit count as this one
_LEVELS = 7  # higher levels count as this one; level 0 is the table itself
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
NUM_FEATURES = _OPEN + (_LEVELS + 1) * _AREAS  # the number of rows of the table of features
MAX_ROWS = 1 + 2 * NUM_DIGITS + NUM_DIGITS * _LEVELS + 2 * (_LEVELS + 1)  # the most rows of a table
NUM_INPUTS = 4  # the number of inputs besides the rows

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
    """List the rows of a table with ``number`` levels and ``left`` tiles to come; return their number."""
    remaining, fits = buffer["remaining"], buffer["fits"]
    rows[0] = _LEFT + left
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
