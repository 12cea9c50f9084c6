"""Ratings: how strong players are, on the scale of Elo, and how sure that is.

The model of Bradley and Terry (1952): player ``i`` beats player ``j`` with probability
``1 / (1 + 10 ** ((rating[j] - rating[i]) / 400))``. Of all ratings the likeliest are taken.

**Prior.** If a player wins all games the likelihood has no maximum. So each of two players that met gets
:data:`PRIOR` virtual wins over the other: with two players that is the correction of Haldane and Anscombe
(1956) for the logarithm of odds, which takes away most of its bias.

**Intervals.** Games that share a circle are not independent, whoever plays them, so the circle is the unit:
the intervals come from the Bayesian bootstrap (Rubin 1981) over circles. Each draw weights all games of a
circle by one random number from the exponential distribution, and replaces the virtual wins by random numbers
from a gamma distribution with the same mean; the interval lies between the 2.5% and the 97.5% quantile of the
ratings. Unlike a bootstrap that draws circles with replacement, this one stays honest where one side hardly
ever loses.

**Limits.** If every player of one group won all games against every player of another, the games do not say
how far apart the groups are; only the prior keeps the distance finite. An interval has no end on a side where
only such a distance would set it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ELO = 400 / log(10)
"""Points per unit of the logarithm of odds."""
PRIOR = 0.5
"""The number of virtual wins of each of two players over the other."""
DRAWS = 1000
"""The number of draws of the bootstrap."""

_GAMES_PER_CIRCLE = 2
_QUANTILES = 0.025, 0.975
_TINY = 1e-9
"""The lowest number of virtual wins in a draw, which keeps the equations solvable."""
_FAR = 10_000.0
_HALVINGS = 40
"""The steps of a bisection that looks for a rating up to ``_FAR`` points beyond those that are known."""
_PAIR_NORM = sqrt(2)
"""The norm of the difference of two ratings as a linear function of all ratings."""
_MOST_STEPS = 1000
_CLOSE = 1e-3
"""A step shorter than this, in logarithms of odds, is the last: the error left is about its square."""

Floats = npt.NDArray[np.float64]
Bounds = tuple[float | None, float | None]
"""The lower and the upper end of an interval; None where it has no end."""


class Anchor(NamedTuple):
    """What fixes the scale: the rating of one player or, if ``player`` is None, the mean of all ratings."""

    player: int | None = None
    rating: float = 0.0


@dataclass(frozen=True)
class Ratings:
    """Ratings of players that played with one another.

    Attributes:
        values: The ratings in Elo points, ``(n,)``.
        intervals: The 95% interval of each rating; both ends of the anchor's interval are its rating.
        ahead: How sure it is that the player of the row is stronger than that of the column, ``(n, n)``: the
            share of the bootstrap's draws in which its rating is higher.
        expected: The share of games that the row wins against the column, by the ratings, ``(n, n)``.
    """

    values: Floats
    intervals: tuple[Bounds, ...]
    ahead: Floats
    expected: Floats


MEAN_AT_ZERO = Anchor()


def rate(wins: Floats, anchor: Anchor = MEAN_AT_ZERO, *, seed: int = 0) -> Ratings:
    """Rates players from the games that they played with one another, and says how sure that is.

    Args:
        wins: The number of games with each circle that the row won against the column, ``(circles, n, n)``.
        anchor: What fixes the scale.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: There are fewer than two players, or games do not connect them all.
    """
    total: Floats = wins.sum(0)
    met = (total + total.T) > 0
    if len(total) < 2:
        raise ValueError(f"ratings need two players or more, not {len(total)}")
    if not _reach(met).all():
        raise ValueError("there are players that no games connect, not even by way of others")
    known = np.full(len(total), np.nan)
    known[anchor.player or 0] = 0.0
    values = _anchored(_solve(known, (total + PRIOR * met)[None]), anchor)[0]
    draws = _anchored(_solve(known, _samples(wins, met, seed)), anchor)
    low, high = np.quantile(draws, _QUANTILES, axis=0)
    open_low, open_high = _open_ends(total, anchor.player)
    intervals = tuple(
        (None if open_low[i] else float(low[i]), None if open_high[i] else float(high[i]))
        for i in range(len(values))
    )
    ahead = (draws[:, :, None] > draws[:, None]).mean(0)
    return Ratings(values, intervals, ahead, expected_wins(values[:, None] - values))


def rate_against(ratings: Floats, wins: Floats, losses: Floats, *, seed: int = 0) -> tuple[float, Bounds]:
    """The rating of one player who met opponents of known ratings, and its 95% interval.

    The ratings ``(m,)`` are taken as exact. Wins and losses, ``(circles, m)``, are the numbers of games with
    each circle that the player won and lost against each of them.
    """
    random = np.random.default_rng(seed)
    weights = random.standard_exponential((DRAWS, len(wins)))
    virtual = virtual_wins(random, (2, DRAWS, len(ratings)))
    draws = _solve_against(ratings, weights @ wins + virtual[0], weights @ losses + virtual[1])
    low, high = np.quantile(draws, _QUANTILES)
    value = _solve_against(ratings, wins.sum(0, keepdims=True) + PRIOR, losses.sum(0, keepdims=True) + PRIOR)
    return float(value[0]), (float(low) if wins.any() else None, float(high) if losses.any() else None)


def rate_with_known(known: Floats, wins: Floats, *, seed: int = 0) -> tuple[Floats, tuple[Bounds, ...]]:
    """The ratings of players who met one another and others of known ratings, and their 95% intervals.

    Args:
        known: The known ratings, which are taken as exact, ``(n,)``; NaN for players whose rating is sought.
        wins: The number of games with each circle that the row won against the column, ``(circles, n, n)``.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: No rating is known, or no games connect a player to those whose ratings are.
    """
    total, is_known = wins.sum(0), ~np.isnan(known)
    met = (total + total.T) > 0
    if not (is_known.any() and _reach(met | np.outer(is_known, is_known)).all()):
        raise ValueError("there are players that no games connect to one whose rating is known")
    values = _solve(known, (total + PRIOR * met)[None])[0]
    draws = _solve(known, _samples(wins, met, seed))
    low, high = np.quantile(draws, _QUANTILES, axis=0)
    beats = _reach((total > 0) | np.outer(is_known, is_known))
    intervals = tuple(
        (
            float(low[i]) if beats[i, is_known].any() else None,
            float(high[i]) if beats[is_known, i].any() else None,
        )
        for i in range(len(known))
    )
    return values, intervals


def expected_wins(differences: npt.ArrayLike) -> Floats:
    """The expected share of games that a player wins, from its rating minus that of its opponent."""
    result: Floats = 1 / (1 + np.exp(-np.asarray(differences, np.float64) / ELO))
    return result


def show_bounds(interval: Bounds) -> str:
    """An interval of ratings as text."""
    low, high = interval
    if low is None or high is None:
        return "unknown" if low == high else f"at least {low:.0f}" if high is None else f"at most {high:.0f}"
    return f"{low:.0f} to {high:.0f}"


def _solve_against(ratings: Floats, wins: Floats, losses: Floats) -> Floats:
    """The likeliest ratings, ``(k,)``, for wins and losses ``(k, m)`` against known ratings.

    At the likeliest rating the expected number of wins is the number of wins. It grows with the rating, so
    bisection finds it.
    """
    low = np.full(len(wins), ratings.min() - _FAR)
    high = np.full(len(wins), ratings.max() + _FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        expected = ((wins + losses) * expected_wins(middle[:, None] - ratings)).sum(1)
        is_above = expected > wins.sum(1)
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return (low + high) / 2


def _solve(known: Floats, wins: Floats) -> Floats:
    """The likeliest ratings, ``(k, n)``, for wins ``(k, n, n)`` where some of the ratings are known.

    Newton's method with the steps of Sun and Tran-Dinh (Mathematical Programming 178, 2019) for generalized
    self-concordant functions, of which sums of logistic losses are one: they lead to the maximum from any
    start.
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
            return ELO * values
    raise RuntimeError(f"ratings still move after {_MOST_STEPS} steps")


