"""Ratings against closed forms and against simulated players of known strength."""

import math

import numpy as np
import pytest

from patchwork_env.learning.evaluation import ratings
from patchwork_env.learning.evaluation.ratings import ELO, PRIOR, expected_wins, rate, show_bounds


def anchor(player=0, rating=0.0, players=2):
    """The known ratings where that of one player fixes the scale."""
    return np.where(np.arange(players) == player, rating, np.nan)


FIRST = anchor()


def two_players(wins, losses):
    """Games of two players, a circle each."""
    games = np.zeros((wins + losses, 2, 2))
    games[:wins, 1, 0] = 1
    games[wins:, 0, 1] = 1
    return games


def simulated(strengths, circles, random, spread=0.0):
    """Two games of all pairs of players with every circle, which favors some players by ``spread`` points."""
    favors = random.normal(0, spread, (circles, len(strengths))) + strengths
    chances = expected_wins(favors[:, :, None] - favors[:, None])
    wins = random.binomial(2, chances).astype(float)
    upper = np.triu(np.ones((len(strengths),) * 2), 1)
    wins = wins * upper
    return wins + (2 * upper - wins).swapaxes(1, 2)


def test_two_players_differ_by_the_logarithm_of_their_odds():
    """With many games, it is normal with the variance of Woolf; a single game is enough."""
    assert rate(two_players(1, 0), FIRST).values == pytest.approx([0, ELO * math.log(3)])
    for wins, losses in ((60, 40), (50, 50), (199, 1), (7, 93)):
        (first, second), (_, (low, high)), ahead = rate(two_players(wins, losses), FIRST)
        assert first == 0
        assert second == pytest.approx(ELO * math.log((wins + PRIOR) / (losses + PRIOR)), abs=1e-3)
        error = ELO * math.sqrt(1 / wins + 1 / losses)
        if min(wins, losses) > 10:
            assert (low, high) == pytest.approx((second - 1.96 * error, second + 1.96 * error), abs=error / 2)
        elif losses == 1:
            assert high - second > 2 * (second - low)  # hardly any game bounds it
        share = (1 + math.erf(second / error / math.sqrt(2))) / 2
        assert ahead == pytest.approx(np.array([[0, 1 - share], [share, 0]]), abs=0.06)


def test_without_a_prior_the_ratings_are_those_of_highest_likelihood(monkeypatch):
    """Where each player wins as many games as its rating lets it expect."""
    monkeypatch.setattr(ratings, "PRIOR", 1e-12)
    wins = simulated([0, 100, 250, 500], 200, np.random.default_rng(0))
    values, total = rate(wins).values, wins.sum(0)
    found = expected_wins(values[:, None] - values)
    assert (found * (total + total.T)).sum(1) == pytest.approx(total.sum(1), rel=1e-6)


def test_many_games_find_the_strengths():
    strengths = np.array([0, 60, 300, 700.0])
    found = rate(simulated(strengths, 20_000, np.random.default_rng(1)), anchor(players=4))
    assert found.values == pytest.approx(strengths, abs=15)
    for value, (low, high), strength in zip(found.values, found.intervals, strengths, strict=True):
        assert low <= value <= high
        assert low - 1e-9 <= strength <= high + 1e-9


def test_the_anchor_fixes_the_scale():
    wins = simulated([0, 60, 300], 100, np.random.default_rng(2))
    by_mean = rate(wins)
    assert by_mean.values.mean() == pytest.approx(0)
    by_player = rate(wins, anchor(1, 1500, players=3))
    assert by_player.values[1] == 1500
    assert by_player.intervals[1] == pytest.approx((1500, 1500))
    assert np.diff(by_player.values) == pytest.approx(np.diff(by_mean.values), abs=1e-4)
    assert rate(wins, mean=1000).values == pytest.approx(by_mean.values + 1000)
    assert by_mean.intervals == rate(wins).intervals != rate(wins, seed=2).intervals


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(monkeypatch):
    """Where games of a circle depend on one another, and where one player hardly ever loses."""
    monkeypatch.setattr(ratings, "DRAWS", 100)
    random, strengths, spread = np.random.default_rng(0), [0, 100, 600], 100
    truth = rate(simulated(strengths, 100_000, random, spread), anchor(players=3)).values
    covered = []
    for seed in range(50):
        intervals = rate(simulated(strengths, 100, random, spread), anchor(players=3), seed=seed).intervals
        covered.append([_holds(interval, value) for interval, value in zip(intervals, truth, strict=True)])
    assert np.mean(covered, axis=0)[1:].min() > 0.84  # 0.95 within 3.6 standard errors of 50 simulations


