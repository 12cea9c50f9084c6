"""Actions: the numbering of ``Discrete(2026)`` and the meaning of an action.

========================================================  ====================================================
index                                                     meaning
========================================================  ====================================================
``0``                                                     advance
``1 + (slot * 8 + orientation) * 81 + 9 * row + column``  buy the patch in ``slot`` 0-2 and place it in
                                                          ``orientation`` 0-7 with the top-left corner of its
                                                          bounding box at (row, column)
``1945 + 9 * row + column``                               place a special patch at (row, column)
========================================================  ====================================================

Orientation ``o`` is ``o % 4`` clockwise quarter turns, after a left-right flip if ``o >= 4``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

from patchwork_env.core.checks import as_cells, as_integer, check_one_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.polyomino import (
    NUM_ORIENTATIONS,
    Cell,
    Cells,
    extent,
    normalize,
    orient,
    orientations,
)
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED, PATCHES, QUILT_SIZE

ADVANCE = 0
FIRST_BUY = 1
SLOT_SIZE = NUM_ORIENTATIONS * NUM_CELLS
"""The number of actions that buy from one slot."""
FIRST_SPECIAL = FIRST_BUY + NUM_OFFERED * SLOT_SIZE
NUM_ACTIONS = FIRST_SPECIAL + NUM_CELLS

ORIENTED: tuple[tuple[Cells, ...], ...] = tuple(
    tuple(orient(patch.cells, orientation) for orientation in range(NUM_ORIENTATIONS)) for patch in PATCHES
)
"""``ORIENTED[patch][orientation]``: the cells of a patch, its bounding box starting at (0, 0)."""

DISTINCT: tuple[dict[int, Cells], ...] = tuple(orientations(patch.cells) for patch in PATCHES)
"""``DISTINCT[patch]``: the different orientations of a patch, each under its lowest index."""

Kind = Literal["advance", "buy", "special"]


class Move(NamedTuple):
    """The effect of an action: its kind, the index of the patch bought, and the cells that are covered."""

    kind: Kind
    patch: int | None = None
    cells: frozenset[Cell] = frozenset()


class Placement(NamedTuple):
    """The parts of a buying action: slot 0-2, orientation 0-7 and the top-left corner of the bounding box."""

    slot: int
    orientation: int
    row: int
    column: int


def buy_action(slot: int, orientation: int, row: int, column: int) -> int:
    """Return the action that buys and places the patch in ``slot``; the inverse of :func:`placement`."""
    return FIRST_BUY + (slot * NUM_ORIENTATIONS + orientation) * NUM_CELLS + row * QUILT_SIZE + column


def special_action(row: int, column: int) -> int:
    """Return the action that places a special patch."""
    return FIRST_SPECIAL + row * QUILT_SIZE + column


def placement(action: int) -> Placement:
    """Return the parts of a buying action; the inverse of :func:`buy_action`."""
    map_index, cell = divmod(action - FIRST_BUY, NUM_CELLS)
    return Placement(*divmod(map_index, NUM_ORIENTATIONS), *divmod(cell, QUILT_SIZE))


@lru_cache(maxsize=4096)
def cells_at(patch: int, orientation: int, row: int, column: int) -> frozenset[Cell]:
    """Return the cells that a patch covers; equal placements return the same object."""
    return frozenset((row + r, column + c) for r, c in ORIENTED[patch][orientation])


def decode(action: int, offered: tuple[int, ...]) -> Move:
    """Return the move of a legal action; ``offered`` are the patches that may be bought."""
    if action == ADVANCE:
        return Move("advance")
    if action >= FIRST_SPECIAL:
        return Move("special", None, frozenset([divmod(action - FIRST_SPECIAL, QUILT_SIZE)]))
    slot, orientation, row, column = placement(action)
    patch = offered[slot]
    return Move("buy", patch, cells_at(patch, orientation, row, column))


def encode(move: Any, offered: tuple[int, ...]) -> int:
    """Return the action of a move, the inverse of :func:`decode`; ValueError for other values."""
    if not isinstance(move, Move):
        raise ValueError(f"a move must be a Move, not {short_repr(move)}")
    kind = check_one_of(move.kind, ("advance", "buy", "special"), "the kind of a move")
    cells = as_cells(move.cells)
    if kind == "advance":
        if move.patch is not None or cells:
            raise ValueError(f"advancing takes neither a patch nor cells: {short_repr(move)}")
        return ADVANCE
    if not cells or not all(0 <= r < QUILT_SIZE and 0 <= c < QUILT_SIZE for r, c in cells):
        raise ValueError(f"the cells {short_repr(sorted(cells))} are not on the 9x9 quilt")
    if kind == "special":
        if len(cells) != 1 or move.patch is not None:
            raise ValueError(f"a special patch covers one cell and has no index: {short_repr(move)}")
        return special_action(*next(iter(cells)))
    patch = as_integer(move.patch, "the patch of a buying move")
    if patch not in offered:
        raise ValueError(f"patch {short_repr(patch)} is not offered; the offered patches are {list(offered)}")
    top, left = min(r for r, _ in cells), min(c for _, c in cells)
    shape = normalize(cells)
    for orientation, oriented in DISTINCT[patch].items():
        if oriented == shape:
            return buy_action(offered.index(patch), orientation, top, left)
    raise ValueError(f"the cells {short_repr(sorted(cells))} are not a placement of patch {patch}")


def fits(cells: Cells, row: int, column: int) -> bool:
    """Whether a shape whose bounding box starts at (row, column) stays on the quilt."""
    height, width = extent(cells)
    return row + height <= QUILT_SIZE and column + width <= QUILT_SIZE
