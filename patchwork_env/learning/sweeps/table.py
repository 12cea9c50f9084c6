"""The results of a sweep: one table of its trials, as text, CSV and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from patchwork_env.core.files import storing_in, write_text
from patchwork_env.learning.evaluation.tables import aligned, csv_text
from patchwork_env.learning.sweeps.folder import FAILED, FINISHED, STOPPED, Metric, Sweep, name_of
from patchwork_env.learning.sweeps.parameters import Values

_ORDER = (FINISHED, STOPPED, None, FAILED)


@dataclass(frozen=True)
class Row:
    """A row of the table: a trial and its newest evaluation.

    Attributes:
        trial: The number of the trial.
        values: The values of its parameters.
        state: ``finished``, ``stopped``, ``failed``, or None if the trial has not ended.
        error: The reason why the trial failed; None if it did not.
        steps, minutes: The steps and minutes of training before the evaluation; None if there is none.
        metric: The figure that trials are compared by; None if there is no evaluation.
        matches: The matches of the evaluation; see :mod:`patchwork_env.learning.runs.folder`.
    """

    trial: int
    values: Values
    state: str | None
    error: str | None
    steps: int | None = None
    minutes: float | None = None
    metric: float | None = None
    matches: tuple[dict[str, Any], ...] = ()


def rows_of(sweep: Sweep) -> list[Row]:
    """The rows of all trials: those that finished, then those that were stopped, the best of each first."""
    rows = [_row(sweep, trial) for trial in range(len(sweep.trials))]
    return sorted(
        rows, key=lambda row: (_ORDER.index(row.state), row.metric is None, -(row.metric or 0.0), row.trial)
    )


def _row(sweep: Sweep, trial: int) -> Row:
    end, evaluation = sweep.end(trial), sweep.evaluation(trial)
    state, error = (None, None) if end is None else (end.state, end.error)
    row = Row(trial, sweep.trials[trial], state, error)
    if evaluation is None:
        return row
    return replace(
        row,
        steps=evaluation["steps"],
        minutes=evaluation["minutes"],
        metric=sweep.metric.of(evaluation),
        matches=tuple(evaluation["matches"]),
    )


def write_results(sweep: Sweep) -> list[Row]:
    """Writes ``results.txt``, ``results.csv`` and ``results.json`` into the folder of a sweep."""
    rows = rows_of(sweep)
    with storing_in(sweep.folder):
        write_text(sweep.folder / "results.txt", as_text(sweep, rows) + "\n")
        write_text(sweep.folder / "results.csv", as_csv(sweep, rows))
        write_text(sweep.folder / "results.json", json.dumps(as_json(sweep, rows), indent=1) + "\n")
    return rows


def as_text(sweep: Sweep, rows: list[Row]) -> str:
    """The table as text, and below it the errors of trials that failed."""
    opponents = sweep.common_config.evaluation.opponents
    shows_metric = sweep.metric.name != "win_rate"
    heading = ["trial", *_short_keys(sweep), "state", "steps", "minutes"]
    heading += [str(sweep.metric)] * shows_metric + [f"wins against {name}" for name in opponents]
    table = [heading]
    for row in rows:
        against = _match(row, sweep.metric.against)
        metric = ["-" if against is None else _metric(against, sweep.metric)] * shows_metric
        numbers = _or_dash(row.steps, "{:,}"), _or_dash(row.minutes, "{:.1f}")
        cells = [name_of(row.trial), *map(_shown, row.values.values()), row.state or "unfinished", *numbers]
        matches = [_match(row, name) for name in opponents]
        table.append([*cells, *metric, *("-" if match is None else _wins(match) for match in matches)])
    failures = [
        f"trial {name_of(row.trial)} failed: {' '.join(row.error.split())}" for row in rows if row.error
    ]
    return "\n".join([f"by {sweep.metric}, with 95% intervals", "", *aligned(table), *failures])


def _short_keys(sweep: Sweep) -> list[str]:
    """The keys, without their section if all of them are in the same one."""
    keys = list(sweep.trials[0])
    sections = {key.partition(".")[0] for key in keys}
    alike = len(sections) == 1 and all("." in key for key in keys)
    return [key.partition(".")[2] for key in keys] if alike else keys


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def show_figures(match: dict[str, Any], metric: Metric) -> str:
    """The win rate in a match, after the metric if that is another figure, with 95% intervals."""
    wins = f"wins {_wins(match)} against {metric.against}"
    if metric.name == "win_rate":
        return wins
    return f"{metric.name.replace('_', ' ')} {_metric(match, metric)}, {wins}"


def _metric(match: dict[str, Any], metric: Metric) -> str:
    interval = match.get(f"{metric.name}_interval")
    if metric.name == "score" and "score_intervals" in match:
        interval = match["score_intervals"]["agent"]
    shown = f"{metric.of({'matches': [match]}):.2f}"
    return f"{shown} ({interval[0]:.2f} to {interval[1]:.2f})" if interval else shown


def _wins(match: dict[str, Any]) -> str:
    low, high = match["win_rate_interval"]
    return f"{match['win_rate']:.1%} ({low:.1%} to {high:.1%})"


def _match(row: Row, opponent: str) -> dict[str, Any] | None:
    return next((match for match in row.matches if match["opponent"] == opponent), None)


def as_csv(sweep: Sweep, rows: list[Row]) -> str:
    """The table as CSV, with full keys and numbers; what is not known yet is an empty cell."""
    opponents = sweep.common_config.evaluation.opponents
    names = ("win_rate", "win_rate_low", "win_rate_high", "score", "score_difference")
    about = [f"{name}_against_{opponent}" for opponent in opponents for name in names]
    table: list[list[Any]] = [["trial", *sweep.trials[0], "state", "steps", "minutes", *about, "error"]]
    for row in rows:
        figures = {match["opponent"]: _figures(match) for match in row.matches}
        cells = [cell for opponent in opponents for cell in figures.get(opponent, [None] * len(names))]
        values = map(_shown, row.values.values())
        table.append([row.trial, *values, row.state, row.steps, row.minutes, *cells, row.error])
    return csv_text(table)


def _figures(match: dict[str, Any]) -> list[float]:
    own = match["sides"]["agent"]["score"]
    return [match["win_rate"], *match["win_rate_interval"], own, match["score_difference"]]


def as_json(sweep: Sweep, rows: list[Row]) -> dict[str, Any]:
    """The contents of ``results.json``, which docs/training.md describes."""
    return {
        "format": "patchwork-env sweep results",
        "version": 1,
        "metric": {"name": sweep.metric.name, "against": sweep.metric.against},
        "trials": [
            {
                "trial": row.trial,
                "run": str(sweep.run_folder(row.trial).relative_to(sweep.folder)),
                "parameters": row.values,
                "state": row.state,
                "error": row.error,
                "steps": row.steps,
                "minutes": row.minutes,
                "metric": row.metric,
                "matches": list(row.matches),
            }
            for row in rows
        ],
    }
