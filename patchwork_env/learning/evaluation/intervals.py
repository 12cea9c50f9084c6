"""How sure figures are: intervals of win rates and of means, also over several runs of one recipe."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
"""The confidence level of all intervals: the share of cases in which the truth lies within."""
Z = 1.959963984540054
"""The 97.5% quantile of the normal distribution: two-sided intervals of 95%."""
RESAMPLES = 2000
"""The number of draws of the bootstrap over runs."""

Interval = tuple[float, float]
Floats = npt.NDArray[np.float64]

_QUANTILE = (1 + CONFIDENCE) / 2
_QUARTER = 0.25
_MANY = 100_000
"""Degrees of freedom from which on Student's distribution is the normal one, to five digits."""
_HALVINGS = 60


def win_rate_interval(pairs: Floats) -> Interval:
    """The 95% confidence interval of a win rate measured by pairs of games, or by games that may be ties.

    The two games of a pair share a circle and are not independent, so the unit is the pair, with result 0,
    1/2 or 1; a single game that may be a tie has the same results. To the pairs that were played the formula
    adds ``z**2`` imagined ones, half of them won twice and half lost twice. Of all of them it takes
    ``mean ± z s / sqrt(n)``. That is the interval of Agresti and Coull (The American Statistician 52, 1998),
    for results that may also be 1/2. It stays honest where the plain formula breaks down: at rates near 0 and
    1, and for few pairs.

    Args:
        pairs: The share of games that the agent won in each pair, or the result of each game, ``(n,)``.
    """
    number = len(pairs) + Z**2
    mean = (pairs.sum() + Z**2 / 2) / number
    variance = ((pairs**2).sum() + Z**2 / 2) / number - mean**2
    margin = Z * sqrt(variance / number)
    return max(0.0, float(mean - margin)), min(1.0, float(mean + margin))


def mean_interval(values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> Interval | None:
    """The 95% confidence interval of a mean, ``mean ± t s / sqrt(n)``; None for a single value.

    ``t`` is the 97.5% quantile of Student's distribution (Biometrika 6, 1908) with ``n - 1`` degrees of
    freedom, which is wider than the normal one where there are few values.

    Args:
        values: Independent values, ``(n,)``.
    """
    if len(values) < 2:
        return None
    margin = student_quantile(len(values) - 1) * float(values.std(ddof=1)) / sqrt(len(values))
    return float(values.mean()) - margin, float(values.mean()) + margin


def student_quantile(degrees: int) -> float:
    """The 97.5% quantile of Student's distribution.

    It is found by bisection of the distribution function, so that matches need nothing but NumPy: SciPy is
    not among the requirements of the package.

    Args:
        degrees: The degrees of freedom, at least 1.
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
    """The probability that the absolute value of Student's ``t`` is at most ``tan(angle) * sqrt(degrees)``.

    It is one of the finite sums 26.7.3 (odd degrees) and 26.7.4 (even degrees) of Abramowitz and Stegun,
    Handbook of Mathematical Functions (1964).
    """
    square = cos(angle) ** 2
    if degrees % 2:
        steps = np.arange(2, degrees - 1, 2)
        terms = cos(angle) * np.cumprod(np.concatenate([[1.0], square * steps / (steps + 1)]))
        inner = float(terms.sum()) if degrees > 1 else 0.0
        return 2 / pi * (angle + sin(angle) * inner)
    steps = np.arange(1, degrees - 2, 2)
    return sin(angle) * float(np.cumprod(np.concatenate([[1.0], square * steps / (steps + 1)])).sum())


def interquartile_mean(scores: Floats) -> float:
    """The mean of the middle half of all scores: a quarter of them is left out at each end.

    A few runs that fail or excel move it less than they move the mean, and it uses more of the scores than
    the median does (Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice",
    NeurIPS 2021). As there, the number of scores left out at each end is rounded down.

    Args:
        scores: The scores, an array of any shape.
    """
    return float(middle_means(scores.reshape(-1)))


def middle_means(scores: Floats) -> Floats:
    """The interquartile means along the last axis, ``(..., n)`` to ``(...)``."""
    ordered = np.sort(scores, axis=-1)
    number = ordered.shape[-1]
    cut = int(_QUARTER * number)
    means: Floats = ordered[..., cut : number - cut].mean(-1)
    return means


def interquartile_interval(scores: Floats, *, seed: int = 0) -> Interval | None:
    """The 95% confidence interval of the interquartile mean of some runs' scores; None for a single run.

    It comes from the stratified bootstrap of Agarwal et al. (NeurIPS 2021): each draw takes, for each task
    independently, as many runs as there are, with replacement. The interval lies between the 2.5% and the
    97.5% quantile of the interquartile means of all draws.

    Args:
        scores: The score of each run in each task, such as against each opponent, ``(runs, tasks)``.
        seed: The seed of the draws.
    """
    if len(scores) < 2:
        return None
    low, high = bounds(middle_means(resampled(scores, seed).reshape(RESAMPLES, -1)))
    return float(low), float(high)


def resampled(scores: Floats, seed: int = 0) -> Floats:
    """The draws of the bootstrap of :func:`interquartile_interval`, ``(RESAMPLES, runs, tasks)``."""
    runs, tasks = scores.shape
    chosen = np.random.default_rng(seed).integers(runs, size=(RESAMPLES, runs, tasks))
    return np.take_along_axis(scores[None], chosen, axis=1)


def bounds(drawn: Floats) -> Floats:
    """The bounds of 95% intervals from the figures of all draws, ``(draws, ...)`` to ``(2, ...)``."""
    quantiles: Floats = np.quantile(drawn, [1 - _QUANTILE, _QUANTILE], axis=0)
    return quantiles
