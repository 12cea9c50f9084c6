"""Compiled helpers for a single quilt: the placements of a shape, and the cells that shapes can cover."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import QUILT_SIZE
from patchwork_env.patchwork.engine import placed_words
from patchwork_env.patchwork.tables import SECOND_WORD_ROW, WORD_ROWS
from research.placement.shapes import STARTS, WORDS

Integers = npt.NDArray[np.int64]

U0 = np.uint64(0)
FIRST_LOWER_CELL = SECOND_WORD_ROW * QUILT_SIZE
_LAST_ROWS = np.uint64((WORD_ROWS - SECOND_WORD_ROW) * QUILT_SIZE)  # where rows 7-8 start in word 1


@kernel(inline=True)
def both_words(upper: np.uint64, lower: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The set of all cells that are in word 0 ``upper`` or in word 1 ``lower``."""
    above_0, above_1 = placed_words(upper, 0)
    below_0, below_1 = placed_words(lower, FIRST_LOWER_CELL)
    return above_0 | below_0, above_1 | below_1


@kernel
def cells_of(shape: int, placement: int) -> tuple[np.uint64, np.uint64]:
    """The cells that a placement of a shape covers."""
    return placed_words(WORDS[placement], FIRST_LOWER_CELL if placement >= STARTS[shape, 1] else 0)


@kernel
def count_cells(word_0: np.uint64, word_1: np.uint64) -> int:
    """Number of cells in a set."""
    return popcount(word_0) + popcount(word_1 >> _LAST_ROWS)


@kernel
def list_placements(covered_0: np.uint64, covered_1: np.uint64, shape: int, found: Integers) -> int:
    """Lists the placements of a shape that fit, in ascending order, and returns their number."""
    count = 0
    for placement in range(STARTS[shape, 0], STARTS[shape, 1]):
        found[count] = placement
        count += (WORDS[placement] & covered_0) == U0
    for placement in range(STARTS[shape, 1], STARTS[shape + 1, 0]):
        found[count] = placement
        count += (WORDS[placement] & covered_1) == U0
    return count


@kernel
def coverable(covered_0: np.uint64, covered_1: np.uint64, shape: int) -> tuple[np.uint64, np.uint64]:
    """All cells that a shape could cover, wherever it fits."""
    upper, lower = U0, U0
    for placement in range(STARTS[shape, 0], STARTS[shape, 1]):
        word = WORDS[placement]
        upper |= word if (word & covered_0) == U0 else U0
    for placement in range(STARTS[shape, 1], STARTS[shape + 1, 0]):
        word = WORDS[placement]
        lower |= word if (word & covered_1) == U0 else U0
    return both_words(upper, lower)


@kernel
def coverable_by_any(
    covered_0: np.uint64, covered_1: np.uint64, shapes: Integers
) -> tuple[np.uint64, np.uint64]:
    """All cells that at least one of some shapes could cover."""
    any_0, any_1 = U0, U0
    for shape in shapes:
        word_0, word_1 = coverable(covered_0, covered_1, shape)
        any_0 |= word_0
        any_1 |= word_1
    return any_0, any_1
