"""Compares configurations by several runs of each: which belong together, what they reach, and when.

Texts, the table of runs and the descriptions within pictures name code, packages and machine of the runs.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from patchwork_env.core.documents import one_line
from patchwork_env.core.files import make_folder, storing_in, write_text
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.learning.config import changes_learning, flattened
from patchwork_env.learning.evaluation import statistics
from patchwork_env.learning.evaluation.records import MatchFigures
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.statistics import ALL_OPPONENTS, METRICS, Band, Floats, Interval
from patchwork_env.learning.evaluation.tables import LATEX, MARKDOWN, Column, Table, interval_columns, render
from patchwork_env.learning.reports.charts import number, percentage
from patchwork_env.learning.reports.plots import FORMATS, SERIES, TRAINING, new_figure, save
from patchwork_env.learning.reports.run_results import RunResult
from patchwork_env.learning.system import PACKAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NAME, CONFIGURATION = "name", "configuration"
BY = (NAME, CONFIGURATION)  # what the runs of a group have in common, unless something else is asked for
STEPS, MINUTES = "steps", "minutes"
AXES = (STEPS, MINUTES)

_MOST_DIFFERENCES = 3  # how many keys are named of a configuration whose name another one has, too
_MOST_PLACES = 120  # the highest number of places of a curve

UNKNOWN = "not recorded"
SHORT = 12  # the number of digits by which commits and hashes of weights are cut; no less than `UNKNOWN` has
KEYS = ("patchwork_env", "commit", "python", *PACKAGES, "machine")  # what the runs note of every start

TITLES = {"win_rate": "wins", "score_difference": "score difference", "score": "score"}
_FORMS = {"win_rate": "{:.1%}", "score_difference": "{:+.1f}", "score": "{:.1f}"}
_IMPROVEMENT = (
    "Probability of improvement: that a run of the first configuration does better than one of the second."
)
_ALL_RUNS = f"All runs, at their last evaluations, with the first {SHORT} digits of their weights' SHA-256."
_TRAINING = [Column("steps", "{:,.0f}".format), Column("minutes", "{:.1f}".format)]
_GROUP = [Column("configuration"), Column("against"), Column("runs")]

_DPI = 300  # the dots per inch of PNG, as journals ask for them
_WIDTH, _HEIGHT = 4.4, 3.2  # the size of a panel, in inches
_ROW = 0.32
_LEGEND_ROW = 0.24  # the height of a row of the legend, in inches
_LOGARITHMIC = 10
"""How many times the shortest training of a configuration the longest must take for a logarithmic axis."""
_HIGH = 0.5  # axes of shares begin at 0 unless all curves lie above this
_DOT: dict[str, Any] = {"fmt": "o", "markersize": 5, "elinewidth": 1.5, "capsize": 3, "clip_on": False}
"""A dot with its interval."""
_DASHES = ("-", "--", ":", "-.")  # the lines of groups that have the same color


class Curve(NamedTuple):
    """What a group reached at several places of an axis, arrays ``(places,)``."""

    places: Floats
    band: Band


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but their seeds, by the order of these, at least one."""

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
        """Whether what is compared is a share of the games, 0-1; only shares have means over opponents."""
        return self.metric == "win_rate"

    def scores(self, group: Group) -> Floats:
        """What the runs of a group reached at their last evaluations, ``(runs, opponents)``."""
        return self._figures(group, self.metric)

    def _figures(self, group: Group, name: str) -> Floats:
        matches = [[_last_match(run, opponent) for opponent in self.opponents] for run in group.runs]
        return np.array([[getattr(match, name) for match in row] for row in matches], np.float64)

    def parts(self) -> dict[str, list[int]]:
        """What has figures of its own, with its columns of scores: opponents, and for shares all of them."""
        every = list(range(len(self.opponents)))
        together = {ALL_OPPONENTS: every} if self.is_share and len(every) > 1 else {}
        return {name: [column] for column, name in enumerate(self.opponents)} | together

    def mean(self, group: Group, columns: Sequence[int]) -> Band:
        """The mean over the runs of a group, of some columns of :meth:`scores`."""
        games = self._figures(group, "games")[:, columns] if self.is_share else None
        return statistics.mean_of_runs(self.scores(group)[:, columns], games)

    def improvements(self) -> Iterator[tuple[Group, Group, str, float, Interval | None]]:
        """For every two groups and every opponent: the probability of improvement and its interval."""
        for first, second in itertools.combinations(self.groups, 2):
            own, others = self.scores(first), self.scores(second)
            for name, part in self.parts().items():
                yield first, second, name, *statistics.improvement(own[:, part], others[:, part])

    def learning_curve(self, group: Group, opponent: str, axis: str) -> Curve | None:
        """The mean over the runs of a group at steps or minutes; None if the runs have none in common."""
        curves = [
            [
                (float(getattr(one, axis)), float(getattr(match, self.metric)), float(match.games))
                for one, match in run.matches(opponent)
            ]
            for run in group.runs
        ]
        places, (figures, games) = at_common_places(curves, axis)
        if not len(places):
            return None
        played = games[..., None] if self.is_share else None
        return Curve(places, statistics.mean_of_runs(figures[..., None], played))


