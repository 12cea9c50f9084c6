"""The tables of a comparison: what was reached, who is better, every run, and the figures of all curves.

Every table says what the runs were made with, and so does every picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from patchwork_env.learning.evaluation.results import interval_columns
from patchwork_env.learning.evaluation.tables import Column, Table, render
from patchwork_env.learning.reports.comparison import AXES, Comparison, Curve, Group
from patchwork_env.learning.reports.run_results import RunResult
from patchwork_env.learning.system.machine import PACKAGES

UNKNOWN = "not recorded"
SHORT = 12
"""The number of digits by which commits and hashes of weights are shown; CSV has all of them.

It is no less than the length of ``UNKNOWN``.
"""

KEYS = ("patchwork_env", "commit", "python", *PACKAGES, "machine")
"""What the runs note of every start."""

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


def improvement_table(comparison: Comparison) -> Table:
    """A row for every two configurations and every opponent."""
    columns = [Column("configuration"), Column("better than"), Column("against")]
    rows = [
        [first.label, second.label, *figures, *provenance_cells([*first.runs, *second.runs])]
        for first, second, *figures in comparison.improvements()
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
        for figures in _figures(comparison.learning_curve(group, name, axis))
    ]
    return Table([*columns, *_band_columns(TITLES[comparison.metric])], rows)


def profiles_table(comparison: Comparison) -> Table:
    """The places of all performance profiles, with what the runs were made with."""
    columns = [Column("configuration"), Column("against"), Column("runs"), Column("threshold")]
    rows = [
        [group.label, name, len(group.runs), *figures, *provenance_cells(group.runs)]
        for group in comparison.groups
        for name in comparison.opponents
        for figures in _figures(comparison.profile(group, name))
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


# --- what the runs were made with ---------------------------------------------------------------------------


def provenance_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences that say what the runs were made with, and the hashes of their weights."""
    weights = "; ".join(f"{group.label} {', '.join(map(_weights, group.runs))}" for group in groups)
    return [*setup_lines(groups), f"SHA-256 of the final weights, by seed: {weights}."]


def setup_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences that say what the runs were made with, for tables that show the weights themselves."""
    setups: dict[str, list[str]] = {}
    for group in groups:
        for run in group.runs:
            setups.setdefault(_setup(run), []).append(group.label)
    whose = {setup: list(dict.fromkeys(labels)) for setup, labels in setups.items()}
    return [
        f"Made with {setup} ({', '.join(labels)})." if len(whose) > 1 else f"Made with {setup}."
        for setup, labels in whose.items()
    ]


def provenance_columns() -> list[Column]:
    """Columns for :func:`provenance_cells`, which CSV alone has."""
    return [Column(key, None) for key in (*KEYS, "weights")]


def provenance_cells(runs: Sequence[RunResult]) -> list[str]:
    """What some runs were made with, each thing in full; where runs differ, all that they say."""
    cells = [dict.fromkeys(run.made_with(key) or UNKNOWN for run in runs) for key in KEYS]
    return ["; ".join(cell) for cell in (*cells, [run.weights or UNKNOWN for run in runs])]


def _setup(run: RunResult) -> str:
    if not run.starts:
        return f"versions that were {UNKNOWN}"
    commit = run.made_with("commit")
    code = f"patchwork_env {run.made_with('patchwork_env')}"
    code += f" (commit {', then '.join(map(_short_commit, commit.split(', then ')))})" if commit else ""
    packages = [f"{name} {version}" for name in PACKAGES if (version := run.made_with(name)) is not None]
    return ", ".join([code, f"Python {run.made_with('python')}", *packages, f"on {run.made_with('machine')}"])


def _short_commit(commit: str) -> str:
    """The first digits of a commit, with the ``+`` of changed files."""
    return commit[:SHORT] + ("+" if commit.endswith("+") else "")


def _weights(run: RunResult) -> str:
    return f"{run.seed}: {(run.weights or UNKNOWN)[:SHORT]}"
