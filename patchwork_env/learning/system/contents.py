"""Checks of the contents of files against types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from patchwork_env.core.documents import one_line

_Kind = TypeVar("_Kind")


def as_type(kind: type[_Kind], contents: Any, path: Path) -> _Kind:
    """The contents of a file of JSON as an object of a class whose fields have types.

    Raises:
        ValueError: They do not fit; the message names the file and the first place that does not.
    """
    try:
        return TypeAdapter(kind).validate_json(json.dumps(contents), strict=True)
    except ValidationError as error:
        raise ValueError(f"{path} is damaged: {first_problem(error)}") from None


def first_problem(error: ValidationError) -> str:
    """The first place at which values do not fit, and why, as one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = one_line(".".join(map(str, problem["loc"])))
    said = one_line(problem["msg"].removeprefix("Value error, "))
    return f"{place}: {said}" if place else said
