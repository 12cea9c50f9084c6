"""Stored results: the matches of each evaluation of a run.

An evaluation of a run is a file with ``format``, ``version``, the fields of :class:`RunEvaluation` and
others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from patchwork_env.core.documents import one_line, read_document
from patchwork_env.core.files import write_text

EVALUATION_FORMAT, EVALUATION_VERSION = "patchwork-env evaluation of a run", 1
Text = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Count = Annotated[int, Field(ge=0, lt=2**64)]
Share = Annotated[float, Field(ge=0, le=1)]
OptionalInterval = tuple[Number, Number] | None
_Kind = TypeVar("_Kind")


class FilePart(BaseModel):
    """A part of a file, which may have further fields."""

    model_config = ConfigDict(frozen=True)


class Sides(FilePart):
    """The mean figures of the policy, among them its score, and those of its opponent, by name."""

    agent: dict[str, Number]
    opponent: dict[str, Number] = {}

    @model_validator(mode="after")
    def _check_score(self) -> Sides:
        if "score" not in self.agent:
            raise ValueError("the agent has no score")
        return self


class MatchFigures(FilePart):
    """The result of a match as files hold it: a ``MatchResult.as_dict``; see docs/reference/formats.md.

    Files of exported results have only the fields for comparisons; the others have defaults.
    """

    opponent: Text
    games: Annotated[int, Field(ge=1, lt=10**12)]
    win_rate: Share
    score_difference: Number
    sides: Sides
    agent: str = ""
    seed: Count = 0
    special_patches: Text | None = None
    order: Text | None = None
    win_rate_interval: OptionalInterval = None
    win_rate_starting: Number | None = None
    win_rate_following: Number | None = None
    ties: Number | None = None
    score_difference_interval: OptionalInterval = None
    score_intervals: dict[str, OptionalInterval] = {}
    turns_per_game: Number | None = None

    @property
    def score(self) -> float:
        """The mean score of the policy."""
        return self.sides.agent["score"]

    @property
    def variant(self) -> str:
        """The variant of the game; empty if the game has no variants."""
        return self.special_patches or self.order or ""

    def metric(self, name: str) -> float:
        """Return one of :data:`~patchwork_env.learning.evaluation.statistics.METRICS`."""
        return float(getattr(self, name))


class SampleGame(FilePart):
    """A game of a match: its players by seat, the seat of the winner, None for a tie, and all moves."""

    opponent: str
    players: Annotated[list[str], Field(min_length=2)]
    winner: Annotated[int, Field(ge=0, le=1)] | None
    notation: str


class RunEvaluation(FilePart):
    """An evaluation of a policy, after so many steps of training and minutes of playing and learning.

    ``weights`` is the SHA-256 of the final policy's file of weights; None for another policy.
    """

    steps: Annotated[int, Field(ge=0, lt=10**12)]
    minutes: Annotated[float, Field(ge=0, le=1e9)]
    matches: tuple[MatchFigures, ...]
    machine: str = ""
    weights: str | None = None
    sample_games: tuple[SampleGame, ...] = ()

    def match(self, opponent: str) -> MatchFigures | None:
        """Return the match against an opponent; None if there was none."""
        return next((match for match in self.matches if match.opponent == opponent), None)


def read_evaluation(path: Path) -> RunEvaluation:
    """Read an evaluation; ValueError names a file that is damaged or of another version."""
    contents = read_document(path, EVALUATION_FORMAT, EVALUATION_VERSION, finite=False)
    return as_type(RunEvaluation, contents, path)


def write_evaluation(path: Path, contents: Mapping[str, Any]) -> None:
    """Write an evaluation, complete or not at all."""
    heading = {"format": EVALUATION_FORMAT, "version": EVALUATION_VERSION}
    write_text(path, json.dumps(heading | dict(contents), indent=1) + "\n")


def as_type(kind: type[_Kind], contents: Any, path: Path) -> _Kind:
    """Return the contents of a file of JSON as an object of a class; ValueError names what does not fit."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(contents), strict=True)
    except ValidationError as error:
        raise ValueError(f"{path} is damaged: {first_problem(error)}") from None


def first_problem(error: ValidationError) -> str:
    """Return the first place at which values do not fit, and why, as one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"])) + ": " if problem["loc"] else ""
    return one_line(place + problem["msg"].removeprefix("Value error, "))
