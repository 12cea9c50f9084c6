"""Shapes to place on one quilt, all their placements as tables, and the sets of tiles of the experiment.

Shapes 0-32 are those of the patches and shape 33 is a single cell. A quilt is its two words of covered cells;
see :mod:`~patchwork_env.patchwork.state`. Every placement lies within one of the words, so one word says all
of it: word 0 for a placement whose top row is 0 or 1, word 1 for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.polyomino import Cells, orient, orientations
from patchwork_env.patchwork.actions import DISTINCT, fits
from patchwork_env.patchwork.components import NUM_CELLS, NUM_PATCHES, PATCHES, QUILT_SIZE
from patchwork_env.patchwork.tables import SECOND_WORD_ROW

SINGLE_CELL = NUM_PATCHES
"""The shape of the five special patches."""
NUM_SHAPES = NUM_PATCHES + 1
_SQUARE, _CORNER = 9, 1  # shapes

_SPECIAL_PATCHES = (SINGLE_CELL,) * 5
TILE_SETS = {
    "published": tuple(_CORNER if s == _SQUARE else s for s in range(NUM_PATCHES)) + _SPECIAL_PATCHES,
    "patchwork": tuple(range(NUM_PATCHES)) + _SPECIAL_PATCHES,
}
"""The 38 shapes of an experiment. ``"patchwork"`` is the game: 171 cells. The program behind arXiv 2001.04233
has a third 3-cell corner where the game has the 2x2 square: 170 cells. ``"published"`` repeats that."""
NUM_TILES = len(TILE_SETS["patchwork"])

_SHAPES: tuple[Cells, ...] = (*(patch.cells for patch in PATCHES), ((0, 0),))
_DISTINCT: tuple[dict[int, Cells], ...] = (*DISTINCT, orientations(_SHAPES[SINGLE_CELL]))
SIZES = np.array([len(cells) for cells in _SHAPES], np.int64)
"""``SIZES[shape]``: number of cells."""

_FIRST_ORIENTATIONS = (
    *(0, 2, 0, 2, 2, 4, 0, 2, 2, 0, 4, 2, 2, 4, 2, 0, 3),
    *(0, 2, 1, 0, 5, 2, 4, 3, 4, 3, 2, 4, 2, 1, 1, 0, 0),
)
"""Per shape the orientation in which the published program lists it first."""
_NEXT_ORIENTATIONS = (0, 1, 2, 3, 4, 6, 7, 5)
"""The changes of the first one, in turn: quarter turns, flips along the axes, flips along the diagonals."""


class _Placement(NamedTuple):
    """A placement on the quilt: which orientation the published program counts it to, and where it lies."""

    orientation: int
    top: int
    left: int
    cells: Cells

    @property
    def is_upper(self) -> bool:
        """Whether the placement lies in word 0."""
        return self.top < SECOND_WORD_ROW

    @property
    def word(self) -> int:
        """The bits of the placement in its word."""
        first_row = 0 if self.is_upper else SECOND_WORD_ROW
        return sum(1 << ((row - first_row) * QUILT_SIZE + column) for row, column in self.cells)


def _published_orientations(shape: int) -> list[Cells]:
    """The distinct orientations of a shape in the order of the published program."""
    first = orient(_SHAPES[shape], _FIRST_ORIENTATIONS[shape])
    return list(dict.fromkeys(orient(first, g) for g in _NEXT_ORIENTATIONS))


def _placements_of(shape: int) -> Iterator[_Placement]:
    order = _published_orientations(shape)
    for cells in _DISTINCT[shape].values():
        for top, left in (divmod(cell, QUILT_SIZE) for cell in range(NUM_CELLS)):
            if fits(cells, top, left):
                moved = tuple((top + row, left + column) for row, column in cells)
                yield _Placement(order.index(cells), top, left, moved)


_PLACEMENTS = [sorted(_placements_of(shape), key=lambda p: p.cells) for shape in range(NUM_SHAPES)]
_ALL = [placement for placements in _PLACEMENTS for placement in placements]


def _start_table() -> npt.NDArray[np.int64]:
    table = np.zeros((NUM_SHAPES + 1, 2), np.int64)
    first = 0
    for shape, placements in enumerate(_PLACEMENTS):
        table[shape] = first, first + sum(p.is_upper for p in placements)
        first += len(placements)
    table[NUM_SHAPES] = first
    return table


def _rank_table() -> npt.NDArray[np.int64]:
    """Each row orders the placements of every shape in a way of its own."""
    weights = [(0, 0), (QUILT_SIZE, 1), (1, QUILT_SIZE)]
    corners = [[left * p.left + top * p.top for p in _ALL] for left, top in weights]
    return np.array(corners, np.int64) * len(_ALL) + np.arange(len(_ALL))


WORDS = np.array([placement.word for placement in _ALL], np.uint64)
"""``WORDS[placement]``: the cells in the word of the placement. The placements of a shape are in the order of
reading: of two, the one that covers the first cell in which they differ, row by row, comes first."""
STARTS = _start_table()
"""``STARTS[shape]``: the shape's first placement, and its first one in word 1. One row more for the end."""
LEFTS = np.array([placement.left for placement in _ALL], np.int64)
"""``LEFTS[placement]``: its leftmost column."""
ORIENTATIONS = np.array([placement.orientation for placement in _ALL], np.int64)
"""``ORIENTATIONS[placement]``: the number of its orientation, below 8, as the published program counts."""
ROW_MAJOR, BOTTOM_LEFT, LEFT_BOTTOM = range(3)
RANKS = _rank_table()
"""``RANKS[order, placement]``: the smaller, the earlier. Orders: by reading; by least column, then least row;
by least row, then least column; the latter two by reading on equal terms."""
MAX_PLACEMENTS = max(len(placements) for placements in _PLACEMENTS)
"""The most placements of one shape."""


def cells_at(placement: int) -> Cells:
    """The cells of the quilt that a placement covers, as (row, column), row by row."""
    return _ALL[placement].cells