def at_common_places(of_runs: Sequence[Sequence[tuple[float, ...]]], axis: str) -> tuple[Floats, Floats]:
    """Figures of several runs within what all of them have, on straight lines between their points.

    ``of_runs`` has the points of each run, at least one: its place, in ascending order, and its figures.
    Returns the places ``(n,)``, which may be none, and the figures ``(figures, n, runs)``. Minutes, unlike
    steps, differ from run to run: there places have even distances.
    """
    curves = [np.array(points).T for points in of_runs]
    low, high = max(curve[0][0] for curve in curves), min(curve[0][-1] for curve in curves)
    union = np.unique(np.concatenate([curve[0] for curve in curves]))
    places = union[(union >= low) & (union <= high)]
    if len(places) and (len(places) > _MOST_PLACES or (axis == MINUTES and len(curves) > 1)):
        places = np.linspace(low, high, min(len(places), _MOST_PLACES))
    figures = [[np.interp(places, reached, values) for values in own] for reached, *own in curves]
    return places, np.moveaxis(np.array(figures), 0, 2)


# --- which runs are compared --------------------------------------------------------------------------------


def compare(
    results: Sequence[RunResult],
    *,
    against: Sequence[str] = (),
    metric: str | None = None,
    by: Sequence[str] = BY,
) -> Comparison:
    """Groups runs, after checking that they were measured in the same way.

    Args:
        results: The runs.
        against: The opponents that count; by default all of them.
        metric: What is compared; by default the win rate or, where the sides do not interact, the score.
        by: What the runs of a group have in common: ``name``, ``configuration`` apart from keys that change
            nothing of what is learned, and full names of keys, such as ``ppo.epochs``.

    Raises:
        ValueError: There are no runs, one has not ended, they are of different games or variants, their last
            evaluations have different opponents or numbers of games, or a group has a seed twice.
    """
    if not results:
        raise ValueError("there are no runs to compare")
    for run in results:
        _check_ended(run)
    _check_alike("game", results, [run.game for run in results])
    game = results[0].game
    metric = metric or runner_of(game).metric
    if metric not in METRICS:
        raise ValueError(f"metric is {short_repr(metric)}; allowed are {', '.join(METRICS)}")
    opponents = tuple(dict.fromkeys(against)) or _common_opponents(results)
    for name in opponents:
        matches = [_last_match(run, name) for run in results]
        _check_alike("variant of the game", results, [match.variant for match in matches])
        _check_alike(f"number of games against {name}", results, [match.games for match in matches])
    return Comparison(_grouped(results, by), game, metric, opponents)


def _check_ended(run: RunResult) -> None:
    """Raises ValueError if the last evaluation is not that of all steps that the configuration asks for."""
    if not run.evaluations or not run.last.matches:
        raise ValueError(
            f"{run.source} has no evaluation yet; a run evaluates its policy at its end, if not before"
        )
    if run.total_steps is not None and run.last.steps < run.total_steps:
        raise ValueError(
            f"runs are compared that have ended; {run.source} was last evaluated after {run.last.steps:,} of "
            f"{run.total_steps:,} steps"
        )


