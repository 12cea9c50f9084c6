"""The published strategies against a naive twin."""

import numpy as np
import pytest

from research.placement import NOT_PLACED, POLICIES, StrategyPlacer, cells_at, deal_orders
from research.placement.shapes import SINGLE_CELL, STARTS
from tests.research.placement import naive

CHEAP = ["None(rot)", "BottomLeft", "BottomLeft(rot)", "BL/LB", "BL/LB(rot)", "ParetoBottomLeft"]
BIG_FIRST = [30, 20, 32, 31, 23, 28, 27, 24, 22, 26, 13, 25, 0, SINGLE_CELL, 33, 2, 1, 6, 33]
"""Tiles that leave cells which no tile can cover any more, and tiles that fit in one place only."""


def cells_of_plan(plan):
    return [None if placement == NOT_PLACED else frozenset(cells_at(placement)) for placement in plan]


@pytest.mark.parametrize("shape", range(SINGLE_CELL + 1))
def test_placements_are_those_of_the_drawing_in_reading_order(shape):
    expected = [cells for _, cells in naive.PLACEMENTS[shape]]
    assert [cells_at(k) for k in range(STARTS[shape, 0], STARTS[shape + 1, 0])] == expected
    assert shape == SINGLE_CELL or naive.same_shape_as_the_patch(shape)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_first_candidate_is_the_naive_one(policy):
    for tiles in deal_orders(3, seed=5).tolist():
        plan = StrategyPlacer(policy, "First").plan(tiles)
        assert cells_of_plan(plan) == naive.plan(policy, "First", tiles)


@pytest.mark.parametrize("evaluation", ["MinXExtension", "PlacementRegret", "ReversePlacementRegret"])
@pytest.mark.parametrize("policy", CHEAP)
def test_the_candidate_picked_is_the_naive_one(policy, evaluation):
    for tiles in (BIG_FIRST, deal_orders(1, seed=6)[0, 18:].tolist() * 2):
        plan = StrategyPlacer(policy, evaluation).plan(tiles)
        assert NOT_PLACED in plan
        assert cells_of_plan(plan) == naive.plan(policy, evaluation, tiles)


@pytest.mark.parametrize("policy", ["ParetoBottomLeft(rot)", "All"])
@pytest.mark.parametrize("evaluation", ["MinXExtension", "PlacementRegret"])
def test_the_candidate_picked_among_many_is_the_naive_one(policy, evaluation):
    tiles = BIG_FIRST[:6] + BIG_FIRST[-4:]
    plan = StrategyPlacer(policy, evaluation).plan(tiles)
    assert cells_of_plan(plan) == naive.plan(policy, evaluation, tiles)


def test_random_choices_lean_toward_the_first_candidate():
    """Of two candidates, each draws one of four numbers, and the first one wins ties: 10 of 16."""
    placer = StrategyPlacer("BL/LB", "Random", seed=3)
    plans = np.array([placer.plan([6, SINGLE_CELL]) for _ in range(2000)])
    first = (plans[:, 1] == plans[:, 1].max()).mean()
    assert len(np.unique(plans[:, 1])) == 2
    assert min(abs(first - 10 / 16), abs(1 - first - 10 / 16)) < 0.04


def test_a_seed_fixes_the_random_choices():
    tiles = deal_orders(1)[0]
    plans = [StrategyPlacer("All", "Random", seed).plan(tiles).tolist() for seed in (4, 4, 5)]
    assert plans[0] == plans[1] != plans[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Everything", "First"), "policy is 'Everything'; allowed are 'None', .*'All'"),
        (("All", "Best"), "evaluation is 'Best'; allowed are 'First', "),
        (("All", "Random", -1), "-1"),
    ],
)
def test_what_is_no_strategy(arguments, message):
    with pytest.raises(ValueError, match=message):
        StrategyPlacer(*arguments)
