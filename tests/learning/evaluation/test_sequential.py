"""Sequential tests: the statistic against a direct maximization, error rates, and matches that they end."""

from contextlib import nullcontext

import numpy as np
import pytest

from patchwork_env.agents import RandomAgent
from patchwork_env.learning.evaluation import matches, sequential
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.ratings import expected_wins
from patchwork_env.learning.evaluation.sequential import BOUNDS, SequentialTest, log_likelihood_ratio
from patchwork_env.patchwork import Game, IllegalActionError


@pytest.fixture
def backwards(monkeypatch):
    """Blocks end in the opposite order, as they may with several workers."""

    def do_jobs(function, shared, jobs, workers):
        return [(k, function(shared, jobs[k])) for k in reversed(range(len(jobs)))]

    return lambda: monkeypatch.setattr(matches, "do_jobs", do_jobs)


def largest_likelihood(counts, elo):
    """The logarithm of the largest likelihood of a mean, by trying many distributions.

    Only results 0, 1/2 and 1 occur. With the probability ``x`` of 1/2, the mean decides the other two.
    """
    mean, best = float(expected_wins(elo)), -np.inf
    low, high = 0.0, 2 * min(mean, 1 - mean)
    for _ in range(12):  # grids, each around the best point of the one before
        ends = np.linspace(low, high, 403)
        grid = ends[1:-1]
        values = counts @ np.log([1 - mean - grid / 2, grid, mean - grid / 2])
        k = int(values.argmax())
        best, low, high = values[k], ends[k], ends[k + 2]
    return best


@pytest.mark.parametrize("counts", [(30, 40, 58), (3, 1, 2), (500, 3000, 480), (1, 200, 0.001)])
@pytest.mark.parametrize("elo", [(0, 20), (-5, 5), (100, 400)])
def test_the_statistic_is_the_ratio_of_the_largest_likelihoods(counts, elo, monkeypatch):
    monkeypatch.setattr(sequential, "_INSTEAD_OF_ZERO", 1e-12)
    low, high = (largest_likelihood(np.array(counts), one) for one in elo)
    five = np.array([counts[0], 0, counts[1], 0, counts[2]])
    assert log_likelihood_ratio(five, elo) == pytest.approx(high - low, abs=1e-5)


def test_the_statistic_uses_all_five_results():
    """Near the hypotheses it is (s1 - s0) (2 s - s0 - s1) / (2 var / n), of Van den Bergh's approximation."""
    counts = np.array([200, 2200, 5000, 2400, 260])
    (s0, s1), values = expected_wins([0, 3]), np.arange(5) / 4
    mean = np.average(values, weights=counts)
    variance = np.average((values - mean) ** 2, weights=counts)
    expected = counts.sum() * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    assert log_likelihood_ratio(counts, (0, 3)) == pytest.approx(expected, rel=0.01)
    several = np.stack([counts, counts[::-1]])
    assert log_likelihood_ratio(several, (-3, 3)).sum() == pytest.approx(0, abs=1e-9), "symmetric"


@pytest.mark.parametrize(("result", "decision"), [(0.0, "H0"), (0.5, "H0"), (1.0, "H1")])
def test_results_without_variance_decide(result, decision):
    test = SequentialTest.between((0, 20))
    assert test.count(np.full(8, result)).decision == "undecided"
    last = test.count(np.full(150, result))
    assert (last.decision, "unknown (95%" in last.lines()[1]) == (decision, result != 0.5)


@pytest.mark.parametrize("elo", [0.0, 100.0])
def test_wrong_decisions_are_rare(elo):
    """2,000 matches of pairs at a hypothesis; the bound is four standard errors above 5%."""
    random, test = np.random.default_rng(3), (0.0, 100.0)
    wins, matches = float(expected_wins(elo)), 2000
    chances = [(1 - wins) ** 2, 0, 2 * wins * (1 - wins), 0, wins**2]
    counts, llr, running = np.zeros((matches, 5)), np.zeros(matches), np.arange(matches)
    while len(running):
        counts[running] += random.multinomial(8, chances, len(running))
        llr[running] = log_likelihood_ratio(counts[running], test)
        running = running[(BOUNDS[0] < llr[running]) & (llr[running] < BOUNDS[1])]
    wrong = (llr > 0) if elo == 0 else (llr < 0)
    assert 0.01 < wrong.mean() < 0.07


@pytest.mark.parametrize(
    ("elo", "message"),
    [
        ((20, 0), "sprt is 20 and 0; the Elo of H0 must be lower than that of H1"),
        ((5, 5), "sprt is 5 and 5"),
        ((0, 2000), "both within -1000 to 1000"),
        ((0, float("nan")), "the Elo of H1 is nan; it must be a finite number"),
        (("0", 20), "the Elo of H0 is '0'"),
        (5, "sprt is 5; it must be two numbers"),
        ((0, 5, 10), "it must be two numbers"),
    ],
)
def test_wrong_hypotheses_are_errors(elo, message):
    assert SequentialTest.between((-1000, 1000)).elo == (-1000, 1000)
    with pytest.raises(ValueError, match=message):
        play_matches("random", "random", 100, sprt=elo)


def test_matches_end_with_the_decision_in_any_order_of_blocks(backwards):
    reports = []
    one = play_matches("greedy", "greedy", 256, sprt=(0, 20), progress=reports.append)
    assert (reports, len(one.games), one.test.counts) == ([128], 128, (0, 0, 64, 0, 0))
    assert one.test.decision == "H0"
    assert "SPRT of 0 and 20 Elo: H0, LLR -3.78 (-2.94 to +2.94), score 50.0%" in one.table()
    backwards()
    two = play_matches("greedy", "greedy", 256, sprt=(0, 20))
    assert (two.as_dict(), two.test) == (one.as_dict(), one.test)
    contents = one.as_dict()["sprt"]
    assert (contents["elo"], contents["decision"], contents["llr"]) == ([0, 20], "H0", one.test.llr)
    assert (contents["bounds"], contents["counts"]) == (list(BOUNDS), [0, 0, 64, 0, 0])
    assert contents["elo_difference"] == 0.0
    low, high = contents["elo_difference_interval"]
    assert (float(expected_wins(low)), float(expected_wins(high))) == pytest.approx(one.interval)


def test_ties_of_nmbr9_are_half_points_and_games_may_end_without_a_decision():
    result = play_matches("random", "random", 70, seed=2, game="nmbr9", sprt=(0, 10))
    lost, _, tied, _, won = result.test.counts
    assert (lost + tied + won, tied) == (70, round(70 * result.figures.ties))
    assert result.test.score == result.win_rate
    assert result.as_dict()["sprt"]["decision"] == "undecided"


class FailsLater(RandomAgent):
    """Fails at the beginning of a game with a certain circle."""

    def __init__(self, circle):
        super().__init__()
        self.circle = circle

    def act_batch(self, states):
        circles = [Game.unchecked(states, i).circle for i in range(len(states))]
        actions = super().act_batch(states)
        return np.array([-1 if one == self.circle else k for one, k in zip(circles, actions, strict=True)])


@pytest.mark.parametrize("block", [0, 1])
def test_only_failures_before_the_decision_count(block, backwards):
    circle = play_matches("random", "random", 130, keep=129).kept[128 * block].root().circle
    backwards()
    with pytest.raises(IllegalActionError):
        play_matches(FailsLater(circle), "greedy", 256)
    with nullcontext() if block else pytest.raises(IllegalActionError):
        assert len(play_matches(FailsLater(circle), "greedy", 256, sprt=(0, 20)).games) == 128