def _check_alike(what: str, results: Sequence[RunResult], values: Sequence[Any]) -> None:
    different = list(dict(zip(values, results, strict=True)).items())
    if len(different) > 1:
        listed = "; ".join(f"{run.source} has {short_repr(value)}" for value, run in different[:3])
        raise ValueError(f"runs are compared that have the same {what}: {listed}")


def _common_opponents(results: Sequence[RunResult]) -> tuple[str, ...]:
    first = results[0]
    for run in results[1:]:
        if set(_opponents(run)) != set(_opponents(first)):
            raise ValueError(
                f"the last evaluations have different opponents: {first.source} met "
                f"{_listed(_opponents(first))}, {run.source} {_listed(_opponents(run))}; "
                "--against names those that count"
            )
    return _opponents(first)


def _opponents(run: RunResult) -> tuple[str, ...]:
    return tuple(match.opponent for match in run.last.matches)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(short_repr, names))


def _last_match(run: RunResult, opponent: str) -> MatchFigures:
    match = run.last.match(opponent)
    if match is None:
        raise ValueError(
            f"{run.source} has not met {short_repr(opponent)} in its last evaluation, "
            f"but {_listed(_opponents(run))}"
        )
    return match


def _grouped(results: Sequence[RunResult], by: Sequence[str]) -> tuple[Group, ...]:
    """The runs in groups, each by the order of seeds; ValueError if a group has a seed twice."""
    flat = [flattened(run.configuration) for run in results]
    known = {NAME, CONFIGURATION, *(key for keys in flat for key in keys)}
    for key in by:
        if key not in known:
            raise ValueError(
                f"runs cannot be grouped by {short_repr(key)}; {did_you_mean(key, sorted(known))}"
            )
    groups: dict[str, list[RunResult]] = {}
    labels: dict[str, str] = {}
    titles = [key for key in by if key != CONFIGURATION] or [NAME]
    for run, keys in zip(results, flat, strict=True):
        keys = {**keys, NAME: run.name}
        common = [config_key(run.configuration) if key == CONFIGURATION else keys.get(key) for key in by]
        groups.setdefault(name := json.dumps(common), []).append(run)
        labels.setdefault(name, ", ".join(_label(key, keys.get(key)) for key in titles))
    for runs in groups.values():
        runs.sort(key=lambda run: run.seed)
        for one, other in itertools.pairwise(runs):
            if one.seed == other.seed:
                raise ValueError(
                    f"{one.source} and {other.source} are no independent samples: both have the seed "
                    f"{one.seed}"
                )
    return _with_different_labels([Group(labels[name], tuple(runs)) for name, runs in groups.items()])


