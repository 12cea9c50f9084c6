"""The tables of a comparison: what was reached, who is better, every run, and the figures of all curves.

Every table and every picture names the code, the packages and the machine of its runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from patchwork_env.learning.evaluation.tables import Column, Table, interval_columns, render
from patchwork_env.learning.reports.comparison import AXES, Comparison, Curve, Group
from patchwork_env.learning.reports.run_results import RunResult
from patchwork_env.learning.system.machine import PACKAGES

UNKNOWN = "not recorded"
SHORT = 12
"""The number of digits by which commits and hashes of weights are cut; no less than ``UNKNOWN`` has."""
KEYS = ("patchwork_env", "commit", "python", *PACKAGES, "machine")
"""What the runs note of every start."""

TITLES = {"win_rate": "wins", "score_difference": "score difference", "score": "score"}
_FORMS = {"win_rate": "{:.1%}", "score_difference": "{:+.1f}", "score": "{:.1f}"}
_IMPROVEMENT = (
    "Probability of improvement: that a run of the first configuration does better than one of the second."
)
_ALL_RUNS = f"All runs, at their last evaluations, with the first {SHORT} digits of their weights' SHA-256."
_TRAINING = [Column("steps", "{:,.0f}".format), Column("minutes", "{:.1f}".format)]
_PROVENANCE = [Column(key, None) for key in (*KEYS, "weights")]
"""Columns for :func:`_provenance`, which CSV alone has."""
_GROUP = [Column("configuration"), Column("against"), Column("runs")]


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
    runs = [run for group in comparison.groups for run in group.runs]
    matches = [run.last.match(name) for run in runs for name in comparison.opponents]
    games = sorted({match.games for match in matches if match})
    seeds = sorted({match.seed for match in matches if match})
    of_games = " or ".join(f"{number:,}" for number in games)
    of_seeds = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return (
        f"{comparison.game}: {TITLES[comparison.metric]} over {of_games} games of every run, "
        f"evaluation {of_seeds}. {comparison.statistics.description}; steps, turns of all games, and minutes "
        "are means."
    )


def summary_table(comparison: Comparison) -> Table:
    """A row for every configuration and opponent, and one for all opponents if win rates of several count."""
    form = _FORMS[comparison.metric]
    extremes = [Column(title, form.format) for title in ("lowest", "highest")]
    columns = [*_GROUP, *interval_columns(TITLES[comparison.metric], form), *extremes, *_TRAINING]
    rows = []
    for group in comparison.groups:
        training = [float(np.mean([getattr(run.last, axis) for run in group.runs])) for axis in AXES]
        for name, part in comparison.parts().items():
            mean, own = comparison.mean(group, part), comparison.scores(group)[:, part].mean(1)
            reached = float(mean.values), mean.interval(), float(own.min()), float(own.max())
            rows.append([*_about(group, name), *reached, *training, *_provenance(group.runs)])
    return Table([*columns, *_PROVENANCE], rows)


def improvement_table(comparison: Comparison) -> Table:
    """A row for every two configurations and every opponent."""
    columns = [Column("configuration"), Column("better than"), Column("against")]
    rows = [
        [first.label, second.label, *figures, *_provenance([*first.runs, *second.runs])]
        for first, second, *figures in comparison.improvements()
    ]
    return Table([*columns, *interval_columns("probability", "{:.0%}"), *_PROVENANCE], rows)


def runs_table(comparison: Comparison) -> Table:
    """A row for every run."""
    form = _FORMS[comparison.metric].format
    columns = [Column("configuration"), Column("seed"), *_TRAINING]
    columns += [Column(f"against {name}", form) for name in comparison.opponents]
    *provenance, weights = _PROVENANCE
    columns += [*provenance, weights._replace(show=lambda text: text[:SHORT])]
    rows = [
        [group.label, run.seed, run.last.steps, run.last.minutes, *scores.tolist(), *_provenance([run])]
        for group in comparison.groups
        for run, scores in zip(group.runs, comparison.scores(group), strict=True)
    ]
    return Table(columns, rows)


def curves_table(comparison: Comparison) -> Table:
    """The places of all learning curves."""
    rows = [
        [*_about(group, name), axis, *figures, *_provenance(group.runs)]
        for group in comparison.groups
        for name in comparison.opponents
        for axis in AXES
        for figures in _figures(comparison.learning_curve(group, name, axis))
    ]
    figures = interval_columns(TITLES[comparison.metric], "{}")
    return Table([*_GROUP, Column("axis"), Column("place"), *figures, *_PROVENANCE], rows)


def profiles_table(comparison: Comparison) -> Table:
    """The places of all performance profiles."""
    rows = [
        [*_about(group, name), *figures, *_provenance(group.runs)]
        for group in comparison.groups
        for name in comparison.opponents
        for figures in _figures(comparison.profile(group, name))
    ]
    figures = interval_columns("share of runs above", "{}")
    return Table([*_GROUP, Column("threshold"), *figures, *_PROVENANCE], rows)


def _about(group: Group, opponent: str) -> list[Any]:
    return [group.label, opponent, len(group.runs)]


def _figures(curve: Curve | None) -> Iterator[list[Any]]:
    """The place, the value and its interval, one by one."""
    if curve:
        for k, place in enumerate(curve.places):
            yield [float(place), float(curve.band.values[k]), curve.band.interval(k)]


# --- what the runs were made with ---------------------------------------------------------------------------


def _provenance(runs: Sequence[RunResult]) -> list[str]:
    """What some runs were made with, each thing in full; where runs differ, all values."""
    cells = [dict.fromkeys(run.made_with(key) or UNKNOWN for run in runs) for key in KEYS]
    return ["; ".join(cell) for cell in (*cells, [run.weights or UNKNOWN for run in runs])]


def provenance_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences about the code, packages and machines of the runs, and the hashes of their weights."""
    weights = "; ".join(
        f"{group.label} {', '.join(f'{run.seed}: {(run.weights or UNKNOWN)[:SHORT]}' for run in group.runs)}"
        for group in groups
    )
    return [*setup_lines(groups), f"SHA-256 of the final weights, by seed: {weights}."]


def setup_lines(groups: Sequence[Group]) -> list[str]:
    """Sentences about the code, packages and machines, for tables that have the weights in a column."""
    labels: dict[str, dict[str, None]] = {}
    for group in groups:
        for run in group.runs:
            labels.setdefault(_setup(run), {})[group.label] = None
    return [
        f"Made with {setup} ({', '.join(whose)})." if len(labels) > 1 else f"Made with {setup}."
        for setup, whose in labels.items()
    ]


def _setup(run: RunResult) -> str:
    if not run.starts:
        return f"versions that were {UNKNOWN}"
    code = f"patchwork_env {run.made_with('patchwork_env')}"
    if commit := run.made_with("commit"):
        # A ``+`` stands for files that were changed.
        short = [one[:SHORT] + "+" * one.endswith("+") for one in commit.split(", then ")]
        code += f" (commit {', then '.join(short)})"
    packages = [f"{name} {version}" for name in PACKAGES if (version := run.made_with(name)) is not None]
    return ", ".join([code, f"Python {run.made_with('python')}", *packages, f"on {run.made_with('machine')}"])
