"""The beam search keeps to the protocol, finds what there is to find, and beats the published strategies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.placement import (
    STAGES,
    BeamPlacer,
    StrategyPlacer,
    cells_at,
    deal_orders,
    outcomes,
    run_experiment,
)
from research.placement.beam import _ways_to_begin
from research.placement.shapes import SINGLE_CELL, STARTS

LINE, CROSS = 17, 30  # 1x5, and 1x5 crossed by 1x3


@settings(max_examples=30)
@given(st.lists(st.integers(0, SINGLE_CELL), max_size=45), st.integers(1, 40), st.integers(1, 60))
def test_any_plan_keeps_to_the_protocol(tiles, width, noise):
    plan = BeamPlacer([(width, noise)]).plan(tiles)
    if tiles:
        outcomes(np.array([tiles]), plan[None])
    else:
        assert plan.shape == (0,)


def test_it_beats_the_published_strategies():
    orders = deal_orders(20, seed=12)
    regret = run_experiment(StrategyPlacer("All", "PlacementRegret"), orders)
    narrow = run_experiment(BeamPlacer(STAGES[:1]), orders)
    ours = run_experiment(BeamPlacer(STAGES[:3]), orders)
    assert (regret.area <= narrow.area).all()
    assert regret.area.mean() < 80 < narrow.area.mean()
    assert (ours.area == 81).sum() >= 19


def test_the_best_of_all_stages_counts():
    for tiles in deal_orders(5, seed=14):
        areas = [run_experiment(BeamPlacer([s]), tiles[None]).area[0] for s in ((1, 1), (2, 500))]
        assert run_experiment(BeamPlacer([(1, 1), (2, 500)]), tiles[None]).area[0] == max(areas)


def test_it_finds_a_perfect_fit():
    """Sixteen lines of five can lie in such a way that the single cell covers the last one."""
    tiles = [LINE] * 16 + [SINGLE_CELL]
    assert run_experiment(BeamPlacer([(500, 5)]), np.array([tiles])).area.tolist() == [81]


@pytest.mark.parametrize(("shape", "ways"), [(SINGLE_CELL, 15), (CROSS, 12), (LINE, 15)])
def test_symmetric_beginnings_are_tried_once(shape, ways):
    """Burnside: (81 + 9 + 4 * 9) / 8 with turns; (70 + 2 + 2 * 12) / 8; (90 + 2 + 2 * 14) / 8."""
    begin = _ways_to_begin(shape)
    assert len(begin) == ways
    assert ((STARTS[shape, 0] <= begin) & (begin < STARTS[shape + 1, 0])).all()
    assert len({frozenset(cells_at(k)) for k in begin}) == ways


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], "stages is empty"),
        ([(0, 1)], "the width of a stage is 0; it must be at least 1"),
        ([(1, 0)], "the noise of a stage is 0; allowed are 1 to 500"),
        ([(1, 501)], "the noise of a stage is 501"),
        ([(1.5, 1)], "the width of a stage must be an integer, not 1.5"),
    ],
)
def test_what_is_no_search(stages, message):
    with pytest.raises(ValueError, match=message):
        BeamPlacer(stages)
