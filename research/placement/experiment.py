"""The placement experiment: 38 tiles in random order, each to be placed on one quilt wherever it fits.

The protocol of arXiv 2001.04233. There are no prices, no time and no choice among patches. Each tile in turn
must be placed if it fits anywhere, in any turn and flip; a tile that does not fit is skipped, and the run
goes on through all 38. The order of the tiles is known, so a placer plans a whole run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from patchwork_env.core.checks import check_at_least_one, check_between, check_one_of, seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.patchwork.components import NUM_CELLS
from research.placement.quilts import U0, Integers, cells_of, count_cells, list_placements
from research.placement.shapes import MAX_PLACEMENTS, NUM_SHAPES, TILE_SETS
from research.placement.strategies import (
    BY_COLUMN,
    BY_COLUMN_AND_ORIENTATION,
    EVALUATIONS,
    MAX_ORDERS,
    POLICIES,
    last_column,
    pick,
    propose,
)

NOT_PLACED = -1
"""In a plan: the tile does not fit when its turn comes."""


class Placer(Protocol):
    """Plans the placements of the tiles of a run."""

    def plan(self, tiles: Sequence[int] | Integers) -> Integers:
        """The placement of each tile, or :data:`NOT_PLACED` exactly where the tile does not fit.

        Args:
            tiles: Shapes in the order in which they have to be placed.

        Returns:
            int64 of the same length; for placements see :mod:`~research.placement.shapes`.

        Raises:
            ValueError: A tile is not a shape.
        """
        ...


class Outcomes(NamedTuple):
    """The results of runs, each an int64 array ``(n,)``."""

    first_fail: Integers
    """Number, from 1, of the first tile that did not fit; one more than there are tiles if all fit."""
    area_first_fail: Integers
    """Covered cells at that moment; 81 if all tiles fit."""
    area: Integers
    """Covered cells in the end."""
    tiles: Integers
    """Tiles placed."""


class StrategyPlacer:
    """A published strategy: a policy that proposes and an evaluation that picks, tile after tile.

    Args:
        policy: A key of :data:`~research.placement.strategies.POLICIES`.
        evaluation: A key of :data:`~research.placement.strategies.EVALUATIONS`.
        seed: The seed of the random numbers of the evaluation ``"Random"``.

    Attributes:
        candidates: The number of placements that the policy has proposed so far.

    Raises:
        ValueError: There is no such policy or evaluation, or the seed is not one.
    """

    def __init__(self, policy: str, evaluation: str, seed: int = 0) -> None:
        self._policy = POLICIES[check_one_of(policy, POLICIES, "policy")]
        self._evaluation = EVALUATIONS[check_one_of(evaluation, EVALUATIONS, "evaluation")]
        self._streams = ~seed_streams(seed)  # other numbers than those of an order
        self.candidates = 0

    def plan(self, tiles: Sequence[int] | Integers) -> Integers:
        """See :meth:`Placer.plan`."""
        shapes = check_tiles(tiles)
        plan = np.empty(len(shapes), np.int64)
        orders = np.array(self._policy.orders, np.int64)
        self.candidates += _follow(
            shapes, orders, self._policy.grouping, self._evaluation, self._streams, plan
        )
        return plan


def check_tiles(tiles: Any) -> Integers:
    """Shapes as an int64 array.

    Raises:
        ValueError: One of them is not a shape.
    """
    return np.array([check_between(tile, 0, NUM_SHAPES - 1, "a tile") for tile in tiles], np.int64)


def deal_orders(runs: int, seed: int = 0, tile_set: str = "published") -> Integers:
    """Random orders of the 38 tiles.

    Args:
        runs: The number of orders, at least 1.
        seed: The seed of the orders; order ``i`` depends on the seed and ``i`` alone.
        tile_set: The name of the set of tiles, a key of :data:`~research.placement.shapes.TILE_SETS`.

    Returns:
        int64 ``(runs, 38)``, shapes.

    Raises:
        ValueError: An argument is out of range, or there is no such set of tiles.
    """
    number = check_at_least_one(runs, "runs")
    tiles = np.array(TILE_SETS[check_one_of(tile_set, TILE_SETS, "tile_set")], np.int64)
    orders = np.tile(tiles, (number, 1))
    _shuffle(orders, seed_streams(seed, number))
    return orders


def outcomes(orders: Integers, plans: Integers) -> Outcomes:
    """Carries out plans and measures the results.

    Args:
        orders: int64 ``(n, tiles)``.
        plans: int64 ``(n, tiles)``.

    Raises:
        ValueError: A plan breaks the protocol: a placement is not one of the tile or covers a cell again, or
            a tile is skipped that fits.
    """
    measured = np.empty((len(orders), len(Outcomes._fields)), np.int64)
    for run, (tiles, plan) in enumerate(zip(orders, plans, strict=True)):
        step = _carry_out(tiles, plan, measured[run])
        if step >= 0:
            fault = "is skipped but fits" if plan[step] == NOT_PLACED else f"cannot be placed at {plan[step]}"
            raise ValueError(f"plan {run} breaks the protocol: tile {step}, shape {tiles[step]}, {fault}")
    return Outcomes(*measured.T)


def run_experiment(placer: Placer, orders: Integers) -> Outcomes:
    """Plans a run for each of the orders ``(n, tiles)`` and carries it out."""
    return outcomes(orders, np.array([placer.plan(tiles) for tiles in orders]))


# --- kernels ----------------------------------------------------------------------------------------------


@kernel
def _shuffle(orders: Integers, streams: Streams) -> None:
    for i in range(len(orders)):
        order = orders[i]
        for k in range(len(order) - 1, 0, -1):
            other = random_below(streams, i, k + 1)
            order[k], order[other] = order[other], order[k]


@kernel(allocates=True)
def _follow(
    tiles: Integers,
    orders: Integers,
    grouping: int,
    evaluation: int,
    streams: Streams,
    plan: Integers,
) -> int:
    """Writes the plan of a strategy and returns the number of candidates."""
    found = np.empty(MAX_PLACEMENTS + 1, np.int64)
    candidates = np.empty(MAX_ORDERS * MAX_PLACEMENTS, np.int64)
    covered_0, covered_1 = U0, U0
    total = 0
    for k in range(len(tiles)):
        plan[k] = NOT_PLACED
        count = list_placements(covered_0, covered_1, tiles[k], found)
        if count > 0:
            furthest = NUM_CELLS
            if grouping in (BY_COLUMN, BY_COLUMN_AND_ORIENTATION):
                furthest = last_column(covered_0, covered_1, tiles[k:], found[:count])
            number = propose(found, count, orders, grouping, furthest, candidates)
            plan[k] = pick(
                *(covered_0, covered_1, tiles[k:], found[:count], candidates[:number], evaluation, streams, 0)
            )
            word_0, word_1 = cells_of(tiles[k], plan[k])
            covered_0, covered_1 = covered_0 | word_0, covered_1 | word_1
            total += number
    return total


@kernel(allocates=True)
def _carry_out(tiles: Integers, plan: Integers, measured: Integers) -> int:
    """Carries out a plan; returns the first step that the protocol forbids, or -1.

    Args:
        tiles: Shapes.
        plan: The placement of each tile, or :data:`NOT_PLACED`.
        measured: The array that receives the fields of :class:`Outcomes`.
    """
    found = np.empty(MAX_PLACEMENTS + 1, np.int64)
    covered_0, covered_1 = U0, U0
    first_fail, area_first_fail, placed = len(tiles) + 1, NUM_CELLS, 0
    for k in range(len(tiles)):
        count = list_placements(covered_0, covered_1, tiles[k], found)
        if count == 0 and plan[k] == NOT_PLACED:
            if first_fail > len(tiles):
                first_fail, area_first_fail = k + 1, count_cells(covered_0, covered_1)
        elif plan[k] in found[:count]:
            word_0, word_1 = cells_of(tiles[k], plan[k])
            covered_0, covered_1 = covered_0 | word_0, covered_1 | word_1
            placed += 1
        else:
            return k
    measured[:] = first_fail, area_first_fail, count_cells(covered_0, covered_1), placed
    return -1
