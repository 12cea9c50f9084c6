"""A comparison of configurations by several runs of each: tables, curves, probability of improvement."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patchwork_env.core.files import storing_in, write_text
from patchwork_env.core.names import counted, short_repr
from patchwork_env.learning.config import changes_learning, flattened
from patchwork_env.learning.evaluation import statistics
from patchwork_env.learning.evaluation.results import MatchFigures
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.learning.evaluation.statistics import ALL_OPPONENTS, METRICS, Curve, Floats, Interval
from patchwork_env.learning.evaluation.tables import (
    FIGURE_FORMATS,
    LATEX,
    MARKDOWN,
    Column,
    Table,
    interval_columns,
    render,
)
from patchwork_env.learning.reports.charts import SERIES, number, percentage
from patchwork_env.learning.reports.plots import new_figure, save
from patchwork_env.learning.reports.run_results import RunResult
from patchwork_env.learning.system import PACKAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS, MINUTES = AXES = "steps", "minutes"

_UNKNOWN = "not recorded"
_SHORT = 12  # the number of digits of a hash of weights in texts; at least the length of `_UNKNOWN`
_KEYS = ("patchwork_env", "commit", "python", *PACKAGES, "machine")  # recorded at every start of a run

_TITLES = {"win_rate": "wins", "score_difference": "score difference", "score": "score"}
_AXES_TITLES = {"steps": "steps of training (turns of all games)", "minutes": "minutes of training"}
_FORMS = {"win_rate": "{:.1%}", "score_difference": "{:+.1f}", "score": "{:.1f}"}
_IMPROVEMENT = "that a run of the first configuration does better than one of the second."
_ALL_RUNS = f"All runs, at their last evaluations, with the first {_SHORT} digits of their weights' SHA-256."
_TRAINING = [Column("steps", "{:,.0f}".format), Column("minutes", "{:.1f}".format)]

_DPI = 300  # the resolution of PNG
_WIDTH, _HEIGHT, _ROW = 4.4, 3.2, 0.32  # the size of a panel, and the height of a row, in inches
_LOGARITHMIC = 10  # the ratio of the longest training to the shortest from which an axis is logarithmic


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seeds alone, ordered by them, at least one."""

    label: str
    runs: tuple[RunResult, ...]


@dataclass(frozen=True)
class Comparison:
    """Groups of runs that were measured in the same way; :func:`compare` makes it."""

    groups: tuple[Group, ...]  # in the order of their first runs, at least one
    game: str
    metric: str  # one of `statistics.METRICS`
    opponents: tuple[str, ...]  # those that count, at least one

    @property
    def is_share(self) -> bool:
        """Whether the metric is a share of the games, 0-1; only shares have means over opponents."""
        return self.metric == "win_rate"

    def scores(self, group: Group) -> Floats:
        """Return the metric of the last evaluations of a group's runs, ``(runs, opponents)``."""
        return self._figures(group, self.metric)

    def _figures(self, group: Group, name: str) -> Floats:
        matches = [[_last_match(run, opponent) for opponent in self.opponents] for run in group.runs]
        return np.array([[getattr(match, name) for match in row] for row in matches], np.float64)

    def parts(self) -> dict[str, list[int]]:
        """Return the columns of scores by opponent, and for shares also those of all opponents together."""
        every = list(range(len(self.opponents)))
        together = {ALL_OPPONENTS: every} if self.is_share and len(every) > 1 else {}
        return {name: [column] for column, name in enumerate(self.opponents)} | together

    def mean(self, group: Group, columns: Sequence[int]) -> tuple[float, Interval | None]:
        """Return the mean over the runs of a group, of some columns of :meth:`scores`, and its interval."""
        games = self._figures(group, "games")[None][..., columns] if self.is_share else None
        mean = statistics.mean_of_runs(self.scores(group)[None][..., columns], games)
        return mean.values.item(), mean.interval()

    def learning_curve(self, group: Group, opponent: str, axis: str) -> Curve:
        """Return the mean over the runs of a group, interpolated, over the range that all of them cover.

        Minutes, unlike steps, differ from run to run: there places have even distances.
        """
        curves = [
            np.array(
                [(getattr(one, axis), getattr(match, self.metric), match.games) for one, match in found]
            ).T
            for run in group.runs
            if (found := run.matches(opponent))
        ]
        low, high = max(curve[0][0] for curve in curves), min(curve[0][-1] for curve in curves)
        union = np.unique(np.concatenate([curve[0] for curve in curves]))
        places = union[(union >= low) & (union <= high)]
        if axis == MINUTES and len(curves) > 1:
            places = np.linspace(low, high, len(places))
        figures = np.array([[np.interp(places, x, one) for one in own] for x, *own in curves])
        scores, games = np.moveaxis(figures, 0, 2)[..., None]
        return statistics.mean_of_runs(scores, games if self.is_share else None, places)


# --- which runs are compared --------------------------------------------------------------------------------


