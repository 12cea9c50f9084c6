"""Runs of one configuration with different seeds: which these are, and what they reach together.

A single run says how strong its policy is, not how strong the policies become that a configuration trains.
Here each run counts as one value; see :mod:`~patchwork_env.learning.evaluation.statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.learning.evaluation.results import DIFFERENCE_COLUMNS, WIN_COLUMNS
from patchwork_env.learning.evaluation.statistics import STUDENT, Interval, mean_of_runs
from patchwork_env.learning.evaluation.tables import Column, Table

ALL_OPPONENTS = "all of them"
SEEDS_HEADING = f"Over the runs. {STUDENT.description}."


def config_key(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration by full keys, without its seed and without what has no effect on learning."""
    from patchwork_env.learning.config import changes_learning, flattened  # of the extra ``train``

    keys = flattened(configuration)
    return {key: keys[key] for key in sorted(keys) if changes_learning(key)}


def check_independent(runs: Iterable[tuple[str, str]], what: str) -> None:
    """Raises ValueError if two runs are one sample: each is given by its name and its own seed or weights."""
    seen: dict[str, str] = {}
    for name, own in runs:
        if own in seen:
            raise ValueError(f"{seen[own]} and {name} are no independent samples: both have the {what} {own}")
        seen[own] = name


class OverSeeds(NamedTuple):
    """What several runs reached against an opponent, or against all opponents.

    Attributes:
        opponent: The name of the opponent, or :data:`ALL_OPPONENTS`.
        runs: The number of runs.
        win_rate: The mean of the runs' win rates.
        win_rate_interval: The 95% interval of this mean; None for a single run.
        lowest, highest: The extremes of the runs' win rates.
        score_difference: The mean of the runs' mean score differences; None for all opponents, since points
            won from strong ones and from weak ones are not of one kind.
        score_difference_interval: The 95% interval of this mean; None if there is none.
    """

    opponent: str
    runs: int
    win_rate: float
    win_rate_interval: Interval | None
    lowest: float
    highest: float
    score_difference: float | None
    score_difference_interval: Interval | None


def over_seeds(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[OverSeeds]:
    """An entry for every opponent and, if there are several, one for all of them.

    Args:
        runs: The matches of each run, as the ``as_dict`` of their results.

    Raises:
        ValueError: There is no run or no match, or the runs have met different opponents.
    """
    met = [[match["opponent"] for match in matches] for matches in runs]
    if not met or not met[0] or any(opponents != met[0] for opponents in met):
        listed = "; ".join(", ".join(opponents) or "nobody" for opponents in met) or "no runs"
        raise ValueError(f"runs are aggregated that met the same opponents; these met: {listed}")
    rates, games, differences = (
        np.array([[match[key] for match in matches] for matches in runs], np.float64)
        for key in ("win_rate", "games", "score_difference")
    )
    parts = {name: [k] for k, name in enumerate(met[0])}
    if len(parts) > 1:
        parts[ALL_OPPONENTS] = list(range(len(parts)))
    entries = []
    for name, columns in parts.items():
        wins = mean_of_runs(rates[:, columns], games[:, columns])
        points = mean_of_runs(differences[:, columns])
        own = rates[:, columns].mean(1)
        difference = (None, None) if name == ALL_OPPONENTS else (float(points.values), points.interval())
        reached = float(wins.values), wins.interval(), float(own.min()), float(own.max())
        entries.append(OverSeeds(name, len(runs), *reached, *difference))
    return entries


def seeds_table(entries: Sequence[OverSeeds]) -> Table:
    """A row for every entry."""
    extremes = [Column(title, "{:.1%}".format) for title in ("lowest", "highest")]
    columns = [Column("against"), Column("runs"), *WIN_COLUMNS, *extremes, *DIFFERENCE_COLUMNS]
    return Table(columns, entries)
