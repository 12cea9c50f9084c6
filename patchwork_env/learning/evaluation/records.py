"""The evaluations of a run, as stored in files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from patchwork_env.core.checks import as_number, check_between
from patchwork_env.core.documents import one_line, read_document
from patchwork_env.core.files import write_text
from patchwork_env.learning.evaluation.results import MatchFigures, SampleGame

EVALUATION_FORMAT, EVALUATION_VERSION = "patchwork-env evaluation of a run", 1
_LARGEST = 1e15  # the largest size of a number that charts can show
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class RunEvaluation:
    """An evaluation of a policy, with the steps and minutes of training before it.

    ``weights`` is the SHA-256 of the file of weights if the policy is the final one, else None.
    """

    steps: int
    minutes: float
    matches: tuple[MatchFigures, ...]
    machine: str = ""
    weights: str | None = None
    sample_games: tuple[SampleGame, ...] = ()

    def __post_init__(self) -> None:
        check_between(self.steps, 0, 10**12, "steps")
        as_number(self.minutes, "minutes", least=0)
        for match in self.matches:
            check_between(match.games, 1, 10**12, "games")
            if not 0 <= match.win_rate <= 1:
                raise ValueError(f"win_rate is {match.win_rate}; allowed are 0 to 1")
            if "score" not in match.sides.get("agent", ()):
                raise ValueError("the agent has no score")
            if not (match.opponent + match.variant).isprintable():
                raise ValueError(
                    f"opponent or variant is {match.opponent + match.variant!r}; it must be printable"
                )
            for number in _numbers(asdict(match) | {"seed": None}):
                if not abs(number) <= _LARGEST:
                    raise ValueError(f"a figure is {number:g}; allowed are {-_LARGEST:g} to {_LARGEST:g}")

    def match(self, opponent: str) -> MatchFigures | None:
        """Return the match against an opponent; None if there was none."""
        return next((match for match in self.matches if match.opponent == opponent), None)


def _numbers(value: Any) -> Iterator[float]:
    """Yield all numbers in plain data."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)


def read_evaluation(path: Path) -> RunEvaluation:
    """Read an evaluation; ValueError names a file that is damaged or of another version."""
    return as_type(RunEvaluation, read_document(path, EVALUATION_FORMAT, EVALUATION_VERSION), path)


def write_evaluation(path: Path, evaluation: RunEvaluation) -> None:
    """Write an evaluation atomically."""
    heading = {"format": EVALUATION_FORMAT, "version": EVALUATION_VERSION}
    write_text(path, json.dumps(heading | asdict(evaluation), indent=1) + "\n")


def as_type(kind: type[_Kind], contents: Any, path: Path) -> _Kind:
    """Return the contents of a JSON file as an object of a class; ValueError names the first wrong key."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(contents), strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) + ": " if problem["loc"] else ""
        text = one_line(place + problem["msg"].removeprefix("Value error, "))
        raise ValueError(f"{path} is damaged: {text}") from None