def compare(
    results: Sequence[RunResult], *, against: Sequence[str] = (), metric: str | None = None
) -> Comparison:
    """Group runs by name and configuration, after checking that they were measured in the same way.

    Args:
        results: The runs.
        against: The opponents that count; by default all of them.
        metric: One of ``METRICS``; by default the win rate or, where the sides do not interact, the score.

    Raises:
        ValueError: There are no runs, one has not ended, they are of different games or variants, their last
            evaluations have different opponents or numbers of games, or a group has a seed twice.
    """
    if not results:
        raise ValueError("there are no runs to compare")
    for run in results:
        _check_ended(run)
    _check_alike("game", {run.game: run for run in results})
    game = results[0].game
    metric = metric or match_part(game).metric
    if metric not in METRICS:
        raise ValueError(f"metric is {short_repr(metric)}; allowed are {', '.join(METRICS)}")
    opponents = tuple(dict.fromkeys(against)) or _common_opponents(results)
    for name in opponents:
        matches = [(_last_match(run, name), run) for run in results]
        _check_alike("variant of the game", {match.variant: run for match, run in matches})
        _check_alike(f"number of games against {name}", {match.games: run for match, run in matches})
    return Comparison(_grouped(results), game, metric, opponents)


def _check_ended(run: RunResult) -> None:
    """Raise ValueError unless the last evaluation is of all steps of the configuration."""
    if not run.evaluations or not run.last.matches:
        raise ValueError(f"{run.source} has no evaluation yet; a run evaluates its policy at its end")
    if run.total_steps is not None and run.last.steps < run.total_steps:
        raise ValueError(
            f"{run.source} was last evaluated after {run.last.steps:,} of {run.total_steps:,} steps; "
            "runs are compared after their end"
        )


def _check_alike(what: str, runs: Mapping[Any, RunResult]) -> None:
    """Raise ValueError unless the runs, each by its value, have a single value."""
    if len(runs) > 1:
        listed = "; ".join(f"{run.source} has {short_repr(value)}" for value, run in [*runs.items()][:3])
        raise ValueError(f"compared runs must have the same {what}: {listed}")


def _common_opponents(results: Sequence[RunResult]) -> tuple[str, ...]:
    first, *others = (tuple(match.opponent for match in run.last.matches) for run in results)
    for run, names in zip(results[1:], others, strict=True):
        if set(names) != set(first):
            raise ValueError(
                f"the last evaluations have different opponents: {results[0].source} met "
                f"{', '.join(map(short_repr, first))}, {run.source} {', '.join(map(short_repr, names))}; "
                "give those to compare with --against"
            )
    return first


def _last_match(run: RunResult, opponent: str) -> MatchFigures:
    match = run.last.match(opponent)
    if match is None:
        met = ", ".join(short_repr(match.opponent) for match in run.last.matches)
        raise ValueError(
            f"{run.source} has no match against {short_repr(opponent)} in its last evaluation, but {met}"
        )
    return match


def _grouped(results: Sequence[RunResult]) -> tuple[Group, ...]:
    """Return the runs in groups, each by the order of seeds; ValueError if a group has a seed twice.

    Labels of groups with the same name also have the keys in which their configurations differ.
    """
    groups: dict[str, list[RunResult]] = {}
    for run in results:
        groups.setdefault(json.dumps([run.name, _config_key(run.configuration)]), []).append(run)
    first_of: dict[str, dict[str, Any]] = {}
    listed = []
    for place, (key, runs) in enumerate(groups.items()):
        runs.sort(key=lambda run: run.seed)
        for one, other in itertools.pairwise(runs):
            if one.seed == other.seed:
                raise ValueError(
                    f"{one.source} and {other.source} are not independent samples: both have seed {one.seed}"
                )
        label, keys = json.loads(key)
        others = first_of.setdefault(label, keys)
        if others is not keys:
            names = [name for name in others | keys if others.get(name) != keys.get(name)][:3]
            words = ", ".join(f"{name}={short_repr(keys.get(name), 20)}" for name in names)
            label = f"{label} ({words or place})"
        listed.append(Group(label, tuple(runs)))
    return tuple(listed)


