"""Actions: the numbering of ``Discrete(16394)`` and the meaning of an action.

=============================================  ===============================================================
index                                          meaning
=============================================  ===============================================================
``orientation * 4096 + 64 * row + column``     place the tile in ``orientation`` 0-3 with the top-left corner
                                               of its bounding box at (row, column)
``16384 + digit``                              in free order: choose the tile of ``digit`` to be placed next
=============================================  ===============================================================

Orientation ``o`` is ``o`` clockwise quarter turns. If two orientations look the same (tiles 0 and 8), only
the lower one is legal. The level of the tile is the height of the cells below it, which must be equally high.

Rows and columns are those of the present position. The real table has no edge; this one is a window of 64x64
anchors. The tiles are kept in its middle, so a tile that is placed at the side may shift the rows and columns
of all by one or two. A placement is not legal if the tiles would spread over more than 63 rows or columns,
``MAX_SPREAD``. That takes 16 tiles end to end on the table itself; ``research/nmbr9_spread`` measures how far
the tiles spread in random and in good play.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from patchwork_env.core.checks import as_cells, as_integer
from patchwork_env.core.names import short_repr
from patchwork_env.core.polyomino import Cell, Cells, extent, normalize, orient
from patchwork_env.nmbr9.components import NUM_DIGITS, TILES

NUM_TURNS = 4
"""The number of orientations of a tile."""
TABLE_SIZE = 64
"""The number of rows, and of columns, in the window of anchors."""
NUM_ANCHORS = TABLE_SIZE * TABLE_SIZE
FIRST_CHOICE = NUM_TURNS * NUM_ANCHORS
NUM_ACTIONS = FIRST_CHOICE + NUM_DIGITS

ORIENTED: tuple[tuple[Cells, ...], ...] = tuple(
    tuple(orient(tile, orientation) for orientation in range(NUM_TURNS)) for tile in TILES
)
"""``ORIENTED[digit][orientation]``: the cells of a tile, its bounding box starting at (0, 0)."""

DISTINCT: tuple[tuple[int, ...], ...] = tuple(
    tuple(o for o in range(NUM_TURNS) if shapes[o] not in shapes[:o]) for shapes in ORIENTED
)
"""``DISTINCT[digit]``: the distinct orientations of a tile, each under its lowest index."""

LONGEST_SIDE = max(max(extent(tile)) for tile in TILES)
MAX_SPREAD = TABLE_SIZE - 1
"""The number of rows, and of columns, over which the tiles of a table may spread."""


class Move(NamedTuple):
    """The effect of an action: it places the tile of a digit on cells of a level.

    In free order, choosing a digit is a move as well, without level and cells.
    """

    digit: int
    level: int | None = None
    cells: frozenset[Cell] = frozenset()


class Placement(NamedTuple):
    """The parts of a placing action: orientation 0-3 and the top-left corner of the bounding box."""

    orientation: int
    row: int
    column: int


def place_action(orientation: int, row: int, column: int) -> int:
    """Return the action that places the tile; the inverse of :func:`placement`."""
    return orientation * NUM_ANCHORS + row * TABLE_SIZE + column


def choose_action(digit: int) -> int:
    """Return the action that chooses the tile of a digit."""
    return FIRST_CHOICE + digit


def placement(action: int) -> Placement:
    """Return the parts of a placing action; the inverse of :func:`place_action`."""
    orientation, anchor = divmod(action, NUM_ANCHORS)
    return Placement(orientation, *divmod(anchor, TABLE_SIZE))


@lru_cache(maxsize=4096)
def cells_at(digit: int, orientation: int, row: int, column: int) -> frozenset[Cell]:
    """Return the cells that a tile covers; equal placements return the same object."""
    return frozenset((row + r, column + c) for r, c in ORIENTED[digit][orientation])


def encode(move: Any, digit: int | None) -> int:
    """Return the action of a move, whose level is not checked; ValueError for other values.

    ``digit`` is that of the tile to be placed, None if one is to be chosen.
    """
    if not isinstance(move, Move):
        raise ValueError(f"a move must be a Move, not {short_repr(move)}")
    tile, cells = as_integer(move.digit, "the digit of a move"), as_cells(move.cells)
    if not cells:
        if digit is not None or tile not in range(NUM_DIGITS) or move.level is not None:
            raise ValueError(f"{short_repr(move)} is not a choice of a tile that is possible now")
        return choose_action(tile)
    if digit is None or tile != digit:
        now = "one is to be chosen" if digit is None else f"the tile to be placed is {digit}"
        raise ValueError(f"{short_repr(move)} places a tile {short_repr(tile)}; {now}")
    top, left = min(r for r, _ in cells), min(c for _, c in cells)
    if not (0 <= top < TABLE_SIZE and 0 <= left < TABLE_SIZE):
        raise ValueError(f"the cells {short_repr(sorted(cells))} are beyond the table")
    shape = normalize(cells)
    if shape not in ORIENTED[digit]:
        raise ValueError(f"the cells {short_repr(sorted(cells))} are not a placement of the tile {digit}")
    return place_action(ORIENTED[digit].index(shape), top, left)
