"""Runs of one configuration with different seeds: which these are, and what they reach together.

A single run measures its own policy, not the policies that its configuration trains on average.
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
    """Raises ValueError if two runs, by their names and seeds or weights, are one sample."""
    seen: dict[str, str] = {}
    for name, own in runs:
        if own in seen:
            raise ValueError(f"{seen[own]} and {name} are no independent samples: both have the {what} {own}")
        seen[own] = name


class OverSeeds(NamedTuple):
    """Means over several runs against an opponent, or against all, and the extremes of the win rates.

    Points won from strong opponents and from weak ones are not of one kind: against all of them there is no
    score difference.
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

    ``runs`` are the matches of each run, as the ``as_dict`` of their results.
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
        wins, own = mean_of_runs(rates[:, columns], games[:, columns]), rates[:, columns].mean(1)
        reached = float(wins.values), wins.interval(), float(own.min()), float(own.max())
        points = mean_of_runs(differences[:, columns])
        difference = (None, None) if name == ALL_OPPONENTS else (float(points.values), points.interval())
        entries.append(OverSeeds(name, len(runs), *reached, *difference))
    return entries


def seeds_table(entries: Sequence[OverSeeds]) -> Table:
    """A row for every entry."""
    extremes = [Column(title, "{:.1%}".format) for title in ("lowest", "highest")]
    columns = [Column("against"), Column("runs"), *WIN_COLUMNS, *extremes, *DIFFERENCE_COLUMNS]
    return Table(columns, entries)
