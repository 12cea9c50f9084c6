"""Compares configurations by several runs of each: which runs belong together, what they reach, and when."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.learning.config import flattened
from patchwork_env.learning.evaluation.records import MatchFigures
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.seeds import ALL_OPPONENTS, check_independent, config_key
from patchwork_env.learning.evaluation.statistics import METRICS, STUDENT, Band, Floats, Interval, Statistics
from patchwork_env.learning.reports.run_results import RunResult

NAME, CONFIGURATION = "name", "configuration"
BY = (NAME, CONFIGURATION)
"""What the runs of a group have in common, unless something else is asked for."""
STEPS, MINUTES = "steps", "minutes"
AXES = (STEPS, MINUTES)

_MOST_DIFFERENCES = 3
"""How many keys are named of a configuration whose name another one has, too."""
_MOST_PLACES = 120
"""The highest number of places of a curve."""
_THRESHOLDS = 101
_SHARE_GRAIN = 0.05
"""Thresholds begin and end at multiples of this for shares, and of 1 for scores."""


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
    """Groups of runs that were measured in the same way; :func:`compare` makes it.

    Attributes:
        groups: The groups in the order of their first runs, at least one.
        game: The name of the game.
        metric: What is compared; one of :data:`~patchwork_env.learning.evaluation.statistics.METRICS`.
        opponents: The opponents that count, at least one.
        statistics: How figures over runs are computed.
    """

    groups: tuple[Group, ...]
    game: str
    metric: str
    opponents: tuple[str, ...]
    statistics: Statistics = STUDENT

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
        return self.statistics.mean(self.scores(group)[:, columns], games)

    def improvements(self) -> Iterator[tuple[Group, Group, str, float, Interval | None]]:
        """For every two groups and every opponent: the probability of improvement and its interval."""
        for first, second in itertools.combinations(self.groups, 2):
            own, others = self.scores(first), self.scores(second)
            for name, part in self.parts().items():
                yield first, second, name, *self.statistics.improvement(own[:, part], others[:, part])

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
        return Curve(places, self.statistics.mean(figures[..., None], played))

    def profile(self, group: Group, opponent: str) -> Curve:
        """The share of the runs of a group that reach more than each of some thresholds."""
        column = self.opponents.index(opponent)
        every = np.concatenate([self.scores(other)[:, column] for other in self.groups])
        grain = _SHARE_GRAIN if self.is_share else 1.0
        low, high = grain * (np.ceil(every.min() / grain) - 1), grain * (np.floor(every.max() / grain) + 1)
        if self.is_share:
            low, high = max(low, 0.0), min(high, 1.0)
        thresholds = np.linspace(low, high, _THRESHOLDS)
        return Curve(thresholds, self.statistics.profile(self.scores(group)[:, [column]], thresholds))


def at_common_places(of_runs: Sequence[Sequence[tuple[float, ...]]], axis: str) -> tuple[Floats, Floats]:
    """Figures of several runs within what all of them have, on straight lines between their points.

    Runs are evaluated at the same steps, but not after the same minutes: there places have even distances.

    Args:
        of_runs: The points of each run, at least one: its place, in ascending order, and its figures.
        axis: What places are, ``steps`` or ``minutes``.

    Returns:
        The places ``(n,)``, which may be none, and the figures ``(figures, n, runs)``.
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
    statistics: Statistics = STUDENT,
) -> Comparison:
    """Groups runs, after checking that they were measured in the same way.

    Args:
        results: The runs.
        against: The opponents that count; by default all of them.
        metric: What is compared; by default the win rate or, where the sides do not interact, the score.
        by: What the runs of a group have in common: ``name``, ``configuration`` apart from keys that change
            nothing of what is learned, and full names of keys, such as ``ppo.epochs``.
        statistics: How figures over runs are computed.

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
    return Comparison(_grouped(results, by), game, metric, opponents, statistics)


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
    """Raises ValueError unless all runs have the same value."""
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


# --- groups -------------------------------------------------------------------------------------------------


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
        check_independent(((run.source, str(run.seed)) for run in runs), "seed")
        runs.sort(key=lambda run: run.seed)
    return _with_different_labels([Group(labels[name], tuple(runs)) for name, runs in groups.items()])


def _label(key: str, value: Any) -> str:
    if key == NAME:
        return str(value)
    return ("" if key == "algorithm" else f"{key}=") + one_line(str(value), 60)


def _with_different_labels(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Where labels are the same, the keys are added in which the configurations differ."""
    labels = [group.label for group in groups]
    different = list(groups)
    for number, group in enumerate(groups):
        first = labels.index(group.label)
        if first < number:
            others, keys = (config_key(each.runs[0].configuration) for each in (groups[first], group))
            names = [key for key in others | keys if others.get(key) != keys.get(key)][:_MOST_DIFFERENCES]
            words = ", ".join(f"{key}={short_repr(keys.get(key), 20)}" for key in names)
            different[number] = replace(group, label=f"{group.label} ({words or number})")
    return tuple(different)
