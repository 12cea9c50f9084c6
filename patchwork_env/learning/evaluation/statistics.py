"""Confidence intervals of a match's figures, and of figures over several runs of one configuration.

The results of a run against several opponents depend on one another, so their mean counts as one value. The
intervals are valid for three or more runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import cos, nan, pi, sin, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Z = 1.959963984540054  # the 97.5% quantile of the normal distribution: two-sided intervals of 95%
METRICS = ("win_rate", "score_difference", "score")
"""The figures of a match that compare policies; more is better."""
OF_RUNS = "Means over runs, with 95% intervals of Student's t, at least as wide as the games make them"
"""The description of figures over runs."""
ALL_OPPONENTS = "all of them"

Interval = tuple[float, float]
Floats = npt.NDArray[np.float64]

_QUANTILE = 0.975  # for two-sided intervals of 95%
_MANY = 100_000  # degrees of freedom with which Student's distribution is normal to five digits
_HALVINGS = 60


def win_rate_interval(pairs: Floats) -> Interval:
    """Return the 95% confidence interval of a win rate from pairs of games, or games with ties, ``(n,)``.

    The two games of a pair share a circle, so the unit is the pair, with result 0, 1/2 or 1. The formula adds
    ``z**2`` imagined results, half of them 1 and half 0, and takes ``mean ± z s / sqrt(n)`` of all: the
    interval of Agresti and Coull (The American Statistician 52, 1998) for results that may also be 1/2. It
    covers the true rate as often as it states, also near 0 and 1 and for few pairs.
    """
    number = len(pairs) + Z**2
    mean = (pairs.sum() + Z**2 / 2) / number
    variance = ((pairs**2).sum() + Z**2 / 2) / number - mean**2
    margin = Z * sqrt(variance / number)
    return max(0.0, float(mean - margin)), min(1.0, float(mean + margin))


def mean_interval(values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> Interval | None:
    """Return the 95% confidence interval of the mean of independent values ``(n,)``; None for a single value.

    It is ``mean ± t s / sqrt(n)`` with Student's ``t`` (Biometrika 6, 1908) of ``n - 1`` degrees of freedom.
    """
    if len(values) < 2:
        return None
    margin = student_quantile(len(values) - 1) * float(values.std(ddof=1)) / sqrt(len(values))
    return float(values.mean()) - margin, float(values.mean()) + margin


@cache
def student_quantile(degrees: int) -> float:
    """Return the 97.5% quantile of Student's distribution with at least one degree of freedom.

    Bisection of the distribution function finds it, since SciPy is not among the requirements of the package.
    """
    if degrees >= _MANY:
        return Z
    low, high = 0.0, pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (1 + _share_within(middle, degrees)) / 2 < _QUANTILE:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * sin(low) / cos(low)


def _share_within(angle: float, degrees: int) -> float:
    """Return the probability that Student's ``|t|`` is at most ``tan(angle) * sqrt(degrees)``.

    One of the finite sums 26.7.3 (odd degrees) and 26.7.4 (even degrees) of Abramowitz and Stegun, Handbook
    of Mathematical Functions (1964).
    """
    is_odd = degrees % 2
    steps = np.arange(1 + is_odd, degrees - 2, 2)
    series = np.cumprod(np.concatenate([[1.0], cos(angle) ** 2 * steps / (steps + 1)]))
    if is_odd:
        inner = float((cos(angle) * series).sum()) if degrees > 1 else 0.0
        return 2 / pi * (angle + sin(angle) * inner)
    return sin(angle) * float(series.sum())


class Curve(NamedTuple):
    """Figures at places of an axis with their 95% intervals, arrays ``(n,)``; unknown bounds are nan."""

    places: Floats
    values: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, points: Iterable[tuple[float, float, Interval | None]]) -> Curve:
        """Return the curve of points: place, figure and interval, None where it is unknown."""
        rows = [(place, value, *(bounds or (nan, nan))) for place, value, bounds in points]
        return cls(*np.array(rows, np.float64).reshape(-1, 4).T)

    def interval(self, k: int = 0) -> Interval | None:
        """Return the interval of figure ``k``; None if it is unknown."""
        return None if np.isnan(self.low[k]) else (float(self.low[k]), float(self.high[k]))


def mean_of_runs(scores: Floats, games: Floats | None = None, places: Floats | None = None) -> Curve:
    """Return the means over runs of their own means over all opponents.

    The interval is Student's ``t`` of the runs' own means; a single run has none. For win rates, which need
    ``games``, it is solved on the scale of a share, as Wilson's (Journal of the American Statistical
    Association 22, 1927). It is then at least as wide as the random results of games require, since a few
    runs that lost all games do not show that every run would.

    Args:
        scores: The scores at each place, ``(n, runs, opponents)``.
        games: The number of games of each score, in the same shape; None if scores are not shares of games.
        places: The places on an axis, ``(n,)``; zeros by default.
    """
    places = np.zeros(len(scores)) if places is None else places
    own = scores.mean(-1)
    runs, values = own.shape[1], own.mean(1)
    if runs < 2:
        return Curve(places, values, np.full_like(values, nan), np.full_like(values, nan))
    spread = student_quantile(runs - 1) ** 2 * own.var(1, ddof=1) / runs
    if games is None:
        margin = np.where(spread > 0, np.sqrt(spread), np.nan)
        return Curve(places, values, values - margin, values + margin)
    played = games.sum(-2)
    rates = (scores.mean(-2) * played + Z**2 / 2) / (played + Z**2)  # as in win_rate_interval
    luck = Z**2 * (rates * (1 - rates) / played).sum(1) / scores.shape[-1] ** 2
    rate = (values * played.sum(1) + Z**2 / 2) / (played.sum(1) + Z**2)
    width = np.maximum(spread, luck) / (rate * (1 - rate))
    middle, margin = values + width / 2, np.sqrt(width * values * (1 - values) + width**2 / 4)
    return Curve(places, values, *np.clip((middle + np.stack([-margin, margin])) / (1 + width), 0, 1))


def improvement(first: Floats, second: Floats) -> tuple[float, Interval | None]:
    """Return the probability that a run of a first configuration does better than one of a second.

    Of scores ``(runs, opponents)`` and ``(other runs, opponents)`` it is the share of pairs of runs in which
    the first has the higher score, equal ones counting one half (the statistic of Mann and Whitney), a mean
    over opponents. The interval is that of method 5 of Newcombe (Statistics in Medicine 25, 2006, pages 559
    to 573).
    """
    own, others = first[:, None], second[None]
    probability = float(((own > others) + 0.5 * (own == others)).mean())
    sizes = len(first), len(second)
    if min(sizes) < 2:
        return probability, None
    return probability, (_least(probability, *sizes), 1 - _least(1 - probability, *sizes))


def _least(probability: float, first: int, second: int) -> float:
    """Return the lower bound of a probability of improvement over so many runs."""
    low, high = 0.0, probability
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        among = (1 - middle) / (2 - middle) + middle / (1 + middle)
        variance = middle * (1 - middle) * (1 + ((first + second) / 2 - 1) * among) / (first * second)
        if probability - middle > Z * sqrt(variance):
            low = middle
        else:
            high = middle
    return low
