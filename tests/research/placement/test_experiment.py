"""The protocol of the experiment: orders, and what a plan may do."""

import numpy as np
import pytest

from patchwork_env.patchwork import PATCHES
from research.placement import NOT_PLACED, TILE_SETS, StrategyPlacer, cells_at, deal_orders, outcomes
from research.placement.shapes import NUM_TILES, SINGLE_CELL, SIZES, STARTS

SQUARE, LINE = 9, 17  # 2x2 and 1x5


def placement(shape, row, column):
    """The first placement of a shape whose first cell is this one."""
    return next(k for k in range(STARTS[shape, 0], STARTS[shape + 1, 0]) if cells_at(k)[0] == (row, column))


def test_the_tile_sets():
    assert {name: SIZES[list(tiles)].sum() for name, tiles in TILE_SETS.items()} == {
        "published": 170,
        "patchwork": 171,
    }
    assert SIZES[:SINGLE_CELL].tolist() == [patch.size for patch in PATCHES]
    assert TILE_SETS["published"].count(SINGLE_CELL) == 5
    assert SQUARE not in TILE_SETS["published"]


@pytest.mark.parametrize("tile_set", TILE_SETS)
def test_orders_are_permutations_that_differ(tile_set):
    orders = deal_orders(200, seed=8, tile_set=tile_set)
    assert orders.shape == (200, NUM_TILES)
    assert (np.sort(orders) == np.sort(TILE_SETS[tile_set])).all()
    assert len(np.unique(orders, axis=0)) == 200
    singles = (orders == SINGLE_CELL).mean(0)  # 5 of 38 at every place
    assert abs(singles - 5 / 38).max() < 0.1


def test_an_order_depends_on_the_seed_and_its_number_alone():
    assert (deal_orders(3, seed=8) == deal_orders(9, seed=8)[:3]).all()
    assert (deal_orders(3, seed=8) != deal_orders(3, seed=9)).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "runs is 0"), ((1, -1), "-1"), ((1, 0, "all"), "tile_set is 'all'; allowed are 'published'")],
)
def test_orders_that_cannot_be_dealt(arguments, message):
    with pytest.raises(ValueError, match=message):
        deal_orders(*arguments)


def test_outcomes_of_a_run():
    """Lines of five fill nine columns but for the last four rows; one fits twice more, in the other turn."""
    tiles = np.full((1, 19), LINE)
    plan = StrategyPlacer("BottomLeft", "First").plan(tiles[0])
    reached = outcomes(tiles, plan[None])
    covered = 5 * (plan != NOT_PLACED).sum()
    assert reached.tiles.tolist() == [covered // 5]
    assert reached.area.tolist() == [covered]
    first = plan.tolist().index(NOT_PLACED)
    assert reached.first_fail.tolist() == [first + 1]
    assert reached.area_first_fail.tolist() == [5 * first]


def test_outcomes_if_every_tile_fits():
    plan = np.array([[placement(SQUARE, 0, 0), placement(SQUARE, 7, 7)]])
    reached = outcomes(np.array([[SQUARE, SQUARE]]), plan)
    assert [values.tolist() for values in reached] == [[3], [81], [8], [2]]


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (placement(SQUARE, 1, 1), "cannot be placed at"),  # covers a cell again
        (placement(SINGLE_CELL, 5, 5), "cannot be placed at"),  # is another tile's
        (NOT_PLACED, "is skipped but fits"),
        (7430, "cannot be placed at 7430"),
    ],
)
def test_plans_that_break_the_protocol(second, fault):
    tiles = np.array([[SQUARE, SQUARE]] * 2)
    corner = placement(SQUARE, 0, 0)
    plans = np.array([[corner, placement(SQUARE, 0, 2)], [corner, second]])
    with pytest.raises(ValueError, match=f"plan 1 breaks the protocol: tile 1, shape {SQUARE}, {fault}"):
        outcomes(tiles, plans)


def test_tiles_that_are_no_shapes():
    placer = StrategyPlacer("All", "First")
    with pytest.raises(ValueError, match="a tile is 34; allowed are 0 to 33"):
        placer.plan([0, 34])
    with pytest.raises(ValueError, match=r"a tile must be an integer, not 1\.0"):
        placer.plan([1.0])
