"""Which runs are samples of the same thing, and whether runs can be compared at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.learning.config import changes_learning, flattened
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.seeds import ALL_OPPONENTS, check_independent
from patchwork_env.learning.evaluation.statistics import STUDENT, Band, Floats, Statistics
from patchwork_env.learning.reports.comparison.results import EvaluationFigures, RunResult
from patchwork_env.learning.runs.folder import METRICS

NAME, CONFIGURATION = "name", "configuration"
BY = (NAME, CONFIGURATION)
"""What the runs of a group have in common, unless something else is asked for."""

_MOST_DIFFERENCES = 3
"""How many keys are told of a configuration whose name another one has, too."""


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but their seeds, by the order of these, at least one."""

    label: str
    runs: tuple[RunResult, ...]


@dataclass(frozen=True)
class Comparison:
    """Groups of runs that were measured in the same way.

    Attributes:
        groups: The groups in the order in which their first runs were given, at least one.
        game: The name of the game.
        metric: What is compared; one of :data:`~patchwork_env.learning.runs.folder.METRICS`.
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
        return np.array([[self.value(run.last, name) for name in self.opponents] for run in group.runs])

    def parts(self) -> dict[str, list[int]]:
        """What has figures of its own, with its columns of scores: opponents, and for shares all of them."""
        every = list(range(len(self.opponents)))
        together = {ALL_OPPONENTS: every} if self.is_share and len(every) > 1 else {}
        return {name: [column] for column, name in enumerate(self.opponents)} | together

    def mean(self, group: Group, columns: Sequence[int]) -> Band:
        """The mean over the runs of a group, of some columns of :meth:`scores`."""
        matches = [[run.last.match(name) for name in self.opponents] for run in group.runs]
        games = np.array([[match.games if match else 0 for match in row] for row in matches], np.float64)
        return self.statistics.mean(
            self.scores(group)[:, columns], games[:, columns] if self.is_share else None
        )

    def value(self, evaluation: EvaluationFigures, opponent: str) -> float:
        """The figure that is compared, of the match against one of the opponents, which took place."""
        return float(getattr(evaluation.match(opponent), self.metric))


def compare(
    results: Sequence[RunResult],
    *,
    against: Sequence[str] = (),
    metric: str | None = None,
    by: Sequence[str] = BY,
    statistics: Statistics = STUDENT,
) -> Comparison:
    """Puts runs into groups, after checking that they were measured in the same way.

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
    _check_alike("game", results, lambda run: run.game)
    game = results[0].game
    metric = metric or runner_of(game).metric
    if metric not in METRICS:
        raise ValueError(f"metric is {short_repr(metric)}; allowed are {', '.join(METRICS)}")
    opponents = tuple(dict.fromkeys(against)) or _common_opponents(results)
    for name in opponents:
        _check_met(results, name)
        _check_alike("variant of the game", results, partial(_of_match, name, "variant"))
        _check_alike(f"number of games against {name}", results, partial(_of_match, name, "games"))
    return Comparison(_grouped(results, by), game, metric, opponents, statistics)


def _of_match(opponent: str, figure: str, run: RunResult) -> Any:
    return getattr(run.last.match(opponent), figure)


def _common_opponents(results: Sequence[RunResult]) -> tuple[str, ...]:
    met = {run.source: [match.opponent for match in run.last.matches] for run in results}
    first, *others = met.items()
    for source, names in others:
        if set(names) != set(first[1]):
            raise ValueError(
                f"the last evaluations have different opponents: {first[0]} met {_listed(first[1])}, "
                f"{source} {_listed(names)}; --against names those that count"
            )
    return tuple(first[1])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(short_repr(name) for name in names)


def _check_met(results: Sequence[RunResult], opponent: str) -> None:
    for run in results:
        if run.last.match(opponent) is None:
            met = _listed(match.opponent for match in run.last.matches)
            raise ValueError(
                f"{run.source} has not met {short_repr(opponent)} in its last evaluation, but {met}"
            )


def _check_alike(what: str, results: Sequence[RunResult], of: Callable[[RunResult], Any]) -> None:
    """Raises ValueError unless something is the same for all runs."""
    found = {of(run): run for run in results}
    if len(found) > 1:
        told = "; ".join(f"{run.source} has {short_repr(value)}" for value, run in list(found.items())[:3])
        raise ValueError(f"runs are compared that have the same {what}: {told}")


def _check_ended(run: RunResult) -> None:
    """Raises ValueError if the last evaluation is not that of all steps that the configuration asks for."""
    total = run.configuration.get("total_steps")
    if isinstance(total, int) and run.last.steps < total:
        raise ValueError(
            f"runs are compared that have ended; {run.source} was last evaluated after {run.last.steps:,} of "
            f"{total:,} steps"
        )


# --- groups -------------------------------------------------------------------------------------------------


def _grouped(results: Sequence[RunResult], by: Sequence[str]) -> tuple[Group, ...]:
    flat = [flattened(run.configuration) for run in results]
    known = {NAME, CONFIGURATION, *(key for keys in flat for key in keys)}
    for key in by:
        if key not in known:
            raise ValueError(
                f"runs cannot be grouped by {short_repr(key)}; {did_you_mean(key, sorted(known))}"
            )
    alike: dict[str, list[RunResult]] = {}
    for run, keys in zip(results, flat, strict=True):
        alike.setdefault(json.dumps([_part(run, keys, key) for key in by]), []).append(run)
    shown = [key for key in by if key != CONFIGURATION] or [NAME]
    groups = [Group(_label(runs[0], shown), _by_seed(runs)) for runs in alike.values()]
    return tuple(_told_apart(groups))


def _part(run: RunResult, keys: dict[str, Any], key: str) -> Any:
    """What a run has of something that the runs of a group have in common."""
    if key == NAME:
        return run.name
    return recipe_of(run.configuration) if key == CONFIGURATION else keys.get(key)


def recipe_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration by full keys, without its seed and without what has no effect on learning."""
    keys = flattened(configuration)
    return {key: keys[key] for key in sorted(keys) if changes_learning(key)}


def _label(run: RunResult, shown: Sequence[str]) -> str:
    keys = flattened(run.configuration)
    parts = [run.name if key == NAME else one_line(str(keys.get(key)), 60) for key in shown]
    told = [
        part if key in (NAME, "algorithm") else f"{key}={part}"
        for key, part in zip(shown, parts, strict=True)
    ]
    return ", ".join(told)


def _by_seed(runs: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The runs of a group by their seeds; raises ValueError if two have the same."""
    check_independent(((run.source, str(run.seed)) for run in runs), "seed")
    return tuple(sorted(runs, key=lambda run: run.seed))


def _told_apart(groups: Sequence[Group]) -> list[Group]:
    """Groups whose labels differ: where they do not, the keys are added in which the configurations do."""
    labels = [group.label for group in groups]
    told = []
    for number, group in enumerate(groups):
        first = labels.index(group.label)
        if first != number:
            others, keys = (recipe_of(each.runs[0].configuration) for each in (groups[first], group))
            differing = [key for key in others | keys if others.get(key) != keys.get(key)]
            words = ", ".join(
                f"{key}={short_repr(keys.get(key), 20)}" for key in differing[:_MOST_DIFFERENCES]
            )
            group = replace(group, label=f"{group.label} ({words or number})")
        told.append(group)
    return told
