"""Ratings: how strong each of some players is, on the scale of Elo, and how sure that is.

The model of Bradley and Terry (1952): player ``i`` beats player ``j`` with probability
``1 / (1 + 10 ** ((rating[j] - rating[i]) / 400))``. The library choix finds the likeliest ratings.

**Prior.** If somebody wins all games the likelihood has no maximum. So each of two players that met gets
:data:`PRIOR` virtual wins over the other: with two players that is the correction of Haldane and Anscombe
(1956) for the logarithm of odds, which takes away most of its bias.

**Intervals.** Games that share a circle are not independent, whoever plays them, so the circle is the unit:
the intervals come from the Bayesian bootstrap (Rubin 1981) over circles. Each draw weights all games of a
circle by one random number of the exponential distribution, and the virtual wins by such of the gamma
distribution with their number as its mean; the interval lies between the 2.5% and 97.5% quantiles of the
ratings. Other than drawing circles with replacement, that stays honest where one side hardly ever loses.

**Limits.** Players fall into groups if those of one won all games against those of another. How far apart
such groups are the games do not say; only the prior keeps the distance finite. Intervals that end at such a
distance have no end on that side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ELO = 400 / log(10)
"""Points per unit of the logarithm of odds."""
PRIOR = 0.5
"""Virtual wins of each of two players over the other."""
DRAWS = 1000
"""Draws of the bootstrap."""

_GAMES_PER_CIRCLE = 2
_QUANTILES = 0.025, 0.975
_TINY = 1e-9
"""Least virtual wins in a draw; keeps the equations solvable."""
_FAR = 10_000.0
_HALVINGS = 40
"""Steps of a bisection that looks for a rating as far as ``_FAR`` points beyond those that are known."""
_PAIR_NORM = sqrt(2)
"""Norm of the difference of two ratings as a function of all of them."""
_MOST_STEPS = 1000
_CLOSE = 1e-3
"""A step, in logarithms of odds, that is the last one: what it leaves to do is of the size of its square."""
_PRECISION = 1e-7
"""How exact the logarithms of odds are."""

Floats = npt.NDArray[np.float64]
Bounds = tuple[float | None, float | None]
"""Ends of an interval; None where it has no end."""


class Anchor(NamedTuple):
    """What fixes the scale: the player whose rating is given, or the mean of all if ``player`` is None."""

    player: int | None = None
    rating: float = 0.0


@dataclass(frozen=True)
class Ratings:
    """Ratings of players that played with one another.

    Attributes:
        values: ``(n,)``, Elo points.
        intervals: The 95% interval of each; both ends of the anchor's are its rating.
        ahead: ``(n, n)``, the share of the bootstrap's draws in which the row is above the column: how sure
            it is that the row is the stronger player.
        expected: ``(n, n)``, the share of games that the ratings let the row win against the column.
    """

    values: Floats
    intervals: tuple[Bounds, ...]
    ahead: Floats
    expected: Floats


MEAN_AT_ZERO = Anchor()


def rate(wins: Floats, anchor: Anchor = MEAN_AT_ZERO, *, seed: int = 0) -> Ratings:
    """Rates players from the games that they played with one another, and says how sure that is.

    Args:
        wins: ``(circles, n, n)``, the games with each circle that the row won against the column.
        anchor: What fixes the scale.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: There are fewer than two players, or games do not connect them all.
    """
    total = _checked(wins)
    met = (total + total.T) > 0
    values = _solve(total + PRIOR * met)
    draws = np.array([_anchored(_solve(sample, values), anchor) for sample in _samples(wins, met, seed)])
    low, high = np.quantile(draws, _QUANTILES, axis=0)
    values = _anchored(values, anchor)
    open_low, open_high = _open_ends(total, anchor.player)
    intervals = tuple(
        (None if open_low[i] else float(low[i]), None if open_high[i] else float(high[i]))
        for i in range(len(values))
    )
    ahead = (draws[:, :, None] > draws[:, None]).mean(0)
    return Ratings(values, intervals, ahead, expected_wins(values[:, None] - values))


def rate_against(ratings: Floats, wins: Floats, losses: Floats, *, seed: int = 0) -> tuple[float, Bounds]:
    """The rating of one player who met others of known ratings, and its 95% interval.

    Args:
        ratings: ``(m,)``, of the others; taken as exact.
        wins: ``(circles, m)``, the games with each circle that the player won against each of them.
        losses: ``(circles, m)``, those that it lost.
        seed: The seed of the bootstrap.
    """
    random = np.random.default_rng(seed)
    weights = random.standard_exponential((DRAWS, len(wins)))
    virtual = virtual_wins(random, (2, DRAWS, len(ratings)))
    draws = _solve_against(ratings, weights @ wins + virtual[0], weights @ losses + virtual[1])
    low, high = np.quantile(draws, _QUANTILES)
    value = _solve_against(ratings, wins.sum(0, keepdims=True) + PRIOR, losses.sum(0, keepdims=True) + PRIOR)
    return float(value[0]), (float(low) if wins.any() else None, float(high) if losses.any() else None)


def rate_beside(known: Floats, wins: Floats, *, seed: int = 0) -> tuple[Floats, tuple[Bounds, ...]]:
    """The ratings of players who met one another and others of known ratings, and their 95% intervals.

    Args:
        known: ``(n,)``, the ratings that are known, which are taken as exact; NaN where one is sought.
        wins: ``(circles, n, n)``, the games with each circle that the row won against the column.
        seed: The seed of the bootstrap.

    Raises:
        ValueError: No rating is known, or no games connect a player to those whose ratings are.
    """
    total, is_known = wins.sum(0), ~np.isnan(known)
    met = (total + total.T) > 0
    if not (is_known.any() and _reach(met | np.outer(is_known, is_known)).all()):
        raise ValueError("there are players that no games connect to one whose rating is known")
    values = _solve_beside(known, (total + PRIOR * met)[None])[0]
    draws = _solve_beside(known, _samples(wins, met, seed))
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


def check_installed() -> None:
    """Raises ModuleNotFoundError if the library that :func:`rate` needs is not installed."""
    if find_spec("choix") is None:
        raise ModuleNotFoundError("ratings need choix: pip install 'patchwork-env[train]'", name="choix")


def expected_wins(differences: npt.ArrayLike) -> Floats:
    """The share of games won by players whose ratings are so much above those of their opponents."""
    result: Floats = 1 / (1 + np.exp(-np.asarray(differences, np.float64) / ELO))
    return result


def _checked(wins: Floats) -> Floats:
    """The games of all circles together, ``(n, n)``."""
    total: Floats = wins.sum(0)
    if len(total) < 2:
        raise ValueError(f"ratings need two players or more, not {len(total)}")
    if not _reach((total + total.T) > 0).all():
        raise ValueError("there are players that no games connect, not even by way of others")
    return total


def _solve(wins: Floats, start: Floats | None = None) -> Floats:
    """The likeliest ratings, around 0; all who met have beaten each other, if ever so little."""
    import choix  # of the extra ``train``

    first = None if start is None else start / ELO
    parameters: Floats = choix.ilsr_pairwise_dense(
        wins, initial_params=first, max_iter=10_000, tol=_PRECISION
    )
    return ELO * parameters


def _solve_against(ratings: Floats, wins: Floats, losses: Floats) -> Floats:
    """The likeliest ratings, ``(k,)``, for wins and losses ``(k, m)`` against known ratings.

    There the player wins as many games as its rating lets it expect, which grows with the rating.
    """
    low = np.full(len(wins), ratings.min() - _FAR)
    high = np.full(len(wins), ratings.max() + _FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        expected = ((wins + losses) * expected_wins(middle[:, None] - ratings)).sum(1)
        is_above = expected > wins.sum(1)
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return (low + high) / 2


def _solve_beside(known: Floats, wins: Floats) -> Floats:
    """The likeliest ratings, ``(k, n)``, for wins ``(k, n, n)`` where some are known.

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
        bends = games * chances * losing
        hessian = np.eye(len(known)) * bends.sum(2, keepdims=True) - bends
        step = np.linalg.solve(hessian[:, sought[:, None], sought], gradient[:, sought, None])[..., 0]
        length = _PAIR_NORM * np.linalg.norm(step, axis=1, keepdims=True)
        values[:, sought] += step * np.log1p(length) / np.maximum(length, _TINY)
        if length.max() < _CLOSE:
            return ELO * values
    raise RuntimeError(f"ratings still move after {_MOST_STEPS} steps")