def config_key(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration by full keys, without its seed and without what has no effect on learning."""
    keys = flattened(configuration)
    return {key: keys[key] for key in sorted(keys) if changes_learning(key)}


def _label(key: str, value: Any) -> str:
    if key == NAME:
        return str(value)
    return ("" if key == "algorithm" else f"{key}=") + one_line(str(value), 60)


def _with_different_labels(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Where labels are the same, the keys are added in which the configurations differ."""
    labels = [group.label for group in groups]
    different = list(groups)
    for place, group in enumerate(groups):
        first = labels.index(group.label)
        if first < place:
            others, keys = (config_key(each.runs[0].configuration) for each in (groups[first], group))
            names = [key for key in others | keys if others.get(key) != keys.get(key)][:_MOST_DIFFERENCES]
            words = ", ".join(f"{key}={short_repr(keys.get(key), 20)}" for key in names)
            different[place] = replace(group, label=f"{group.label} ({words or place})")
    return tuple(different)


# --- tables -------------------------------------------------------------------------------------------------


def as_text(comparison: Comparison, form: str) -> str:
    """The tables in a format of :mod:`~patchwork_env.learning.evaluation.tables`; CSV is the first alone."""
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
        f"evaluation {of_seeds}. {statistics.OF_RUNS}; steps, turns of all games, and minutes "
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
            rows.append([*_about(group, name), *reached, *training])
    return Table(columns, rows)


def improvement_table(comparison: Comparison) -> Table:
    """A row for every two configurations and every opponent."""
    columns = [Column("configuration"), Column("better than"), Column("against")]
    rows = [[first.label, second.label, *figures] for first, second, *figures in comparison.improvements()]
    return Table([*columns, *interval_columns("probability", "{:.0%}")], rows)


def runs_table(comparison: Comparison) -> Table:
    """A row for every run."""
    form = _FORMS[comparison.metric].format
    columns = [Column("configuration"), Column("seed"), *_TRAINING]
    columns += [Column(f"against {name}", form) for name in comparison.opponents]
    columns += [*(Column(key, None) for key in KEYS), Column("weights", lambda text: text[:SHORT])]
    rows = [
        [group.label, run.seed, run.last.steps, run.last.minutes, *scores.tolist(), *_provenance(run)]
        for group in comparison.groups
        for run, scores in zip(group.runs, comparison.scores(group), strict=True)
    ]
    return Table(columns, rows)


def curves_table(comparison: Comparison) -> Table:
    """The places of all learning curves."""
    rows = [
        [*_about(group, name), axis, *figures]
        for group in comparison.groups
        for name in comparison.opponents
        for axis in AXES
        for figures in _rows_of(comparison.learning_curve(group, name, axis))
    ]
    figures = interval_columns(TITLES[comparison.metric], "{}")
    return Table([*_GROUP, Column("axis"), Column("place"), *figures], rows)


def _about(group: Group, opponent: str) -> list[Any]:
    return [group.label, opponent, len(group.runs)]


def _rows_of(curve: Curve | None) -> Iterator[list[Any]]:
    if curve:
        for k, place in enumerate(curve.places):
            yield [float(place), float(curve.band.values[k]), curve.band.interval(k)]


# --- what the runs were made with ---------------------------------------------------------------------------


def _provenance(run: RunResult) -> list[str]:
    """What a run was made with, each thing in full."""
    return [*(run.made_with(key) or UNKNOWN for key in KEYS), run.weights or UNKNOWN]


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
        # A `+` stands for files that were changed.
        short = [one[:SHORT] + "+" * one.endswith("+") for one in commit.split(", then ")]
        code += f" (commit {', then '.join(short)})"
    packages = [f"{name} {version}" for name in PACKAGES if (version := run.made_with(name)) is not None]
    return ", ".join([code, f"Python {run.made_with('python')}", *packages, f"on {run.made_with('machine')}"])


# --- files and figures --------------------------------------------------------------------------------------


def write_comparison(comparison: Comparison, folder: Path, form: str = FORMATS[0]) -> None:
    """Writes all tables of a comparison, as Markdown, LaTeX and CSV, and its figures into a folder."""
    csv = {
        "summary": summary_table(comparison),
        "improvement": improvement_table(comparison),
        "runs": runs_table(comparison),
        "curves": curves_table(comparison),
    }
    with storing_in(folder):
        make_folder(folder)
        for name, ending in ((MARKDOWN, "md"), (LATEX, "tex")):
            write_text(folder / f"comparison.{ending}", as_text(comparison, name) + "\n")
        for name, table in csv.items():
            write_text(folder / f"{name}.csv", table.csv())
        write_figures(comparison, folder, form)


def write_figures(comparison: Comparison, folder: Path, form: str) -> None:
    """Writes all figures into a folder; their own descriptions have versions, machines and weights."""
    figures = {"curves": curves(comparison)}
    if len(comparison.groups) > 1:
        figures["improvement"] = improvement(comparison)
    for name, figure in figures.items():
        save(figure, folder / f"{name}.{form}", "\n".join(provenance_lines(comparison.groups)), _DPI)


def curves(comparison: Comparison) -> Figure:
    """Learning curves over steps and minutes, with a row of panels for each opponent."""
    figure = new_figure(2 * _WIDTH, _HEIGHT * len(comparison.opponents))
    panels = figure.subplots(len(comparison.opponents), 2, squeeze=False)
    for opponent, row in zip(comparison.opponents, panels, strict=True):
        for axis, axes in zip(AXES, row, strict=True):
            _draw(axes, comparison, partial(comparison.learning_curve, opponent=opponent, axis=axis))
            axes.set(xlabel=TRAINING[axis], ylabel=f"{TITLES[comparison.metric]} against {opponent}")
            lengths = [max(getattr(run.last, axis) for run in group.runs) for group in comparison.groups]
            if max(lengths) >= _LOGARITHMIC * min(lengths) > 0:
                axes.set_xscale("log")
            else:
                axes.set_xlim(left=0)
            axes.xaxis.set_major_formatter(lambda value, _: number(value))
            if comparison.is_share:
                low, high = axes.get_ylim()
                axes.set_ylim(low if low > _HIGH else 0.0, min(1.0, high))
            _show_values(axes.yaxis, comparison)
    _add_legend(figure)
    return figure


def improvement(comparison: Comparison) -> Figure:
    """For every two configurations the probability that a run of the first does better."""
    improvements = list(comparison.improvements())
    parts = list(dict.fromkeys(name for _, _, name, _, _ in improvements))
    pairs = list(dict.fromkeys((first.label, second.label) for first, second, *_ in improvements))
    figure = new_figure(2 + 0.8 * _WIDTH * len(parts), 1 + _ROW * len(pairs))
    [panels] = figure.subplots(1, len(parts), sharey=True, squeeze=False)
    for part, axes in zip(parts, panels, strict=True):
        rows = [(value, interval) for *_, name, value, interval in improvements if name == part]
        for row, (value, interval) in enumerate(reversed(rows)):
            ends = interval and np.maximum(0.0, [[value - interval[0]], [interval[1] - value]])
            face = "white" if interval is None else SERIES[0]
            axes.errorbar(value, row, xerr=ends, color=SERIES[0], markerfacecolor=face, **_DOT)
        axes.axvline(0.5, color="#888888", linewidth=0.8, linestyle="--")
        axes.set(xlabel=f"probability of improvement\nagainst {part}")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(pairs) - 0.4))
        axes.grid(alpha=0.3, axis="x")
    panels[0].set_yticks(range(len(pairs)), [f"{first} > {second}" for first, second in reversed(pairs)])
    return figure