def _anchored(ratings: Floats, anchor: Anchor) -> Floats:
    """Ratings ``(k, n)`` on the scale of the anchor."""
    zero = ratings.mean(1) if anchor.player is None else ratings[:, anchor.player]
    return ratings - zero[:, None] + anchor.rating


def _samples(wins: Floats, met: npt.NDArray[np.bool_], seed: int) -> Floats:
    """The wins as each draw of the bootstrap weights them, ``(DRAWS, n, n)``."""
    random = np.random.default_rng(seed)
    weights = random.standard_exponential((DRAWS, len(wins)))
    played = (weights @ wins.reshape(len(wins), -1)).reshape(DRAWS, *met.shape)
    return played + virtual_wins(random, (DRAWS, *met.shape)) * met


def virtual_wins(random: np.random.Generator, shape: Sequence[int]) -> Floats:
    """Random numbers of virtual wins, ``PRIOR`` on average; they vary like a part of a circle's weight."""
    part = PRIOR / _GAMES_PER_CIRCLE
    return np.maximum(_GAMES_PER_CIRCLE * random.standard_gamma(part, tuple(shape)), _TINY)


# --- what the games do not say ----------------------------------------------------------------------------


def _open_ends(wins: Floats, anchor: int | None) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each player whether the interval has no lower end, and whether it has no upper end.

    A chain of wins from a player to the anchor gives its rating a lower end, and one from the anchor to the
    player an upper end. If the mean is fixed, there must be such chains to, or from, all other players.
    """
    beats = _reach(wins > 0)
    if anchor is not None:
        return ~beats[:, anchor], ~beats[anchor, :]
    return ~np.all(beats, axis=1), ~np.all(beats, axis=0)


def _reach(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether a chain of edges leads from the row to the column."""
    reach = edges | np.eye(len(edges), dtype=np.bool_)
    for k in range(len(reach)):
        reach |= reach[:, k : k + 1] & reach[k]
    return reach
