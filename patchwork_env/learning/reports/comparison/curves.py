"""Learning curves over several runs, performance profiles, and the figures of both as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from patchwork_env.learning.evaluation.statistics import Band, Floats
from patchwork_env.learning.reports.comparison.grouping import Comparison, Group

STEPS, MINUTES = "steps", "minutes"
AXES = (STEPS, MINUTES)
_MOST_PLACES = 120
"""The highest number of places at which a curve is given."""
_THRESHOLDS = 101
_SHARE_GRAIN = 0.05
"""Thresholds begin and end at multiples of this for shares, and of 1 for scores."""


class Curve(NamedTuple):
    """What a group reached at several places of an axis, arrays ``(places,)``."""

    places: Floats
    band: Band


def learning_curve(comparison: Comparison, group: Group, opponent: str, axis: str) -> Curve | None:
    """The mean over the runs of a group, between what all of them have in common.

    Runs are evaluated at the same steps, but not after the same minutes; between two evaluations of a run its
    value lies on the straight line between them.

    Args:
        comparison: What is compared.
        group: One of its groups.
        opponent: One of its opponents.
        axis: ``steps`` or ``minutes``.

    Returns:
        The curve, None if the evaluations of the runs have no place in common.
    """
    curves = [
        [
            (float(getattr(one, axis)), float(getattr(match, comparison.metric)), float(match.games))
            for one in run.evaluations
            if (match := one.match(opponent))
        ]
        for run in group.runs
    ]
    places, (figures, games) = at_common_places(curves, axis)
    if not len(places):
        return None
    played = games[..., None] if comparison.is_share else None
    return Curve(places, comparison.statistics.mean(figures[..., None], played))


def at_common_places(of_runs: Sequence[Sequence[tuple[float, ...]]], axis: str) -> tuple[Floats, Floats]:
    """Figures of several runs within what all of them have, on straight lines between their points.

    Args:
        of_runs: The points of each run, at least one: its place, in ascending order, and its figures.
        axis: What places are, ``steps`` or ``minutes``.

    Returns:
        The places ``(n,)``, which may be none, and the figures ``(figures, n, runs)``.
    """
    curves = [np.array(points).T for points in of_runs]
    places = _places([curve[0] for curve in curves], axis)
    figures = [[np.interp(places, reached, values) for values in own] for reached, *own in curves]
    return places, np.moveaxis(np.array(figures), 0, 2)


def _places(of_runs: Sequence[Floats], axis: str) -> Floats:
    """The places at which a curve is given: those of the evaluations, or as many at even distances."""
    low, high = max(places[0] for places in of_runs), min(places[-1] for places in of_runs)
    if low > high:
        return np.empty(0)
    union = np.unique(np.concatenate(of_runs))
    within = union[(union >= low) & (union <= high)]
    number = min(len(within), _MOST_PLACES)
    is_even = axis == MINUTES and len(of_runs) > 1
    return within if len(within) == number and not is_even else np.linspace(low, high, number)


def profile(comparison: Comparison, group: Group, opponent: str) -> Curve:
    """The share of the runs of a group that reach more than each of some thresholds against an opponent."""
    column = comparison.opponents.index(opponent)
    thresholds = _thresholds(comparison, column)
    return Curve(thresholds, comparison.statistics.profile(comparison.scores(group)[:, [column]], thresholds))


def _thresholds(comparison: Comparison, column: int) -> Floats:
    """Thresholds from below the lowest score of a run to above the highest one; of shares from 0 to 1."""
    scores = np.concatenate([comparison.scores(group)[:, column] for group in comparison.groups])
    grain = _SHARE_GRAIN if comparison.is_share else 1.0
    low, high = grain * (np.ceil(scores.min() / grain) - 1), grain * (np.floor(scores.max() / grain) + 1)
    if comparison.is_share:
        low, high = max(low, 0.0), min(high, 1.0)
    return np.linspace(low, high, _THRESHOLDS)