def _holds(interval, value):
    low, high = interval
    return (low is None or low <= value + 1e-9) and (high is None or value - 1e-9 <= high)


def test_games_of_one_circle_count_as_one():
    """A hundred circles with four equal results each say no more than a hundred games."""
    one = rate(two_players(60, 40), FIRST).intervals[1]
    four = rate(4 * two_players(60, 40), FIRST).intervals[1]
    assert four[1] - four[0] == pytest.approx(one[1] - one[0], rel=0.05)


@pytest.mark.parametrize("games", [20, 400])
def test_a_player_that_wins_everything_has_no_upper_end(games):
    found = rate(two_players(games, 0), FIRST)
    low, high = found.intervals[1]
    assert high is None
    # An interval of 95% for a share of 1 - x lost games that were never seen: x about 3.7 / games at most.
    assert low == pytest.approx(ELO * math.log(games / 3.7), abs=60)
    mirrored = rate(two_players(0, games), FIRST).intervals[1]
    assert mirrored == (None, pytest.approx(-low, abs=60))
    shown = [show_bounds(bounds) for bounds in ((None, None), (1.6, None), (None, 2.4), (-3.0, 4.0))]
    assert shown == ["unknown", "at least 2", "at most 2", "-3 to 4"]


def test_groups_that_no_upset_connects_have_open_ends_towards_each_other():
    """Players 0 and 1 beat each other; 2 and 3 beat each other, and always 0 and 1."""
    wins = np.zeros((50, 4, 4))
    wins[:, 0, 1] = wins[:, 1, 0] = wins[:, 2, 3] = wins[:, 3, 2] = 1
    wins[:, 2:, :2] = 2
    closed, no_low, no_high = (False, False), (True, False), (False, True)
    for known, expected in (
        (anchor(players=4), [closed, closed, no_high, no_high]),
        (anchor(3, players=4), [no_low, no_low, closed, closed]),
        (None, [no_low, no_low, no_high, no_high]),
    ):
        assert [(low is None, high is None) for low, high in rate(wins, known).intervals] == expected
    wins[7, 0, 2] = 1  # an upset
    assert all(None not in interval for interval in rate(wins, anchor(players=4)).intervals)


def test_players_that_no_games_connect_are_an_error():
    wins = np.zeros((5, 4, 4))
    wins[:, 0, 1] = wins[:, 2, 3] = wins[:, 1, 0] = wins[:, 3, 2] = 1
    for unconnected in ((wins,), (wins[:, 1:, 1:], np.array([1000, np.nan, np.nan]))):
        with pytest.raises(ValueError, match="no games connect"):
            rate(*unconnected)


def rate_against(known, wins, losses, seed=0):
    """The rating of a player and its interval, from wins and losses ``(circles, m)``."""
    games = np.zeros((len(wins), len(known) + 1, len(known) + 1))
    games[:, 0, 1:], games[:, 1:, 0] = wins, losses
    found = rate(games, np.array([np.nan, *known]), seed=seed)
    return found.values[0], found.intervals[0]


def test_intervals_against_known_ratings_cover_the_truth(monkeypatch):
    monkeypatch.setattr(ratings, "DRAWS", 200)
    known, random, covered = np.array([0.0, 900, 1200]), np.random.default_rng(7), 0
    for number in range(150):
        wins = random.binomial(2, expected_wins(1100 - known), (100, 3)).astype(float)
        covered += _holds(rate_against(known, wins, 2 - wins, seed=number)[1], 1100)
    assert 0.90 <= covered / 150 <= 0.99


def test_beside_others_that_are_known_one_player_is_rated_as_against_them():
    wins = simulated((1000, 1300, 1200), 60, np.random.default_rng(4))
    wins[40:, 1] = wins[40:, :, 1] = 0  # fewer games with one of them
    known = np.array([1000, 1300, np.nan])
    values, (first, second, (low, high)), _ = rate(wins, known)
    alone, _ = rate_against(known[:2], wins[:, 2, :2], wins[:, :2, 2])  # the games of the others say nothing
    assert values == pytest.approx([1000, 1300, alone], abs=0.01)
    assert (first, second) == ((1000, 1000), (1300, 1300))
    assert low < alone < high
