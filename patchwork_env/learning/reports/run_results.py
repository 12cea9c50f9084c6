"""The results of runs, from their folders or from small files."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

from patchwork_env.core.checks import as_integer, check_between
from patchwork_env.core.documents import one_line, read_document, read_text
from patchwork_env.core.files import storing_in, write_text
from patchwork_env.core.names import counted, short_repr
from patchwork_env.games import GAMES, PATCHWORK
from patchwork_env.learning.config import parse_yaml
from patchwork_env.learning.evaluation.matches import hash_of_weights
from patchwork_env.learning.evaluation.records import RunEvaluation, as_type, read_evaluation
from patchwork_env.learning.evaluation.results import MatchFigures, MatchResult
from patchwork_env.learning.evaluation.statistics import Curve
from patchwork_env.learning.runs.folder import (
    CONFIG_FILE,
    FINAL,
    METRICS_FILE,
    evaluation_files,
    metrics_lines,
    read_versions,
)
from patchwork_env.learning.system import made_with

FORMAT, VERSION = "patchwork-env result of a run", 2
_SEED = re.compile(r"[-_.]?seed[-_.]?\d+$", re.ASCII)
_NUMBERS = re.compile(r"([-_.]\d+)+$", re.ASCII)
"""The ends of folders' names for seeds, as in ``ppo-seed3``, and for repetitions, as in ``ppo-2``."""
_LONGEST_NAME = 200
_MOST_BYTES = 2**32  # of the learning curves
_NO_NAME = re.compile(r"[^\w.+=-]+", re.ASCII)  # characters that file names must not have


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The results of a run, ended or not; files lack all fields from ``source`` on."""

    name: str  # without the seed, such as that of the configuration
    seed: int
    game: str
    algorithm: str
    configuration: dict[str, Any]  # possibly of another version of the package
    starts: tuple[dict[str, Any], ...]  # versions and machine of each start; see `runs.folder.read_versions`
    weights: str | None  # the SHA-256 of the final policy's file; None if the run has not ended
    evaluations: tuple[RunEvaluation, ...]  # by their steps
    source: str = ""  # the folder or file that holds the result
    label: str = ""  # the name of the folder, for pages
    text: str = ""  # the configuration as it was written
    metrics: tuple[dict[str, Any], ...] = ()  # the lines of the curves
    has_final: bool = False  # of an extended run, the policy at its first end

    def __post_init__(self) -> None:
        if not (0 < len(self.name) <= _LONGEST_NAME and self.name.isprintable()):
            raise ValueError(
                f"name is {short_repr(self.name)}; it must be 1 to {_LONGEST_NAME} printable characters"
            )
        check_between(self.seed, 0, 2**64 - 1, "seed")
        for earlier, later in itertools.pairwise(self.evaluations):
            if later.steps <= earlier.steps or later.minutes < earlier.minutes:
                raise ValueError(f"the evaluation of step {later.steps} follows that of step {earlier.steps}")

    def __repr__(self) -> str:
        return f"<RunResult: {self.name}, seed {self.seed}, {counted(len(self.evaluations), 'evaluation')}>"

    @property
    def last(self) -> RunEvaluation:
        """The last evaluation; there must be one."""
        return self.evaluations[-1]

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return max([0, *(line["steps"] for line in self.metrics), *(one.steps for one in self.evaluations)])

    @property
    def minutes(self) -> float:
        """The minutes spent on playing and learning, without evaluations."""
        of_metrics = (line["minutes"] for line in self.metrics)
        return max([0.0, *of_metrics, *(one.minutes for one in self.evaluations)])

    @property
    def total_steps(self) -> int | None:
        """The number of steps that the configuration asks for; None if it has none."""
        total = self.configuration.get("total_steps")
        return total if isinstance(total, int) else None

    @property
    def has_ended(self) -> bool:
        """Whether the run has all the steps that its configuration asks for."""
        return self.has_final and self.total_steps is not None and self.steps >= self.total_steps

    @property
    def opponents(self) -> list[str]:
        """All opponents of evaluations, in the order of the last one."""
        matches = [match for evaluation in reversed(self.evaluations) for match in evaluation.matches]
        return list(dict.fromkeys(match.opponent for match in matches))

    def made_with(self, key: str) -> str | None:
        """Return a version, the ``commit`` or the ``machine``; several if the run was resumed with others."""
        values = [start[key] for start in self.starts if start.get(key) is not None]
        return ", then ".join(dict.fromkeys(one_line(str(value)) for value in values)) or None

    def metric_names(self) -> list[str]:
        """Return the names of all metrics in the order of their appearance."""
        names = dict.fromkeys(name for line in self.metrics for name in line)
        return [name for name in names if name not in ("steps", "minutes")]

    def curve(self, name: str) -> Curve:
        """Return a metric over the steps of the run, without values that are not finite."""
        lines = [line for line in self.metrics if math.isfinite(line.get(name, math.nan))]
        return Curve.of((line["steps"], line[name], None) for line in lines)

    def matches(self, opponent: str) -> list[tuple[RunEvaluation, MatchFigures]]:
        """Return the evaluations with a match against an opponent, each together with this match."""
        return [(one, match) for one in self.evaluations if (match := one.match(opponent)) is not None]


def _stored(kind: type[RunResult | MatchFigures]) -> list[str]:
    """Return the fields of a class that files of results have: those without defaults."""
    return [field.name for field in fields(kind) if field.default is field.default_factory is MISSING]


def read_result(path: Path) -> RunResult:
    """Return the result in the folder of a run or in a file; ValueError or FileNotFoundError otherwise."""
    if path.is_file():
        contents = read_document(path, FORMAT, VERSION)
        result = as_type(
            RunResult, {key: contents[key] for key in _stored(RunResult) if key in contents}, path
        )
        _check_game(result.game, path)
        return replace(result, source=str(path))
    config, folder = path / CONFIG_FILE, path.resolve()
    if not path.exists():
        raise FileNotFoundError(f"there is no run {path}")
    if not config.is_file():
        raise FileNotFoundError(f"{path} is not a run: it holds no {CONFIG_FILE}")
    text = read_text(config)
    try:
        configuration = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{config} is not valid YAML: {error}") from None
    if not isinstance(configuration, dict):
        raise ValueError(f"{config} is damaged: a configuration is a mapping of keys to values")
    evaluations = tuple(map(read_evaluation, evaluation_files(path).values()))
    game, metrics = (
        _check_game(configuration.get("game", PATCHWORK), config),
        _read_metrics(path / METRICS_FILE),
    )
    try:
        return RunResult(
            # If the folder's name is only a seed, its parent has the name.
            name=name_without_seed(folder.name) or name_without_seed(folder.parent.name) or folder.name,
            seed=configuration.get("seed", 0),
            game=game,
            algorithm=str(configuration.get("algorithm", "")),
            configuration=json.loads(json.dumps(configuration, default=str)),
            starts=tuple(read_versions(path)),
            weights=evaluations[-1].weights if evaluations else None,
            evaluations=evaluations,
            source=str(path),
            label=folder.name,
            text=text,
            metrics=metrics,
            has_final=(path / FINAL).is_dir(),
        )
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def result_file(result: RunResult, folder: Path) -> Path:
    """Return the file of a result in a folder; different names can have the same file."""
    return folder / f"{_NO_NAME.sub('-', result.name)}-seed{result.seed}.json"


def write_result(result: RunResult, folder: Path) -> Path:
    """Write a result as ``NAME-seedN.json`` into a folder, replacing an earlier one; return the file."""
    path = result_file(result, folder)
    evaluations = []
    for one in result.evaluations:
        matches = [
            {key: getattr(match, key) for key in _stored(MatchFigures)}
            | {"sides": {"agent": {"score": match.score}}}
            for match in one.matches
        ]
        evaluations.append({"steps": one.steps, "minutes": one.minutes, "matches": matches})
    stored = {key: getattr(result, key) for key in _stored(RunResult)}
    contents = {"format": FORMAT, "version": VERSION, **stored, "evaluations": evaluations}
    with storing_in(path):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(contents, indent=1) + "\n")
    return path


Evaluated = tuple[int, float, Sequence[MatchResult]]
"""The steps and the minutes of training before an evaluation, and its matches, one for each opponent."""


def write_training(
    folder: str | os.PathLike[str],
    name: str,
    evaluations: Sequence[Evaluated],
    *,
    seed: int = 0,
    algorithm: str = "",
    configuration: Mapping[str, Any] | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the results of your own training as a file that ``patchwork-env compare`` reads.

    Args:
        folder: The folder of the file, ``NAME-seedN.json``; an earlier file is replaced.
        name: The name of the configuration, without the seed; trainings that share it are one group.
        evaluations: Steps, in turns of games, minutes of playing and learning, and matches; the last
            evaluation counts.
        seed: The seed of the training.
        algorithm: The name of the algorithm; ``name`` by default.
        configuration: The settings by name. Trainings with different values are different groups.
        weights: The file of the final weights, or the folder of a checkpoint, whose SHA-256 is stored.

    Returns:
        The file.

    Raises:
        ValueError: A value is not allowed, or the matches are of several games.
        StorageError: The file cannot be written.
    """
    games = {match.games.game for _, _, played in evaluations for match in played}
    if len(games) != 1:
        raise ValueError(f"evaluations are matches of one game, not of {', '.join(sorted(games)) or 'none'}")
    measured = []
    for steps, minutes, played in evaluations:
        if not played:
            raise ValueError(f"the evaluation of step {steps} has no matches")
        figures = tuple(one.figures for one in played)
        measured.append(RunEvaluation(as_integer(steps, "steps"), float(minutes), figures))
    result = RunResult(
        name=name,
        seed=as_integer(seed, "seed"),
        game=games.pop(),
        algorithm=algorithm or name,
        configuration=json.loads(json.dumps(configuration or {}, default=str, allow_nan=False)),
        starts=({"steps": 0, **made_with()},),
        weights=None if weights is None else hash_of_weights(Path(weights)),
        evaluations=tuple(measured),
    )
    return write_result(result, Path(folder))


def name_without_seed(name: str) -> str:
    """Return the name of a run's folder without its seed, which may be empty."""
    name = f"-{name}"  # so that the whole name may be a number
    return (_SEED if _SEED.search(name) else _NUMBERS).sub("", name).strip("-_.")


def _check_game(game: Any, path: Path) -> str:
    if game not in tuple(GAMES):
        raise ValueError(f"{path}: game is {short_repr(game)}; known are {', '.join(GAMES)}")
    return str(game)


def _read_metrics(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the lines of the learning curves, without an unfinished last one."""
    if not path.exists():
        return ()
    metrics = []
    for number, (line, figures) in enumerate(metrics_lines(read_text(path, _MOST_BYTES)), 1):
        if figures:
            metrics.append(figures)
        elif line.endswith("\n"):
            raise ValueError(f"{path}, line {number}, is damaged: it must be an object of numbers with steps")
    return tuple(metrics)
