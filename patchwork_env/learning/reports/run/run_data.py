"""Reads what a run has written into its folder so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env.core.documents import read_text
from patchwork_env.core.names import short_repr
from patchwork_env.games import GAMES, PATCHWORK
from patchwork_env.learning.config import parse_yaml
from patchwork_env.learning.runs.folder import (
    CONFIG_FILE,
    FINAL,
    METRICS_FILE,
    evaluation_files,
    metrics_lines,
    read_evaluation,
)


class Point(NamedTuple):
    """A value at some point of a run, with a lower and an upper bound if it has them."""

    steps: int
    minutes: float
    value: float
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class RunData:
    """A run as its folder shows it, whether it has ended, goes on or has just begun.

    Attributes:
        name: The name of the folder.
        config_text: The configuration as it was written.
        config: The configuration as data; any version of the package may have written it.
        metrics: The lines of the learning curves.
        evaluations: The evaluations in the order of their steps; see
            :mod:`patchwork_env.learning.runs.folder`.
        has_final: Whether the folder holds a final policy; a run that was extended has that of its first end.
    """

    name: str
    config_text: str
    config: dict[str, Any]
    metrics: list[dict[str, Any]]
    evaluations: list[dict[str, Any]]
    has_final: bool

    @property
    def game(self) -> str:
        """The name of the game; Patchwork where the configuration does not say."""
        return str(self.config.get("game", PATCHWORK))

    @property
    def steps(self) -> int:
        """The number of turns played so far."""
        return max((line["steps"] for line in (*self.metrics, *self.evaluations)), default=0)

    @property
    def total_steps(self) -> int | None:
        """The number of turns that the configuration asks for; None if it does not say."""
        total = self.config.get("total_steps")
        return total if isinstance(total, int) else None

    @property
    def has_ended(self) -> bool:
        """Whether the run has all the steps that its configuration asks for."""
        return self.has_final and self.total_steps is not None and self.steps >= self.total_steps

    @property
    def minutes(self) -> float:
        """The minutes spent on playing and learning, without evaluations."""
        return max((line["minutes"] for line in (*self.metrics, *self.evaluations)), default=0.0)

    @property
    def machines(self) -> list[str]:
        """The machines on which evaluations took place."""
        return list(dict.fromkeys(evaluation["machine"] for evaluation in self.evaluations))

    @property
    def opponents(self) -> list[str]:
        """All opponents of evaluations, in the order of the last one."""
        matches = [match for evaluation in reversed(self.evaluations) for match in evaluation["matches"]]
        return list(dict.fromkeys(match["opponent"] for match in matches))

    def metric_names(self) -> list[str]:
        """The names of all metrics in the order of their appearance."""
        names = dict.fromkeys(name for line in self.metrics for name in line)
        return [name for name in names if name not in ("steps", "minutes")]

    def curve(self, name: str) -> list[Point]:
        """The values of a metric over the run; those that are no finite numbers are left out."""
        lines = [line for line in self.metrics if math.isfinite(line.get(name, math.nan))]
        return [Point(line["steps"], line["minutes"], line[name]) for line in lines]

    def matches(self, opponent: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The evaluations with a match against an opponent, each together with this match."""
        return [
            (evaluation, match)
            for evaluation in self.evaluations
            for match in evaluation["matches"]
            if match["opponent"] == opponent
        ]


def read_run(folder: Path) -> RunData:
    """Reads the folder of a run.

    Raises:
        FileNotFoundError: The folder is not that of a run.
        ValueError: A file is damaged; the message names it.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no run: it holds no {CONFIG_FILE}")
    text = read_text(path)
    try:
        config = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} is damaged: a configuration is a mapping of keys to values")
    if config.get("game", PATCHWORK) not in tuple(GAMES):
        raise ValueError(f"{path}: game is {short_repr(config['game'])}; known are {', '.join(GAMES)}")
    metrics = _read_metrics(folder / METRICS_FILE)
    evaluations = [read_evaluation(path) for path in evaluation_files(folder)]
    return RunData(folder.resolve().name, text, config, metrics, evaluations, (folder / FINAL).is_dir())


def _read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of the learning curves, without one that is still being written; none if there is no file."""
    if not path.exists():
        return []
    metrics = []
    for number, (line, figures) in enumerate(metrics_lines(read_text(path)), 1):
        if figures:
            metrics.append(figures)
        elif line.endswith("\n"):
            raise ValueError(f"{path}, line {number}, is damaged: it is no object of numbers with its steps")
    return metrics