def _anchored(ratings: Floats, anchor: Anchor) -> Floats:
    zero = ratings.mean() if anchor.player is None else ratings[anchor.player]
    return ratings - zero + anchor.rating


def _samples(wins: Floats, met: npt.NDArray[np.bool_], seed: int) -> Floats:
    """The games as the bootstrap weights them, ``(DRAWS, n, n)``."""
    random = np.random.default_rng(seed)
    weights = random.standard_exponential((DRAWS, len(wins)))
    played = (weights @ wins.reshape(len(wins), -1)).reshape(DRAWS, *met.shape)
    return played + virtual_wins(random, (DRAWS, *met.shape)) * met


def virtual_wins(random: np.random.Generator, shape: Sequence[int]) -> Floats:
    """The prior as the bootstrap weights it: as a part of a circle, of which both games go to one side."""
    part = PRIOR / _GAMES_PER_CIRCLE
    return np.maximum(_GAMES_PER_CIRCLE * random.standard_gamma(part, tuple(shape)), _TINY)


# --- what the games do not say ----------------------------------------------------------------------------


def _open_ends(wins: Floats, anchor: int | None) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each player whether the interval has no lower end, and whether it has no upper end.

    A distance between two players is bounded from below if the lower one of them, or someone whom a chain of
    wins leads to it, won a game in its place. Relative to the mean, all distances must be bounded.
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
