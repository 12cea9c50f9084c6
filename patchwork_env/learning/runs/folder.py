"""The files in the folder of a run, and how evaluations are read; needs nothing that trains.

    RUN/config.yaml                    the whole configuration; it is written after the first checkpoint
    RUN/checkpoints/step_0000655360/   checkpoint.json, weights.safetensors: a policy, which is an agent
                                       trainer.json, trainer.safetensors: what resuming the run needs
    RUN/final/                         the policy at the end of the run
    RUN/candidates/step_0000655360/    a policy that was among the best three in the evaluations
    RUN/best/                          the best of these when they were measured again at the end of the run
    RUN/metrics.jsonl, RUN/events.*    the learning curves, as text and for TensorBoard
    RUN/evaluations/                   figures and sample games of every evaluation
    RUN/versions.jsonl                 what every start of the run was made with: code, packages, machine
    RUN/divergence/step_0000655360/    the batch, losses and policy of a loss that was not finite
    RUN/trackers/                      what tracking services know the run by
    RUN/lock                           locked by the process that is training

Only the newest two checkpoints keep their trainer's files.

An evaluation, ``RUN/evaluations/step_0000655360.json``, holds ``format``, ``version``, ``game``,
``algorithm``, ``steps``, ``iteration``, ``minutes``, ``machine``, ``matches`` and ``sample_games``; that of
the final policy also ``weights``, the SHA-256 of its file of weights. ``RUN/evaluations/best.json`` is that
of ``RUN/best``, with the matches by which it was chosen and without sample games. A match is the ``as_dict``
of the :class:`~patchwork_env.learning.evaluation.results.MatchResult` against an opponent.
A sample game has ``opponent``, ``players`` (their names by seat), ``scores``, ``winner`` (a seat, or null for
a tie) and ``notation`` (see ``notation.py`` of the game).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from patchwork_env.core.documents import parse_json, read_document, read_text
from patchwork_env.learning.system.contents import as_type

CONFIG_FILE = "config.yaml"
METRICS_FILE = "metrics.jsonl"
EVALUATIONS = "evaluations"
FINAL = "final"
BEST = "best"
VERSIONS_FILE = "versions.jsonl"

EVALUATION_FORMAT = "patchwork-env evaluation of a run"
EVALUATION_VERSION = 1
_CHECKPOINTS, _CANDIDATES = "checkpoints", "candidates"
_STEPS = re.compile(r"step_(\d{1,12})(\.json)?", re.ASCII)
"""The names of checkpoints and of evaluations."""

_Steps = Annotated[int, Field(ge=0, lt=10**12)]
_Number = Annotated[float, Field(ge=-1e15, le=1e15)]
_Interval = Annotated[list[_Number], Field(min_length=2, max_length=2)]


class _Part(BaseModel):
    """A part of an evaluation, which may hold more than what is checked."""


class _Sides(_Part):
    agent: dict[str, _Number]
    opponent: dict[str, _Number]


class _Match(_Part):
    agent: str
    opponent: str
    games: _Steps
    win_rate: _Number
    win_rate_interval: _Interval
    score_difference: _Number
    score_difference_interval: _Interval | None
    turns_per_game: _Number
    sides: _Sides
    win_rate_starting: _Number = math.nan
    win_rate_following: _Number = math.nan
    ties: _Number = math.nan

    @model_validator(mode="after")
    def _check_rates(self) -> _Match:
        if math.isnan(self.ties) and math.isnan(self.win_rate_starting + self.win_rate_following):
            raise ValueError("there are neither ties nor the win rates of who starts and who follows")
        return self


class _SampleGame(_Part):
    opponent: str
    players: Annotated[list[str], Field(min_length=2)]
    winner: Annotated[int, Field(ge=0, le=1)] | None
    notation: str


class _Evaluation(_Part):
    steps: _Steps
    minutes: _Number
    machine: str
    weights: str | None = None
    matches: list[_Match]
    sample_games: list[_SampleGame]


def steps_of(path: Path) -> int | None:
    """The steps in the name of a checkpoint or of an evaluation; None if it has no such name."""
    match = _STEPS.fullmatch(path.name)
    return int(match[1]) if match else None


def checkpoint_folder(folder: Path, steps: int) -> Path:
    """The folder of the checkpoint after so many steps."""
    return folder / _CHECKPOINTS / f"step_{steps:010d}"


def checkpoint_folders(folder: Path) -> list[Path]:
    """The folders of the checkpoints of a run, by their steps; what has other names is passed over."""
    return [path for path in _by_steps(folder / _CHECKPOINTS) if path.is_dir()]


def candidate_folder(folder: Path, steps: int) -> Path:
    """The folder of the policy that was among the best after so many steps."""
    return folder / _CANDIDATES / f"step_{steps:010d}"


def candidate_folders(folder: Path) -> list[Path]:
    """The folders of the policies of a run that were best in its evaluations, by their steps."""
    return _by_steps(folder / _CANDIDATES)


def best_file(folder: Path) -> Path:
    """The file of the evaluation by which the best policy of a run was chosen."""
    return folder / EVALUATIONS / f"{BEST}.json"


def _by_steps(folder: Path) -> list[Path]:
    found = [(steps, path) for path in folder.glob("step_*") if (steps := steps_of(path)) is not None]
    return [path for _, path in sorted(found)]


def evaluation_file(folder: Path, steps: int) -> Path:
    """The file of the evaluation after so many steps; the order of the names is that of the steps."""
    return folder / EVALUATIONS / f"step_{steps:010d}.json"


def evaluation_files(folder: Path) -> list[Path]:
    """The files of the evaluations of a run, by their steps; empty if there are none yet."""
    return [path for path in _by_steps(folder / EVALUATIONS) if path.suffix == ".json"]


def read_evaluation(path: Path) -> dict[str, Any]:
    """Reads an evaluation.

    Raises:
        ValueError: The file is damaged or of another version; the message names it.
    """
    contents = read_document(path, EVALUATION_FORMAT, EVALUATION_VERSION, finite=False)
    as_type(_Evaluation, contents, path)
    return contents


def check_matches(contents: Any, path: Path) -> list[dict[str, Any]]:
    """The matches of a file, checked to be the ``as_dict`` of results; ValueError names the file."""
    as_type(list[_Match], contents, path)
    return list(contents)


METRICS = ("win_rate", "score_difference", "score")
"""What policies are compared by: figures of a match, of which more is better."""


def metric_of(match: Mapping[str, Any], name: str) -> float:
    """One of :data:`METRICS` of a match; ``score`` is the mean score of the policy."""
    return float(match["sides"]["agent"]["score"] if name == "score" else match[name])


def read_versions(folder: Path) -> list[dict[str, Any]]:
    """What every start of a run was made with: its ``steps``, ``commit``, versions and ``machine``.

    Lines that say nothing of the kind, such as one that a killed process left half written, are left out, and
    runs of earlier versions have none.
    """
    path = folder / VERSIONS_FILE
    lines = read_text(path).splitlines() if path.is_file() else []
    return [start for line in lines if (start := _start(line)) is not None]


def _start(line: str) -> dict[str, Any] | None:
    try:
        values = parse_json(line, VERSIONS_FILE)
    except ValueError:
        return None
    return values if isinstance(values, dict) and type(values.get("steps")) is int else None


def metrics_lines(text: str) -> Iterator[tuple[str, dict[str, float] | None]]:
    """The lines of ``metrics.jsonl``, each with its figures.

    Figures are ``steps``, ``minutes`` and metrics, all of them numbers. They are None for a line that holds
    none, as one that is being written or that a killed process left half written.
    """
    for line in text.splitlines(keepends=True):
        yield line, _figures(line) if line.endswith("\n") else None


def _figures(line: str) -> dict[str, float] | None:
    try:
        values = parse_json(line, METRICS_FILE, finite=False)
    except ValueError:
        return None
    if not isinstance(values, dict) or not all(map(_is_number, values.values())):
        return None
    steps, minutes = values.get("steps", -1), values.get("minutes", -1)
    return values if type(steps) is int and 0 <= steps < 10**12 and 0 <= minutes < 10**9 else None


def _is_number(value: Any) -> bool:
    """Whether a value is a float, or an integer that one can hold; bool is none."""
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def interval_metrics(opponent: str) -> tuple[str, str, str]:
    """The names of three metrics: the win rate against an opponent, and the bounds of its 95% interval."""
    names = ("win_rate", "win_rate_low", "win_rate_high")
    rate, low, high = (f"evaluation/{name}_against_{opponent}" for name in names)
    return rate, low, high
