"""What several runs of one configuration reach together; they differ in nothing but their seeds.

A single run says how strong its policy is, not how strong the policies become that a configuration trains.
Here each run counts as one value: the figures are interquartile means over the runs, with intervals from the
stratified bootstrap; see :mod:`~patchwork_env.learning.evaluation.intervals` for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from patchwork_env.learning.evaluation.intervals import (
    Floats,
    Interval,
    interquartile_interval,
    interquartile_mean,
)
from patchwork_env.learning.evaluation.results import DIFFERENCE_COLUMNS, WIN_COLUMNS, MatchResult
from patchwork_env.learning.evaluation.tables import Column, Table

ALL_OPPONENTS = "all of them"
SEEDS_HEADING = "Over the runs: interquartile means, with 95% intervals of the stratified bootstrap"

Outcome = tuple[str, float, float]
"""What a run reached in a match: the opponent, the win rate and the mean score difference."""


class OverSeeds(NamedTuple):
    """What several runs reached against an opponent, or against all opponents.

    Attributes:
        opponent: The name of the opponent, or :data:`ALL_OPPONENTS`.
        runs: The number of runs.
        win_rate: The interquartile mean of the runs' win rates.
        win_rate_interval: The 95% interval of this mean; None for a single run.
        lowest, highest: The extremes of the runs' win rates.
        score_difference: The interquartile mean of the runs' mean score differences.
        score_difference_interval: The 95% interval of this mean; None for a single run.
    """

    opponent: str
    runs: int
    win_rate: float
    win_rate_interval: Interval | None
    lowest: float
    highest: float
    score_difference: float
    score_difference_interval: Interval | None


def over_seeds(results: Sequence[MatchResult]) -> list[OverSeeds]:
    """An entry for every opponent and, if there are several, one for all of them.

    The agent of each result is the policy of its run.

    Raises:
        ValueError: There is no match, or the runs have met different opponents.
    """
    runs: dict[str, list[Outcome]] = {}
    for result in results:
        outcome = result.opponent, result.win_rate, result.score_difference
        runs.setdefault(result.agent, []).append(outcome)
    return put_together(list(runs.values()))


def put_together(runs: Sequence[Sequence[Outcome]]) -> list[OverSeeds]:
    """What :func:`over_seeds` gives, from the outcomes of each run.

    Raises:
        ValueError: There is no run or no match, or the runs have met different opponents.
    """
    met = [[opponent for opponent, _, _ in outcomes] for outcomes in runs]
    if not met or not met[0] or any(opponents != met[0] for opponents in met):
        listed = "; ".join(", ".join(opponents) or "nobody" for opponents in met) or "no runs"
        raise ValueError(f"runs are put together that met the same opponents; these met: {listed}")
    rates, differences = (
        np.array([[outcome[k] for outcome in outcomes] for outcomes in runs], np.float64) for k in (1, 2)
    )
    parts = {name: [k] for k, name in enumerate(met[0])}
    if len(parts) > 1:
        parts[ALL_OPPONENTS] = list(range(len(parts)))
    return [_entry(name, rates[:, columns], differences[:, columns]) for name, columns in parts.items()]


def _entry(opponent: str, rates: Floats, differences: Floats) -> OverSeeds:
    return OverSeeds(
        opponent,
        len(rates),
        interquartile_mean(rates),
        interquartile_interval(rates),
        float(rates.min()),
        float(rates.max()),
        interquartile_mean(differences),
        interquartile_interval(differences),
    )


def seeds_table(entries: Sequence[OverSeeds]) -> Table:
    """A row for every entry."""
    extremes = [Column(title, "{:.1%}".format) for title in ("lowest", "highest")]
    columns = [Column("against"), Column("runs"), *WIN_COLUMNS, *extremes, *DIFFERENCE_COLUMNS]
    return Table(columns, entries)