def _draw(axes: Axes, comparison: Comparison, curve_of: Callable[[Group], Curve | None]) -> None:
    """Draws a curve for every group, with a band for its interval; one without a curve is in the legend."""
    for place, group in enumerate(comparison.groups):
        color, dash = SERIES[place % len(SERIES)], _DASHES[place // len(SERIES) % len(_DASHES)]
        label = f"{group.label} ({counted(len(group.runs), 'run')})"
        curve = curve_of(group) or Curve(np.empty(0), Band(np.empty(0), None, None))
        values, low, high = curve.band
        is_dot = len(values) == 1
        (line,) = axes.plot(curve.places, values, color=color, linestyle=dash, label=label, clip_on=False)
        line.set(linewidth=1.5, marker="o" if is_dot else "", markersize=5)
        if low is not None and high is not None and is_dot:
            ends = np.maximum(0.0, [values - low, high - values])
            axes.errorbar(curve.places, values, yerr=ends, color=color, **_DOT)
        elif low is not None and high is not None:
            style: dict[str, Any] = {"alpha": 0.16, "linewidth": 0}
            axes.fill_between(curve.places, low, high, color=color, **style)
    axes.grid(alpha=0.3)


def _show_values(axis: Axis, comparison: Comparison) -> None:
    write = percentage if comparison.is_share else number
    axis.set_major_formatter(lambda value, _: write(value))


def _add_legend(figure: Figure) -> None:
    lines, labels = figure.axes[0].get_legend_handles_labels()
    for columns in range(len(labels), 0, -1):
        legend = figure.legend(lines, labels, loc="outside upper center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * math.ceil(len(labels) / columns))
