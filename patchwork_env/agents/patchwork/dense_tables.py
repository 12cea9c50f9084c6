"""Tables of pieces, quilts and the shapes around anchors, for :mod:`.dense_features`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import DISTINCT, ORIENTED
from patchwork_env.patchwork.components import BONUS_SQUARE, NUM_CELLS, NUM_PATCHES, PATCHES, QUILT_SIZE
from patchwork_env.patchwork.observation import BOX

NO_PIECE, SPECIAL_PIECE = 0, NUM_PATCHES + 1
"""Pieces are nothing (what advancing places, and what the circle holds behind its end), the patches as
``index + 1``, and special patches."""
PIECES = NUM_PATCHES + 2
EMPTY_SORTS = 5
"""Sorts 0-4 are empty cells with so many empty neighbors, and sorts 5-9 covered ones."""
SORTS = 2 * EMPTY_SORTS
COUNTED_SORTS = EMPTY_SORTS + 2
"""Figures of a quilt are how many cells there are of each of the first sorts."""
IN_BOX = range(BOX)
"""The rows and columns that a shape can cover, counted from its anchor."""
IN_REACH = range(-1, BOX + 1)
"""The rows and columns that a shape can cover or lie next to, counted from its anchor."""


def windows(offsets: range) -> Tensor:
    """The cells around every anchor, int64 ``(81, offsets ** 2)``; 81 for those outside of the quilt.

    Args:
        offsets: The rows, and the columns, of the cells, counted from the anchor's.
    """
    quilt = np.full((QUILT_SIZE + 2 * BOX,) * 2, NUM_CELLS)
    quilt[BOX:-BOX, BOX:-BOX] = np.arange(NUM_CELLS).reshape(QUILT_SIZE, QUILT_SIZE)
    around = BOX + np.add.outer(np.arange(QUILT_SIZE), offsets)
    cells = quilt[around[:, None, :, None], around[None, :, None, :]]
    return torch.from_numpy(cells.reshape(NUM_CELLS, -1))


def neighbors() -> Tensor:
    """Which cells of a quilt are neighbors, 0 or 1, ``(81, 81)``."""
    rows, columns = np.divmod(np.arange(NUM_CELLS), QUILT_SIZE)
    distances = abs(np.subtract.outer(rows, rows)) + abs(np.subtract.outer(columns, columns))
    return torch.from_numpy(distances == 1).float()


def squares() -> Tensor:
    """Which cells of a quilt lie in each 7x7 square, 0 or 1, ``(81, 9)``."""
    behind = np.subtract.outer(np.arange(QUILT_SIZE), np.arange(QUILT_SIZE - BONUS_SQUARE + 1))
    in_span = (behind >= 0) & (behind < BONUS_SQUARE)
    return torch.from_numpy(np.kron(in_span, in_span)).float()


def shapes(offsets: range) -> npt.NDArray[np.bool_]:
    """Which cells around its anchor every shape covers, ``(PIECES, 8, offsets, offsets)``.

    Args:
        offsets: The rows, and the columns, of the cells, counted from the anchor's.
    """
    size, anchor = len(offsets), -offsets[0]
    covers = np.zeros((PIECES, NUM_ORIENTATIONS, size, size), np.bool_)
    for patch, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            for row, column in cells:
                covers[patch + 1, orientation, anchor + row, anchor + column] = True
    covers[SPECIAL_PIECE, :, anchor, anchor] = True
    return covers


def distinct() -> Tensor:
    """Which orientations of a piece repeat no lower one, 0 or 1, ``(PIECES, 8)``."""
    is_distinct = torch.zeros(PIECES, NUM_ORIENTATIONS)
    for patch, orientations in enumerate(DISTINCT):
        is_distinct[patch + 1, list(orientations)] = 1
    return is_distinct


def facts() -> Tensor:
    """Size, price, time and income of every piece, ``(PIECES, 4)``."""
    of_patches = [(patch.size, patch.buttons, patch.time, patch.income) for patch in PATCHES]
    return torch.tensor([(0, 0, 0, 0), *of_patches, (1, 0, 0, 0)]).float()


def changes() -> Tensor:
    """How the numbers of cells of each sort change on account of a cell in reach of a shape that is placed.

    Returns:
        int8 ``(PIECES, 8, k)``, the entries of each shape in the order (sort that is counted, cell in reach,
        sort of that cell before). Those of cells that no legal placement finds have no meaning.
    """
    covers = shapes(IN_REACH)
    padded = np.pad(covers, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.int8)
    fewer = (
        padded[:, :, 2:, 1:-1] + padded[:, :, :-2, 1:-1] + padded[:, :, 1:-1, 2:] + padded[:, :, 1:-1, :-2]
    )
    changed = np.zeros((PIECES, NUM_ORIENTATIONS, SORTS, len(IN_REACH), len(IN_REACH), SORTS), np.int8)
    for before in range(SORTS):
        after = before - fewer + EMPTY_SORTS * (covers & (before < EMPTY_SORTS))
        for sort in range(SORTS):
            changed[:, :, sort, :, :, before] = (after == sort).astype(np.int8) - (before == sort)
    return torch.from_numpy(changed[:, :, :COUNTED_SORTS]).flatten(2)
