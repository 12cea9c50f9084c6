"""The result of a run as one small file: what was trained, with what, and every evaluation of it.

From such files all tables and figures of a comparison can be made again, without the folders of the runs.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from patchwork_env.core.checks import check_between
from patchwork_env.core.documents import one_line, read_document
from patchwork_env.core.files import make_folder, storing_in, write_text
from patchwork_env.core.names import counted, short_repr
from patchwork_env.games import GAMES
from patchwork_env.learning.evaluation.players import hash_of_weights
from patchwork_env.learning.evaluation.results import MatchResult
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.reports.run.run_data import RunData, read_run
from patchwork_env.learning.runs.folder import FINAL, METRICS, metric_of, read_versions
from patchwork_env.learning.system.contents import as_type, first_problem
from patchwork_env.learning.system.machine import made_with

FORMAT = "patchwork-env result of a run"
VERSION = 1

_SEED = re.compile(r"[-_.]?seed[-_.]?\d+$", re.ASCII)
_NUMBERS = re.compile(r"([-_.]\d+)+$", re.ASCII)
"""What names of folders say of seeds, as in ``ppo-seed3``, and of repetitions, as in ``ppo-2``."""
_NO_NAME = re.compile(r"[^\w.+=-]+", re.ASCII)
"""Characters that names of files do without."""

_Text = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Number = Annotated[float, Field(ge=-1e15, le=1e15)]
_Count = Annotated[int, Field(ge=0, lt=2**64)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MatchFigures(_Part):
    """What a match of an evaluation came to.

    Attributes:
        opponent: The name of the opponent.
        games: The number of games.
        seed: The seed of the circles or decks.
        variant: What was played of the game; empty where it has no variants.
        win_rate, score_difference, score: The figures; ``score`` is the mean score of the policy.
    """

    opponent: _Text
    games: Annotated[int, Field(ge=1)]
    seed: _Count
    variant: _Text
    win_rate: Annotated[float, Field(ge=0, le=1)]
    score_difference: _Number
    score: _Number


class EvaluationFigures(_Part):
    """An evaluation after some steps, and minutes of playing and learning."""

    steps: _Count
    minutes: Annotated[float, Field(ge=0, le=1e9)]
    matches: Annotated[tuple[MatchFigures, ...], Field(min_length=1)]

    def match(self, opponent: str) -> MatchFigures | None:
        """The match against an opponent; None if there was none."""
        return next((match for match in self.matches if match.opponent == opponent), None)


class RunResult(_Part):
    """The result of a run.

    Attributes:
        name: What the run is a run of, such as the name of its configuration, without its seed.
        seed: The seed of the run.
        game, algorithm: What learned what.
        configuration: The whole configuration.
        starts: What every start of the run was made with; see :func:`~runs.folder.read_versions`.
        weights: The SHA-256 of the final policy's file of weights; None if the run has not ended.
        evaluations: All evaluations, by their steps.
        source: The folder or file that this was read from; it is not written.
    """

    name: Annotated[_Text, Field(min_length=1, max_length=200)]
    seed: _Count
    game: _Text
    algorithm: _Text
    configuration: dict[str, Any]
    starts: tuple[dict[str, Any], ...]
    weights: _Text | None
    evaluations: Annotated[tuple[EvaluationFigures, ...], Field(min_length=1)]
    source: str = Field("", exclude=True)

    def __repr__(self) -> str:
        return f"<RunResult: {self.name}, seed {self.seed}, {counted(len(self.evaluations), 'evaluation')}>"

    @property
    def last(self) -> EvaluationFigures:
        """The last evaluation."""
        return self.evaluations[-1]

    def made_with(self, key: str) -> str | None:
        """A version, the ``commit`` or the ``machine`` of the run; several if it went on with others."""
        told = [start[key] for start in self.starts if start.get(key) is not None]
        return ", then ".join(dict.fromkeys(one_line(str(value)) for value in told)) or None

    @model_validator(mode="after")
    def _check_order(self) -> RunResult:
        for earlier, later in itertools.pairwise(self.evaluations):
            if later.steps <= earlier.steps or later.minutes < earlier.minutes:
                raise ValueError(f"the evaluation of step {later.steps} follows that of step {earlier.steps}")
        return self


def read_result(path: Path) -> RunResult:
    """Reads the folder of a run, or a file that :func:`write_result` wrote.

    Raises:
        FileNotFoundError: There is neither.
        ValueError: The run has no evaluation yet, or a file is damaged; the message names it.
    """
    if path.is_file():
        return _from_file(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no run {path}")
    return _from_run(path)


def write_result(result: RunResult, folder: Path) -> Path:
    """Writes a result as ``NAME-seedN.json`` into a folder, in place of an earlier one; returns the file.

    Raises:
        StorageError: It cannot be written.
    """
    path = folder / f"{_NO_NAME.sub('-', result.name)}-seed{result.seed}.json"
    contents: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    contents |= result.model_dump(mode="json")
    evaluations = ",\n".join(f"  {json.dumps(one)}" for one in contents.pop("evaluations"))
    head = json.dumps(contents, indent=1).removesuffix("\n}")
    with storing_in(path):
        make_folder(folder)
        write_text(path, f'{head},\n "evaluations": [\n{evaluations}\n ]\n}}\n')
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
    """Writes what a training of one's own has reached, as a file that ``patchwork-env compare`` reads.

    Args:
        folder: The folder of the file, ``NAME-seedN.json``, which takes the place of an earlier one.
        name: What the training is one of, without its seed: trainings that share it are put together.
        evaluations: The evaluations by their steps, at least one; the last one counts. Steps are turns of
            games, minutes those of playing and learning.
        seed: The seed of the training.
        algorithm: What learned; the name by default.
        configuration: What was set, by name. Trainings with different values are not put together.
        weights: The file of the final weights, or the folder of a checkpoint, whose SHA-256 is noted.

    Returns:
        The file.

    Raises:
        ValueError: A value is not allowed, or the matches are of several games.
        StorageError: The file cannot be written.
    """
    matches = [match for _, _, played in evaluations for match in played]
    games = {match.games.game for match in matches}
    if len(games) != 1:
        raise ValueError(f"evaluations are matches of one game, not of {', '.join(sorted(games)) or 'none'}")
    (game,) = games
    contents: dict[str, Any] = {
        "name": name,
        "seed": seed,
        "game": game,
        "algorithm": algorithm or name,
        "configuration": json.loads(json.dumps(configuration or {}, default=str, allow_nan=False)),
        "starts": [{"steps": 0, **made_with()}],
        "weights": None if weights is None else hash_of_weights(Path(weights)),
        "evaluations": [
            _evaluation(
                game, {"steps": steps, "minutes": minutes, "matches": [one.as_dict() for one in played]}
            )
            for steps, minutes, played in evaluations
        ],
    }
    try:
        result = RunResult.model_validate(contents)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    return write_result(result, Path(folder))


def _from_file(path: Path) -> RunResult:
    result = as_type(RunResult, read_document(path, FORMAT, VERSION), path)
    if result.game not in tuple(GAMES):
        raise ValueError(f"{path}: game is {short_repr(result.game)}; known are {', '.join(GAMES)}")
    return result.model_copy(update={"source": str(path)})


def _from_run(folder: Path) -> RunResult:
    run = read_run(folder)
    if not run.evaluations:
        raise ValueError(
            f"{folder} has no evaluation yet; a run evaluates its policy at its end, if not before"
        )
    contents: dict[str, Any] = {
        "name": _name_of(folder.resolve()),
        "seed": check_between(run.config.get("seed", 0), 0, 2**64 - 1, f"{folder}: seed"),
        "game": run.game,
        "algorithm": str(run.config.get("algorithm", "")),
        "configuration": json.loads(json.dumps(run.config, default=str)),
        "starts": read_versions(folder),
        "weights": _weights(folder, run),
        "source": str(folder),
    }
    try:
        contents["evaluations"] = [_evaluation(run.game, one) for one in run.evaluations]
    except KeyError as error:
        raise ValueError(f"{folder} is damaged: an evaluation has no {error}") from None
    return as_type(RunResult, contents, folder)


def _name_of(folder: Path) -> str:
    """The name of a folder without its seed, or if nothing else is in it, that of the folder around it."""
    return name_without_seed(folder.name) or name_without_seed(folder.parent.name) or folder.name


def name_without_seed(name: str) -> str:
    """What the name of a run's folder says besides its seed; empty if that is nothing."""
    name = f"-{name}"  # so that a name may be nothing but a number
    return (_SEED if _SEED.search(name) else _NUMBERS).sub("", name).strip("-_.")


def _weights(folder: Path, run: RunData) -> str | None:
    """The hash that the final evaluation noted or, in runs of earlier versions, that of the final policy."""
    noted: str | None = run.evaluations[-1].get("weights")
    return noted or (hash_of_weights(folder / FINAL) if run.has_ended else None)


def _evaluation(game: str, contents: dict[str, Any]) -> dict[str, Any]:
    matches = [_match(runner_of(game).variant, match) for match in contents["matches"]]
    return {"steps": contents["steps"], "minutes": contents["minutes"], "matches": matches}


def _match(variant: str, match: dict[str, Any]) -> dict[str, Any]:
    figures = {name: metric_of(match, name) for name in METRICS}
    told = {"opponent": match["opponent"], "games": match["games"], "seed": match.get("seed", 0)}
    return told | {"variant": str(match.get(variant, ""))} | figures