def _config_key(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration by full keys, without its seed and without keys that do not affect learning."""
    keys = flattened(configuration)
    return {key: keys[key] for key in sorted(keys) if changes_learning(key)}


# --- results ------------------------------------------------------------------------------------------------


def as_text(comparison: Comparison, form: str) -> str:
    """Return the tables in a format of :mod:`~patchwork_env.learning.evaluation.tables`; CSV is the first."""
    parts: list[str | Table] = [_explanation(comparison), summary_table(comparison)]
    if len(comparison.groups) > 1:
        parts += [f"Probability of improvement: {_IMPROVEMENT}", improvement_table(comparison)]
    return render([*parts, _ALL_RUNS, runs_table(comparison)], form)


def _explanation(comparison: Comparison) -> str:
    runs = [run for group in comparison.groups for run in group.runs]
    matches = [_last_match(run, name) for run in runs for name in comparison.opponents]
    games = " or ".join(f"{number:,}" for number in sorted({match.games for match in matches}))
    seeds = sorted({match.seed for match in matches})
    return (
        f"{comparison.game}: {_TITLES[comparison.metric]} over {games} games of every run, evaluation "
        f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}. {statistics.OF_RUNS}; steps, turns of "
        "all games, and minutes are means."
    )


def summary_table(comparison: Comparison) -> Table:
    """Return a row for every configuration and opponent, and for shares one for all opponents together."""
    form = _FORMS[comparison.metric]
    columns = [Column("configuration"), Column("against"), Column("runs")]
    columns += interval_columns(_TITLES[comparison.metric], form)
    columns += [Column(title, form.format) for title in ("lowest", "highest")]
    rows = []
    for group in comparison.groups:
        training = [float(np.mean([getattr(run.last, axis) for run in group.runs])) for axis in AXES]
        for name, part in comparison.parts().items():
            own = comparison.scores(group)[:, part].mean(1)
            reached = *comparison.mean(group, part), float(own.min()), float(own.max())
            rows.append([group.label, name, len(group.runs), *reached, *training])
    return Table([*columns, *_TRAINING], rows)


def improvement_table(comparison: Comparison) -> Table:
    """Return a row for every two configurations and every opponent."""
    columns = [Column(title) for title in ("configuration", "better than", "against")]
    rows = [
        [first.label, second.label, name, *statistics.improvement(*(scores[:, part] for scores in own))]
        for first, second in itertools.combinations(comparison.groups, 2)
        for own in [(comparison.scores(first), comparison.scores(second))]
        for name, part in comparison.parts().items()
    ]
    return Table([*columns, *interval_columns("probability", "{:.0%}")], rows)


def runs_table(comparison: Comparison) -> Table:
    """Return a row for every run, whose CSV also has its versions and machine."""
    form = _FORMS[comparison.metric].format
    columns = [Column("configuration"), Column("seed"), *_TRAINING]
    columns += [Column(f"against {name}", form) for name in comparison.opponents]
    columns += [*(Column(key, None) for key in _KEYS), Column("weights", lambda text: text[:_SHORT])]
    rows = [
        [group.label, run.seed, run.last.steps, run.last.minutes, *scores.tolist()]
        + [run.made_with(key) or _UNKNOWN for key in _KEYS]
        + [run.weights or _UNKNOWN]
        for group in comparison.groups
        for run, scores in zip(group.runs, comparison.scores(group), strict=True)
    ]
    return Table(columns, rows)


def write_comparison(comparison: Comparison, folder: Path, form: str = FIGURE_FORMATS[0]) -> None:
    """Write the tables as Markdown and LaTeX, ``runs.csv`` and the picture ``curves`` into a folder."""
    with storing_in(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, ending in ((MARKDOWN, "md"), (LATEX, "tex")):
            write_text(folder / f"comparison.{ending}", as_text(comparison, name) + "\n")
        write_text(folder / "runs.csv", runs_table(comparison).csv())
        write_curves(comparison, folder / f"curves.{form}")


def write_curves(comparison: Comparison, path: Path) -> None:
    """Draw learning curves over steps and minutes, with a row of panels for each opponent."""
    figure = new_figure(2 * _WIDTH, _HEIGHT * len(comparison.opponents) + _ROW * len(comparison.groups))
    panels = figure.subplots(len(comparison.opponents), 2, squeeze=False)
    write = percentage if comparison.is_share else number
    for opponent, row in zip(comparison.opponents, panels, strict=True):
        for axis, axes in zip(AXES, row, strict=True):
            for place, group in enumerate(comparison.groups):
                _draw(axes, place, group, comparison.learning_curve(group, opponent, axis))
            axes.set(xlabel=_AXES_TITLES[axis], ylabel=f"{_TITLES[comparison.metric]} against {opponent}")
            lengths = [max(getattr(run.last, axis) for run in group.runs) for group in comparison.groups]
            if max(lengths) >= _LOGARITHMIC * min(lengths) > 0:
                axes.set_xscale("log")
            else:
                axes.set_xlim(left=0)
            axes.xaxis.set_major_formatter(lambda value, _: number(value))
            axes.yaxis.set_major_formatter(lambda value, _: write(value))
            axes.grid(alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center")
    save(figure, path, _DPI)


def _draw(axes: Axes, place: int, group: Group, curve: Curve) -> None:
    """Draw the curve of a group with a band for its interval, or a single point with a bar."""
    color, dash = SERIES[place % len(SERIES)], "-" if place < len(SERIES) else "--"
    label, (places, values, low, high) = f"{group.label} ({counted(len(group.runs), 'run')})", curve
    axes.plot(places, values, color=color, linestyle=dash, label=label, clip_on=False)
    if len(values) == 1:
        ends = np.maximum(0.0, [values - low, high - values]) if curve.interval() else None
        axes.errorbar(places, values, yerr=ends, fmt="o", color=color, markersize=5, capsize=3)
    else:
        axes.fill_between(places, low, high, color=color, alpha=0.16, linewidth=0)
