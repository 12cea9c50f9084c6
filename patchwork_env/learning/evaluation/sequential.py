"""The sequential probability ratio test (SPRT), which ends a match as soon as the result is clear.

The test decides between two hypotheses on the strength of an agent: H0 and H1, each a difference in Elo. The
score of an agent that is ``d`` points of Elo stronger is ``1 / (1 + 10 ** (-d / 400))``. If one of the
hypotheses is true, the test decides for the other one with a probability of 5% at most.

**Unit.** The test counts pairs of games with the same circle by their result: 0, 1/4, 1/2, 3/4 or 1 (the
pentanomial model). The two games of a pair are not independent. A deck of NMBR 9 counts as a pair with the
result 0, 1/2 or 1.

**Statistic.** The distribution of these results is unknown, so the test is a generalized one: the logarithm
of the ratio (LLR) of the largest likelihoods under H1 and under H0, over all distributions with the mean that
the hypothesis gives. Sources: M. Van den Bergh, Proposition 1.1 of the note
https://www.cantate.be/Fishtest/support_MLE_multinomial.pdf; A. B. Owen, Biometrika 75 (1988).

**Bounds.** The match ends where the LLR leaves ``log(beta / (1 - alpha)) ... log((1 - beta) / alpha)``
(A. Wald, The Annals of Mathematical Statistics 16, 1945).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import as_number
from patchwork_env.core.names import short_repr
from patchwork_env.learning.evaluation.ratings import ELO, Bounds, expected_wins, show_bounds
from patchwork_env.learning.evaluation.statistics import Floats, Interval, win_rate_interval

ALPHA = BETA = 0.05  # the highest probabilities of deciding for H1 if H0 is true, and for H0 if H1 is
BOUNDS = log(BETA / (1 - ALPHA)), log((1 - BETA) / ALPHA)
H0, H1, UNDECIDED = "H0", "H1", "undecided"
MOST_GAMES = 20_000  # the default of the most games of a match with a test
RESULTS = np.arange(5) / 4  # the possible results of a pair

_HIGHEST_ELO = 1000.0
_INSTEAD_OF_ZERO = 1e-3
"""The value in place of a count of zero, so that results can have any mean, as in fishtest."""
_HALVINGS = 64  # bisection steps, which reach the precision of a float


@dataclass(frozen=True)
class SequentialTest:
    """A sequential test and its counts.

    Attributes:
        elo: The difference in Elo under H0 and under H1, the lower one first.
        counts: The number of pairs with each of the :data:`RESULTS`.
    """

    elo: tuple[float, float]
    counts: tuple[int, ...] = (0,) * len(RESULTS)

    @classmethod
    def between(cls, elo: Any) -> Self:
        """Return a new test; ValueError unless ``elo`` is two numbers, the lower one first."""
        if not isinstance(elo, list | tuple) or len(elo) != 2:
            raise ValueError(f"sprt is {short_repr(elo)}; it must be two numbers, the Elo of H0 and of H1")
        low, high = (as_number(one, f"the Elo of {name}") for one, name in zip(elo, (H0, H1), strict=True))
        if not -_HIGHEST_ELO <= low < high <= _HIGHEST_ELO:
            raise ValueError(
                f"sprt is {low:g} and {high:g}; the Elo of H0 must be lower than that of H1, and both "
                f"within {-_HIGHEST_ELO:g} to {_HIGHEST_ELO:g}"
            )
        return cls((low, high))

    def count(self, results: Floats) -> Self:
        """Return the test with the results of more pairs, ``(n,)``."""
        more = np.bincount(np.rint(4 * results).astype(np.int64), minlength=len(RESULTS))
        return replace(self, counts=tuple((np.array(self.counts) + more).tolist()))

    @property
    def llr(self) -> float:
        """The logarithm of the ratio of likelihoods, H1 over H0."""
        return float(log_likelihood_ratio(np.array(self.counts), self.elo))

    @property
    def decision(self) -> str:
        """``"H0"``, ``"H1"`` or ``"undecided"``."""
        low, high = BOUNDS
        return H0 if self.llr <= low else H1 if self.llr >= high else UNDECIDED

    @property
    def score(self) -> float:
        """The mean result of a pair."""
        return float(np.average(RESULTS, weights=self.counts))

    @property
    def interval(self) -> Interval:
        """The 95% interval of the score, not adjusted for stopping early."""
        return win_rate_interval(np.repeat(RESULTS, self.counts))

    @property
    def elo_interval(self) -> Bounds:
        """The interval in Elo; an end is None where it is not finite."""
        low, high = self.interval
        return elo_of(low), elo_of(high)

    def as_dict(self) -> dict[str, Any]:
        """Return the test as plain data, for JSON."""
        return {
            "elo": list(self.elo),
            "decision": self.decision,
            "llr": self.llr,
            "bounds": list(BOUNDS),
            "counts": list(self.counts),
            "elo_difference": elo_of(self.score),
            "elo_difference_interval": list(self.elo_interval),
        }

    def __str__(self) -> str:
        low, high = BOUNDS
        return f"LLR {self.llr:+.2f} ({low:+.2f} to {high:+.2f}), score {self.score:.1%}"

    @property
    def title(self) -> str:
        """The hypotheses in words."""
        low, high = self.elo
        return f"SPRT of {low:g} and {high:g} Elo"

    def lines(self) -> list[str]:
        """Return the decision, and the estimate in Elo with its interval, as lines of text."""
        own = elo_of(self.score)
        shown = "unknown" if own is None else f"{own:+.1f}"
        counts = ", ".join(map(str, self.counts))
        return [
            f"{self.title}: {self.decision}, {self}",
            f"Elo difference {shown} (95% interval {show_bounds(self.elo_interval)}), "
            f"pairs with 0, 1, 2, 3, 4 half points: {counts}",
        ]


def elo_of(score: float) -> float | None:
    """Return the difference in Elo that gives a score; None for 0 and 1."""
    return ELO * log(score / (1 - score)) if 0 < score < 1 else None


def log_likelihood_ratio(counts: npt.NDArray[Any], elo: tuple[float, float]) -> Floats:
    """Return the LLR of H1 over H0 for the counts of many matches, ``(..., 5)``, as an array ``(...)``.

    The likeliest distribution with the mean ``s`` gives the result ``a``, seen ``n`` times in ``N`` pairs,
    the probability ``n / N / (1 + t (a - s))``; the multiplier ``t`` makes ``s`` the mean.
    """
    seen = np.maximum(counts, _INSTEAD_OF_ZERO)
    under_h0, under_h1 = (_log_divisors(seen, float(expected_wins(one))) for one in elo)
    ratio: Floats = (seen * (under_h0 - under_h1)).sum(-1)
    return ratio


def _log_divisors(seen: Floats, mean: float) -> Floats:
    """Return ``log(1 + t (a - s))`` for each result; bisection finds ``t``, as the mean decreases with it."""
    distances = RESULTS - mean
    low, high = np.full(seen.shape[:-1], -1 / distances[-1]), np.full(seen.shape[:-1], -1 / distances[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = (seen * distances / (1 + middle[..., None] * distances)).sum(-1) > 0
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    divisors: Floats = np.log1p(((low + high) / 2)[..., None] * distances)
    return divisors
