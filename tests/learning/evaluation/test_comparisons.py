"""Curves, performance profiles and the probability of improvement: by hand, and against rliable."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.learning.evaluation.comparisons import (
    mean_curve,
    performance_profile,
    probability_of_improvement,
)
from patchwork_env.learning.evaluation.intervals import interquartile_interval, interquartile_mean

FIRST = np.array([[0.6, 0.9], [0.7, 0.8], [0.2, 0.8], [0.9, 0.4], [0.65, 0.7]])
SECOND = np.array([[0.5, 0.8], [0.7, 0.5], [0.1, 0.6]])


def test_a_curve_is_the_interquartile_mean_at_every_place() -> None:
    values, low, high = mean_curve(FIRST)
    for place in range(2):
        column = FIRST[:, [place]]
        assert values[place] == pytest.approx(interquartile_mean(column))
        assert low is not None
        assert high is not None
        assert (low[place], high[place]) == pytest.approx(interquartile_interval(column), abs=0.01)
    assert mean_curve(FIRST[:1]).low is None


def test_a_profile_is_the_share_of_runs_above_a_threshold() -> None:
    values, low, high = performance_profile(FIRST[:, :1], np.array([0.0, 0.2, 0.65, 0.9]))
    assert values == pytest.approx([1.0, 0.8, 0.4, 0.0])
    assert low is not None
    assert high is not None
    assert (low[0], high[0], low[3], high[3]) == (1.0, 1.0, 0.0, 0.0)
    assert low[2] < 0.4 < high[2]
    assert performance_profile(FIRST[:1], np.array([0.5])).high is None


def test_the_probability_of_improvement_counts_pairs() -> None:
    """Of 9 pairs, 5 and one of equals against the first opponent, 7 and two of equals against the second."""
    probability, interval = probability_of_improvement(FIRST[:3], SECOND)
    assert probability == pytest.approx(((5 + 0.5) / 9 + (7 + 1) / 9) / 2)
    assert interval is not None
    assert interval[0] < probability < interval[1]
    mirrored, bounds = probability_of_improvement(SECOND, FIRST[:3])
    assert mirrored == pytest.approx(1 - probability)
    assert bounds == pytest.approx((1 - interval[1], 1 - interval[0]), abs=0.02)
    assert probability_of_improvement(FIRST[:1], SECOND)[1] is None


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")  # of rliable about other packages
def test_statistics_are_those_of_rliable() -> None:
    """Values to rounding; intervals, which other random numbers draw, to two digits."""
    library = pytest.importorskip("rliable.library")
    metrics = pytest.importorskip("rliable.metrics")
    random = np.random.default_rng(3)
    first, second = random.normal(0.6, 0.1, (8, 3)), random.normal(0.55, 0.1, (6, 3))
    means, intervals = library.get_interval_estimates(
        {"first": first}, lambda scores: np.array([metrics.aggregate_iqm(scores)]), reps=2000
    )
    assert interquartile_mean(first) == pytest.approx(means["first"][0])
    assert interquartile_interval(first) == pytest.approx(tuple(intervals["first"][:, 0]), abs=0.01)

    thresholds = np.linspace(0.3, 0.9, 7)
    shares, bands = library.create_performance_profile({"first": first}, thresholds, reps=2000)
    values, low, high = performance_profile(first, thresholds)
    assert values == pytest.approx(shares["first"])
    assert np.stack([low, high]) == pytest.approx(bands["first"], abs=0.045)  # a run in a task is 1/24

    better, bounds = library.get_interval_estimates(
        {"both": (first, second)},
        lambda x, y: np.array([metrics.probability_of_improvement(x, y)]),
        reps=2000,
    )
    probability, interval = probability_of_improvement(first, second)
    assert probability == pytest.approx(better["both"][0])
    assert interval == pytest.approx(tuple(bounds["both"][:, 0]), abs=0.02)
