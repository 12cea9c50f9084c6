"""Intervals against other formulas, other libraries and simulations."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.learning.evaluation.intervals import (
    Z,
    interquartile_interval,
    interquartile_mean,
    mean_interval,
    student_quantile,
)


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    assert mean_interval(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx((0.4457, 4.5543), abs=1e-4)
    assert mean_interval(np.array([3.0])) is None


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_interval_of_few_values_covers_the_truth_as_often_as_it_says(n: int) -> None:
    """With the quantile of the normal distribution it would be 70% of two values and 88% of five."""
    values = np.random.default_rng(n).normal(3.0, 2.0, (4000, n))
    intervals = [mean_interval(row) for row in values]
    covered = np.mean([low <= 3.0 <= high for low, high in intervals])
    assert covered == pytest.approx(0.95, abs=0.012)  # three and a half standard errors


def test_quantiles_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for degrees in (*range(1, 60), 499, 1000, 99_999):
        assert student_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-10)
    assert student_quantile(100_000) == Z


@pytest.mark.parametrize("shape", [(3, 1), (5, 3), (8, 2)])
def test_the_interquartile_mean_is_that_of_scipy(shape: tuple[int, int]) -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = np.random.default_rng(1).normal(size=shape)
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


def test_a_run_that_fails_moves_the_interquartile_mean_little() -> None:
    scores = np.array([[0.5], [0.51], [0.49], [0.5], [0.52], [0.48], [0.5], [0.0]])
    assert interquartile_mean(scores) == pytest.approx(0.5, abs=0.01)


def test_the_interval_over_runs_draws_runs_for_each_task_by_itself() -> None:
    """Where the runs of a task agree, the draws do not move it, however far the tasks are apart."""
    assert interquartile_interval(np.tile([0.2, 0.8], (5, 1))) == pytest.approx((0.5, 0.5))
    scores = np.random.default_rng(0).normal(0.5, 0.1, (10, 2))
    low, high = interquartile_interval(scores)
    assert low < interquartile_mean(scores) < high
    assert high - low == pytest.approx(2 * Z * 0.1 / np.sqrt(20), rel=0.5)
    assert interquartile_interval(scores) == (low, high)
    assert interquartile_interval(scores[:1]) is None
