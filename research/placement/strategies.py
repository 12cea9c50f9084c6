"""The published strategies: a policy proposes placements of a tile, an evaluation picks one of them.

From M. Z. Lagerkvist, State Representation and Polyomino Placement for the Game Patchwork, arXiv 2001.04233.
Two details are those of the original program. It reasons about the tile to be placed before it compares
placements: cells that all of them cover count as covered. And a cell that no tile can cover any more counts
as occupied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import Streams, random_below
from patchwork_env.patchwork.components import QUILT_SIZE
from patchwork_env.patchwork.tables import FULL_WORD, WORD_ROWS
from research.placement.quilts import Integers, cells_of, count_cells, coverable, coverable_by_any
from research.placement.shapes import BOTTOM_LEFT, LEFT_BOTTOM, LEFTS, ORIENTATIONS, RANKS, ROW_MAJOR

ONE_GROUP, BY_ORIENTATION, BY_COLUMN, BY_COLUMN_AND_ORIENTATION, EACH = range(5)
"""The placements whose earliest a policy proposes: all, each group, or each placement."""
FIRST, RANDOM, MIN_X_EXTENSION, REGRET, REVERSE_REGRET = range(5)


class Policy(NamedTuple):
    """The proposals of a policy: by each of the orders, the earliest placement of every group of placements.

    The candidates are listed order by order, and within an order group by group, ascending.
    """

    name: str
    orders: tuple[int, ...]
    grouping: int


def _policies() -> dict[str, Policy]:
    kinds = [
        ("None", (ROW_MAJOR,), ONE_GROUP),
        ("None(rot)", (ROW_MAJOR,), BY_ORIENTATION),
        ("BottomLeft", (BOTTOM_LEFT,), ONE_GROUP),
        ("BottomLeft(rot)", (BOTTOM_LEFT,), BY_ORIENTATION),
        ("BL/LB", (BOTTOM_LEFT, LEFT_BOTTOM), ONE_GROUP),
        ("BL/LB(rot)", (BOTTOM_LEFT, LEFT_BOTTOM), BY_ORIENTATION),
        ("ParetoBottomLeft", (ROW_MAJOR,), BY_COLUMN),
        ("ParetoBottomLeft(rot)", (ROW_MAJOR,), BY_COLUMN_AND_ORIENTATION),
        ("All", (ROW_MAJOR,), EACH),
    ]
    return {kind[0]: Policy(*kind) for kind in kinds}


POLICIES = _policies()
"""Policies by their published name."""
EVALUATIONS = {
    "First": FIRST,
    "Random": RANDOM,
    "MinXExtension": MIN_X_EXTENSION,
    "PlacementRegret": REGRET,
    "ReversePlacementRegret": REVERSE_REGRET,
}
"""Evaluations by their published name."""

MAX_ORDERS = max(len(policy.orders) for policy in POLICIES.values())
"""The most orders of a policy."""
_MAX_GROUPS = QUILT_SIZE * NUM_ORIENTATIONS
_FIRST_COLUMN = sum(1 << row * QUILT_SIZE for row in range(WORD_ROWS))
_COLUMNS = np.array([_FIRST_COLUMN << column for column in range(QUILT_SIZE)], np.uint64)
"""The cells of each column in a word."""


# --- policies ---------------------------------------------------------------------------------------------


@kernel(allocates=True)
def propose(
    found: Integers, count: int, orders: Integers, grouping: int, last_column: int, candidates: Integers
) -> int:
    """Lists the proposals of a policy and returns their number.

    Args:
        found: All placements of the tile, ascending.
        count: The number of these placements.
        orders: The orders of the policy.
        grouping: The grouping of the policy.
        last_column: The last leftmost column that groups by column propose.
        candidates: The array that receives the proposed placements; one may occur twice, once by each order.
    """
    if grouping == EACH:
        candidates[:count] = found[:count]
        return count
    total = 0
    for order in orders:
        total += _earliest(found, count, order, grouping, last_column, candidates[total:])
    return total


@kernel(allocates=True)
def _earliest(
    found: Integers, count: int, order: int, grouping: int, last_column: int, earliest: Integers
) -> int:
    """Lists the earliest placement of every group that has one."""
    best = np.full(_MAX_GROUPS, -1, np.int64)
    for placement in found[:count]:
        group = _group(placement, grouping)
        if LEFTS[placement] <= last_column and (
            best[group] < 0 or RANKS[order, placement] < RANKS[order, best[group]]
        ):
            best[group] = placement
    total = 0
    for placement in best:
        if placement >= 0:
            earliest[total] = placement
            total += 1
    return total


@kernel
def _group(placement: int, grouping: int) -> int:
    if grouping == BY_ORIENTATION:
        return int(ORIENTATIONS[placement])
    if grouping == BY_COLUMN:
        return int(LEFTS[placement])
    if grouping == BY_COLUMN_AND_ORIENTATION:
        return int(LEFTS[placement] * NUM_ORIENTATIONS + ORIENTATIONS[placement])
    return 0


@kernel
def last_column(covered_0: np.uint64, covered_1: np.uint64, tiles: Integers, found: Integers) -> int:
    """The last leftmost column that a Pareto policy considers: the one after the occupied columns.

    Args:
        covered_0: Word 0 of the quilt.
        covered_1: Word 1 of the quilt.
        tiles: The shapes still to come, first the one to be placed now.
        found: All placements of that tile.
    """
    certain_0, certain_1 = _certain(tiles[0], found)
    after_0, after_1 = covered_0 | certain_0, covered_1 | certain_1
    own_0, own_1 = coverable(covered_0, covered_1, tiles[0])
    others_0, others_1 = coverable_by_any(after_0, after_1, tiles[1:])
    dead_0, dead_1 = ~(own_0 | others_0), ~(own_1 | others_1)
    return _extent(after_0 | dead_0, after_1 | dead_1) + 1


@kernel
def _certain(shape: int, found: Integers) -> tuple[np.uint64, np.uint64]:
    """The cells that all placements of the list cover."""
    certain_0, certain_1 = FULL_WORD, FULL_WORD
    for placement in found:
        word_0, word_1 = cells_of(shape, placement)
        certain_0 &= word_0
        certain_1 &= word_1
    return certain_0, certain_1


@kernel
def _extent(occupied_0: np.uint64, occupied_1: np.uint64) -> int:
    """The last column of the run of columns, from column 1 on, that hold an occupied cell; 0 without one."""
    column = 1
    while column < QUILT_SIZE and ((occupied_0 | occupied_1) & _COLUMNS[column]) != 0:
        column += 1
    return column - 1


# --- evaluations ------------------------------------------------------------------------------------------


@kernel
def pick(
    covered_0: np.uint64,
    covered_1: np.uint64,
    tiles: Integers,
    found: Integers,
    candidates: Integers,
    evaluation: int,
    streams: Streams,
    i: int,
) -> int:
    """The candidate that an evaluation prefers, the first one of equals.

    Args:
        covered_0: Word 0 of the quilt.
        covered_1: Word 1 of the quilt.
        tiles: The shapes still to come, first the one to be placed now.
        found: All placements of that tile.
        candidates: The placements to choose from, at least one.
        evaluation: One of :data:`EVALUATIONS`.
        streams: Random streams.
        i: The stream to draw from. Like the published program, ``RANDOM`` draws one of ``2n`` numbers for
            each of ``n`` candidates and takes the least, so it leans toward the first ones.
    """
    if evaluation == FIRST or len(candidates) == 1:
        return int(candidates[0])
    if evaluation == RANDOM:
        return int(candidates[_least_of_random(len(candidates), streams, i)])
    if evaluation == MIN_X_EXTENSION:
        return _least_extended(covered_0, covered_1, tiles, candidates)
    sign = 1 if evaluation == REGRET else -1
    return _least_regretted(covered_0, covered_1, tiles, found, candidates, sign)


@kernel
def _least_of_random(count: int, streams: Streams, i: int) -> int:
    least, least_value = 0, 2 * count
    for k in range(count):
        value = random_below(streams, i, 2 * count)
        if value < least_value:
            least, least_value = k, value
    return least


@kernel
def _least_extended(covered_0: np.uint64, covered_1: np.uint64, tiles: Integers, candidates: Integers) -> int:
    best, least = -1, QUILT_SIZE
    for placement in candidates:
        word_0, word_1 = cells_of(tiles[0], placement)
        after_0, after_1 = covered_0 | word_0, covered_1 | word_1
        alive_0, alive_1 = coverable_by_any(after_0, after_1, tiles[1:])
        extent = _extent(~alive_0, ~alive_1)
        if extent < least:
            best, least = placement, extent
    return best


@kernel(allocates=True)
def _least_regretted(
    covered_0: np.uint64,
    covered_1: np.uint64,
    tiles: Integers,
    found: Integers,
    candidates: Integers,
    sign: int,
) -> int:
    certain_0, certain_1 = _certain(tiles[0], found)
    before = np.empty((len(tiles), 2), np.uint64)
    before[0] = coverable(covered_0, covered_1, tiles[0])
    for k in range(1, len(tiles)):
        before[k] = coverable(covered_0 | certain_0, covered_1 | certain_1, tiles[k])
    best, least = -1, 0
    for placement in candidates:
        value = sign * _regret(covered_0, covered_1, tiles, placement, before)
        if best < 0 or value < least:
            best, least = placement, value
    return best


@kernel
def _regret(
    covered_0: np.uint64,
    covered_1: np.uint64,
    tiles: Integers,
    placement: int,
    before: npt.NDArray[np.uint64],
) -> int:
    """Over all tiles, how many of the cells that stay empty they could cover before and not after."""
    word_0, word_1 = cells_of(tiles[0], placement)
    after_0, after_1 = covered_0 | word_0, covered_1 | word_1
    regret = count_cells(before[0, 0] & ~word_0, before[0, 1] & ~word_1)
    for k in range(1, len(tiles)):
        if (before[k, 0] | before[k, 1]) != 0:
            left_0, left_1 = coverable(after_0, after_1, tiles[k])
            regret += count_cells(before[k, 0] & ~word_0, before[k, 1] & ~word_1)
            regret -= count_cells(left_0, left_1)
    return regret
