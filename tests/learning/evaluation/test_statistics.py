"""Intervals against other formulas, other libraries and simulations."""

import numpy as np
import pytest

from patchwork_env.learning.evaluation import statistics

FIRST = np.array([[0.6, 0.9], [0.7, 0.8], [0.2, 0.8], [0.9, 0.4], [0.65, 0.7]])
SECOND = np.array([[0.5, 0.8], [0.7, 0.5], [0.1, 0.6]])


def test_the_interval_of_a_mean_is_that_of_student():
    interval = statistics.mean_interval(np.array([1.0, 2.0, 3.0, 4.0]))
    assert interval == pytest.approx((0.4457, 4.5543), abs=1e-4)
    assert statistics.mean_interval(np.array([3.0, 1.0])) == pytest.approx((-10.7062, 14.7062), abs=1e-4)
    assert statistics.mean_interval(np.array([3.0])) is None
    tables = {1: 12.7062, 2: 4.3027, 3: 3.1824, 9: 2.2622, 10: 2.2281, 30: 2.0423, 120: 1.9799, 10**6: 1.96}
    for degrees, quantile in tables.items():
        assert statistics.student_quantile(degrees) == pytest.approx(quantile, abs=5e-5)


def simulated(runs, opponents, games, spread, repeats=4000):
    """Win rates and games of runs that are strong or weak against all at once, and the true mean."""
    random = np.random.default_rng(runs + opponents)
    levels = np.array([2.0, 1.0, -1.0])[:opponents]

    def rates(*shape):
        return 1 / (1 + np.exp(-levels - spread * random.normal(size=(*shape, 1))))

    measured = random.binomial(games, rates(repeats, runs)) / games
    return measured, np.full_like(measured, games), float(rates(200_000).mean())


@pytest.mark.parametrize("opponents", [1, 3])
@pytest.mark.parametrize("runs", [3, 5, 10])
def test_intervals_over_runs_cover_the_truth_as_often_as_they_say(runs, opponents):
    """With draws of their own for each opponent it would be 64% of five runs against three opponents.

    Runs as strong as each other have intervals as wide as luck: below it would be 95%, since some runs are
    alike by luck, and with too much of it hardly any miss.
    """
    for spread, number, least, most in (
        *((0.5, 20, 0.93, 0.99), (0.5, 50, 0.93, 0.975), (0.5, 1000, 0.93, 0.97)),
        *((0, 20, 0.965, 0.996), (0, 50, 0.965, 0.996), (0, 1000, 0.965, 0.996)),
    ):
        scores, games, truth = simulated(runs, opponents, number, spread)
        assert least <= share_covered(statistics.mean_of_runs(scores, games), truth) <= most
    scores, _, truth = simulated(runs, opponents, 1000, spread=0.5)
    assert 0.92 <= share_covered(statistics.mean_of_runs(scores), truth) <= 0.97


def share_covered(band, truth):
    return float(((band.low <= truth) & (truth <= band.high)).mean())


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_intervals_of_the_probability_of_improvement_cover_it(runs):
    """Of normal scores that differ by one standard deviation, which is 76% of all pairs."""
    random = np.random.default_rng(runs)
    pairs = random.normal(size=(600, 2, runs, 1)) + np.array([1, 0])[:, None, None]
    intervals = [statistics.improvement(*pair)[1] for pair in pairs]
    assert 0.92 <= np.mean([low <= 0.7602 <= high for low, high in intervals]) <= 0.985


def test_the_mean_over_runs_is_that_of_their_own_means():
    _, (value,), (low,), (high,) = statistics.mean_of_runs(FIRST[None])
    own = FIRST.mean(1)
    assert value == pytest.approx(own.mean())
    assert (low, high) == pytest.approx(statistics.mean_interval(own))
    for runs in ([0], [0, 0]):  # one run, and equal ones, say nothing of the spread
        assert statistics.mean_of_runs(FIRST[None, runs]).interval() is None


def test_intervals_of_win_rates_know_the_games_and_end_at_0_and_1():
    """Three runs that lost all of their games: as sure as all games together, in Wilson's interval."""
    lost = statistics.mean_of_runs(np.zeros((1, 3, 1)), np.full((1, 3, 1), 16.0)).interval()
    assert lost == pytest.approx((0.0, statistics.Z**2 / (48 + statistics.Z**2)))
    won = statistics.mean_of_runs(np.ones((1, 3, 1)), np.full((1, 3, 1), 16.0)).interval()
    assert won == pytest.approx((1 - lost[1], 1.0))
    of_many = statistics.mean_of_runs(np.ones((300, 2, 1)), np.arange(1.0, 601).reshape(300, 2, 1))
    assert of_many.high.max() == 1  # not above it by an error of rounding
    low, high = statistics.mean_of_runs(np.array([[[0.9], [0.99]]]), np.full((1, 2, 1), 1000.0)).interval()
    assert 0 < low < 0.5 < 0.99 < high < 1


def test_few_runs_are_not_sure_to_do_better():
    """All pairs are won by the first; three against three are so by chance alone in one case of ten."""
    for runs, least in ((2, 0.386), (3, 0.501), (5, 0.643)):
        better, worse = np.ones((runs, 1)), np.zeros((runs, 1))
        probability, interval = statistics.improvement(better, worse)
        assert probability == 1
        assert interval == pytest.approx((least, 1), abs=0.001)
        assert statistics.improvement(worse, better)[1] == pytest.approx((0, 1 - least), abs=0.001)


def test_the_probability_of_improvement_counts_pairs():
    """Of 9 pairs, 5 and one of equals against the first opponent, 7 and two of equals against the second."""
    probability, (low, high) = statistics.improvement(FIRST[:3], SECOND)
    assert probability == pytest.approx(((5 + 0.5) / 9 + (7 + 1) / 9) / 2)
    assert low < probability < high
    mirrored, bounds = statistics.improvement(SECOND, FIRST[:3])
    assert mirrored == pytest.approx(1 - probability)
    assert bounds == pytest.approx((1 - high, 1 - low), abs=0.02)
    assert statistics.improvement(FIRST[:1], SECOND)[1] is None
