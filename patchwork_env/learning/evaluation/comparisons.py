"""How recipes of training compare, by several runs of each: curves, performance profiles, who is better.

All of it is from Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(NeurIPS 2021), whose own library is rliable. A run counts as one value; scores of several runs are arrays
``(runs, tasks)``, where a task is an opponent. Intervals are those of their stratified bootstrap, which draws
runs for each task by itself, with replacement. Of few runs such intervals are too narrow, if anything: the
extremes belong beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from patchwork_env.learning.evaluation.intervals import (
    RESAMPLES,
    Floats,
    Interval,
    bounds,
    middle_means,
    resampled,
)

_OTHER_SEED = 1
"""The seed of the draws of the second recipe, which are independent of those of the first."""


class Band(NamedTuple):
    """Figures at several places, each with its 95% interval, arrays ``(places,)``.

    The bounds are None if there is a single run.
    """

    values: Floats
    low: Floats | None
    high: Floats | None


def mean_curve(curves: Floats, seed: int = 0) -> Band:
    """The interquartile mean over runs at every place of their curves.

    Args:
        curves: The values of each run, ``(runs, places)``.
        seed: The seed of the draws, which take the same runs for all places.
    """
    runs = len(curves)
    values = middle_means(curves.T)
    if runs < 2:
        return Band(values, None, None)
    chosen = np.random.default_rng(seed).integers(runs, size=(RESAMPLES, runs))
    low, high = bounds(middle_means(np.moveaxis(curves[chosen], 1, 2)))
    return Band(values, low, high)


def performance_profile(scores: Floats, thresholds: Floats) -> Band:
    """The share of runs, over all tasks, whose score is above each threshold.

    That is the run-score distribution of section 4.2 of Agarwal et al., which shows of all runs what a mean
    shows of their middle.

    Args:
        scores: The scores, ``(runs, tasks)``.
        thresholds: The thresholds, ``(places,)``.
    """
    shares = np.array([(scores > threshold).mean() for threshold in thresholds])
    if len(scores) < 2:
        return Band(shares, None, None)
    drawn = resampled(scores)
    low, high = bounds(np.stack([(drawn > threshold).mean((1, 2)) for threshold in thresholds], axis=1))
    return Band(shares, low, high)


def probability_of_improvement(first: Floats, second: Floats) -> tuple[float, Interval | None]:
    """The probability that a run of the first recipe beats one of the second, and its 95% interval.

    For each task it is the share of the pairs of runs in which the first has the higher score, where equal
    scores count one half (the statistic of Mann and Whitney); tasks count alike. It says how often, not by
    how much. The interval is None if a recipe has a single run.

    Args:
        first: The scores of the first recipe, ``(runs, tasks)``.
        second: Those of the second one in the same tasks, ``(other runs, tasks)``.
    """
    probability = float(_shares_of_wins(first[None], second[None])[0])
    if min(len(first), len(second)) < 2:
        return probability, None
    low, high = bounds(_shares_of_wins(resampled(first), resampled(second, _OTHER_SEED)))
    return probability, (float(low), float(high))


def _shares_of_wins(first: Floats, second: Floats) -> Floats:
    """The mean over tasks of the share of pairs in which the first is ahead, ``(draws,)``.

    Scores are ``(draws, runs, tasks)``.
    """
    shares = np.zeros(len(first))
    for task in range(first.shape[-1]):
        own, others = first[:, :, None, task], second[:, None, :, task]
        shares += ((own > others) + 0.5 * (own == others)).mean((1, 2))
    return shares / first.shape[-1]
