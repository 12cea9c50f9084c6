"""Elo ratings of players, with 95% intervals.

The model of Bradley and Terry (1952): player ``i`` beats player ``j`` with probability ``1 / (1 + 10 **
((rating[j] - rating[i]) / 400))``. The ratings maximize the likelihood.

**Prior.** Without it, the likelihood has no maximum if a player wins all games. So each of two players that
met gets :data:`PRIOR` virtual wins over the other, the correction of Haldane and Anscombe (1956).

**Intervals.** Games that share a circle are not independent, so the intervals come from the Bayesian
bootstrap (Rubin 1981) over circles. Each draw weights all games of a circle by one random number from the
exponential distribution, and replaces the virtual wins by random numbers from a gamma distribution with the
same mean; the interval is from the 2.5% to the 97.5% quantile. It stays valid where one side hardly
ever loses, unlike a bootstrap that draws circles with replacement.

**Limits.** If every player of one group won all games against every player of another, only the prior keeps
the groups at a finite distance. An interval has no end where only the prior would set it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.evaluation.statistics import Floats

ELO = 400 / log(10)  # points per unit of the logarithm of odds
PRIOR = 0.5  # the number of virtual wins of each of two players over the other
DRAWS = 1000  # the number of draws of the bootstrap

_GAMES_PER_CIRCLE = 2
_QUANTILES = 0.025, 0.975
_TINY = 1e-9  # the lowest number of virtual wins in a draw, which keeps the equations solvable
_PAIR_NORM = sqrt(2)  # the norm of the difference of two ratings as a linear function of all ratings
_MOST_STEPS = 1000
_CLOSE = 1e-3
"""The last step is shorter than this, in logarithms of odds; the error left is about its square."""

Bounds = tuple[float | None, float | None]
"""The lower and the upper end of an interval; None where it has no end."""


class Ratings(NamedTuple):
    """Ratings of players that played against one another, in Elo points."""

    values: Floats  # `(n,)`
    intervals: tuple[Bounds, ...]  # of 95%; both ends are the rating if it is known
    ahead: Floats  # `(n, n)`, the share of draws in which the rating of the row is higher than the column's


def rate(wins: Floats, known: Floats | None = None, *, mean: float = 0.0, seed: int = 0) -> Ratings:
    """Rate players from the games that they played against one another.

    Args:
        wins: The number of games with each circle that the row won against the column, ``(circles, n, n)``.
        known: Exact ratings, ``(n,)``, NaN for unknown ones; None if only the mean is known.
        mean: The mean of all ratings if no rating is known.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: Games do not connect all players, directly or through others and known ratings.
    """
    total = wins.sum(0)
    fixed = np.where(np.arange(len(total)) == 0, 0.0, np.nan) if known is None else known
    are_fixed = ~np.isnan(fixed)
    linked = np.outer(are_fixed, are_fixed)
    met = (total + total.T) > 0
    if not _reach(met | linked).all():
        raise ValueError("no games connect some of the players, directly or through others")
    random = np.random.default_rng(seed)
    weights = random.standard_exponential((DRAWS, len(wins)))
    played = (weights @ wins.reshape(len(wins), -1)).reshape(DRAWS, *met.shape)
    samples = played + _virtual_wins(random, played.shape) * met
    found, draws = _solve(fixed, (total + PRIOR * met)[None]), _solve(fixed, samples)
    if known is None:
        found, draws = (ratings - ratings.mean(1)[:, None] + mean for ratings in (found, draws))
    low, high = np.quantile(draws, _QUANTILES, axis=0)
    # A chain of wins from a player to a fixed rating gives a lower end; a chain from there, an upper end.
    beats = _reach((total > 0) | linked)
    has_low = np.all(beats, axis=1) if known is None else np.any(beats[:, are_fixed], axis=1)
    has_high = np.all(beats, axis=0) if known is None else np.any(beats[are_fixed], axis=0)
    intervals = tuple(
        (float(low[i]) if has_low[i] else None, float(high[i]) if has_high[i] else None)
        for i in range(len(total))
    )
    return Ratings(found[0], intervals, (draws[:, :, None] > draws[:, None]).mean(0))


def expected_wins(differences: npt.ArrayLike) -> Floats:
    """Return the expected share of games that a player wins, from its rating minus that of its opponent."""
    result: Floats = 1 / (1 + np.exp(-np.asarray(differences, np.float64) / ELO))
    return result


def show_bounds(interval: Bounds) -> str:
    """Return an interval of ratings as text."""
    low, high = interval
    if low is None or high is None:
        return "unknown" if low == high else f"at least {low:.0f}" if high is None else f"at most {high:.0f}"
    return f"{low:.0f} to {high:.0f}"


def _solve(known: Floats, wins: Floats) -> Floats:
    """Return the likeliest ratings, ``(k, n)``, for wins ``(k, n, n)`` and some known ratings.

    Newton's method with the steps of Sun and Tran-Dinh (Mathematical Programming 178, 2019) for generalized
    self-concordant functions, which lead to the maximum from any start.
    """
    sought = np.flatnonzero(np.isnan(known))
    games = wins + wins.swapaxes(1, 2)
    values = np.tile(np.where(np.isnan(known), np.nanmean(known), known) / ELO, (len(wins), 1))
    for _ in range(_MOST_STEPS):
        chances = expected_wins(ELO * (values[:, :, None] - values[:, None]))
        losing = chances.swapaxes(1, 2)
        gradient = (wins * losing - wins.swapaxes(1, 2) * chances).sum(2)
        curvature = games * chances * losing
        hessian = np.eye(len(known)) * curvature.sum(2, keepdims=True) - curvature
        step = np.linalg.solve(hessian[:, sought[:, None], sought], gradient[:, sought, None])[..., 0]
        length = _PAIR_NORM * np.linalg.norm(step, axis=1, keepdims=True)
        values[:, sought] += step * np.log1p(length) / np.maximum(length, _TINY)
        if length.max() < _CLOSE:
            return np.where(np.isnan(known), ELO * values, known)
    raise RuntimeError(f"ratings have not converged after {_MOST_STEPS} steps")


def _virtual_wins(random: np.random.Generator, shape: Sequence[int]) -> Floats:
    """Return random numbers of virtual wins, ``PRIOR`` on average, with the variance of a circle's weight."""
    part = PRIOR / _GAMES_PER_CIRCLE
    return np.maximum(_GAMES_PER_CIRCLE * random.standard_gamma(part, tuple(shape)), _TINY)


def _reach(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return True where a chain of edges leads from the row to the column."""
    reach = edges | np.eye(len(edges), dtype=np.bool_)
    for k in range(len(reach)):
        reach |= reach[:, k : k + 1] & reach[k]
    return reach
