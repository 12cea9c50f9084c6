"""The tables of a comparison: what was reached, who is better, every run, and the figures of all curves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from patchwork_env.learning.evaluation.results import interval_columns
from patchwork_env.learning.evaluation.statistics import Interval
from patchwork_env.learning.evaluation.tables import Column, Table, render
from patchwork_env.learning.reports.comparison.curves import AXES, Curve, learning_curve, profile
from patchwork_env.learning.reports.comparison.grouping import Comparison, Group
from patchwork_env.learning.reports.comparison.provenance import (
    SHORT,
    provenance_cells,
    provenance_columns,
    setup_lines,
)

TITLES = {"win_rate": "wins", "score_difference": "score difference", "score": "score"}
_IMPROVEMENT = (
    "Probability of improvement: that a run of the first configuration does better than one of the second."
)
_ALL_RUNS = f"All runs, at their last evaluations, with the first {SHORT} digits of their weights' SHA-256."
_TRAINING = [Column("steps", "{:,.0f}".format), Column("minutes", "{:.1f}".format)]
_FORMS = {"win_rate": "{:.1%}", "score_difference": "{:+.1f}", "score": "{:.1f}"}


def as_text(comparison: Comparison, form: str) -> str:
    """The tables in one of the formats of :mod:`~patchwork_env.learning.evaluation.tables`.

    CSV is the first of them alone, with what the runs were made with in each row.
    """
    parts: list[str | Table] = [_explanation(comparison), summary_table(comparison)]
    if len(comparison.groups) > 1:
        parts += [_IMPROVEMENT, improvement_table(comparison)]
    parts += [_ALL_RUNS, runs_table(comparison)]
    return render([*parts, *setup_lines(comparison.groups)], form)


def _explanation(comparison: Comparison) -> str:
    matches = [
        run.last.match(name)
        for group in comparison.groups
        for run in group.runs
        for name in comparison.opponents
    ]
    games = sorted({match.games for match in matches if match})
    seeds = sorted({match.seed for match in matches if match})
    of_games = " or ".join(f"{number:,}" for number in games)
    of_seeds = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return (
        f"{comparison.game}: {TITLES[comparison.metric]} over {of_games} games of every run, "
        f"evaluation {of_seeds}. {comparison.statistics.description}; steps and minutes are means."
    )


def summary_table(comparison: Comparison) -> Table:
    """A row for every configuration and opponent, and one for all opponents if win rates of several count.

    In CSV, this table and the others say in each row what the runs were made with.
    """
    form = _FORMS[comparison.metric]
    extremes = [Column(title, form.format) for title in ("lowest", "highest")]
    columns = [Column("configuration"), Column("against"), Column("runs")]
    columns += [*interval_columns(TITLES[comparison.metric], form), *extremes, *_TRAINING]
    columns += provenance_columns()
    rows: list[list[Any]] = []
    for group in comparison.groups:
        for name, part in comparison.parts().items():
            mean, own = comparison.mean(group, part), comparison.scores(group)[:, part].mean(1)
            rows.append([group.label, name, len(group.runs), float(mean.values), mean.interval()])
            rows[-1] += [float(own.min()), float(own.max())]
            rows[-1] += [float(np.mean([getattr(run.last, axis) for run in group.runs])) for axis in AXES]
            rows[-1] += provenance_cells(group.runs)
    return Table(columns, rows)


def improvements(comparison: Comparison) -> Iterator[tuple[Group, Group, str, float, Interval | None]]:
    """For every two groups and every opponent: the probability of improvement and its interval."""
    for first, second in itertools.combinations(comparison.groups, 2):
        own, others = comparison.scores(first), comparison.scores(second)
        for name, part in comparison.parts().items():
            yield (first, second, name, *comparison.statistics.improvement(own[:, part], others[:, part]))


def improvement_table(comparison: Comparison) -> Table:
    """A row for every two configurations and every opponent."""
    columns = [Column("configuration"), Column("better than"), Column("against")]
    rows = [
        [first.label, second.label, *found, *provenance_cells([*first.runs, *second.runs])]
        for first, second, *found in improvements(comparison)
    ]
    return Table([*columns, *_band_columns("probability", "{:.0%}")], rows)


def runs_table(comparison: Comparison) -> Table:
    """A row for every run."""
    form = _FORMS[comparison.metric].format
    columns = [Column("configuration"), Column("seed"), *_TRAINING]
    columns += [Column(f"against {name}", form) for name in comparison.opponents]
    *provenance, weights = provenance_columns()
    columns += [*provenance, weights._replace(show=lambda text: text[:SHORT])]
    rows = []
    for group in comparison.groups:
        for run, scores in zip(group.runs, comparison.scores(group), strict=True):
            rows.append([group.label, run.seed, run.last.steps, run.last.minutes, *map(float, scores)])
            rows[-1] += provenance_cells([run])
    return Table(columns, rows)


def curves_table(comparison: Comparison) -> Table:
    """The places of all learning curves, with what the runs were made with."""
    columns = [Column("configuration"), Column("against"), Column("runs"), Column("axis"), Column("place")]
    rows = [
        [group.label, name, len(group.runs), axis, *figures, *provenance_cells(group.runs)]
        for group in comparison.groups
        for name in comparison.opponents
        for axis in AXES
        for figures in _figures(learning_curve(comparison, group, name, axis))
    ]
    return Table([*columns, *_band_columns(TITLES[comparison.metric])], rows)


def profiles_table(comparison: Comparison) -> Table:
    """The places of all performance profiles, with what the runs were made with."""
    columns = [Column("configuration"), Column("against"), Column("runs"), Column("threshold")]
    rows = [
        [group.label, name, len(group.runs), *figures, *provenance_cells(group.runs)]
        for group in comparison.groups
        for name in comparison.opponents
        for figures in _figures(profile(comparison, group, name))
    ]
    return Table([*columns, *_band_columns("share of runs above")], rows)


def _band_columns(title: str, form: str = "{}") -> list[Column]:
    return [*interval_columns(title, form), *provenance_columns()]


def _figures(curve: Curve | None) -> Iterator[list[Any]]:
    """The place, the value and its interval, one by one."""
    if curve is None:
        return
    for k, place in enumerate(curve.places):
        yield [float(place), float(curve.band.values[k]), curve.band.interval(k)]
