"""Messages about a wrong configuration, which name the key, its source and the nearest known key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import nearest, short_repr
from patchwork_env.learning.config.names import section_of

_MOST_PROBLEMS = 5
"""How many of the things that are wrong a message tells."""


def sentences(error: ValidationError, kind: type[BaseModel], path: Path, overrides: Sequence[str]) -> str:
    """The message about everything that is wrong with the values of a configuration."""
    problems = error.errors(include_url=False)
    listed = (f"{_source(problem, path, overrides)}: {_explain(problem, kind)}" for problem in problems)
    return first_of(listed, len(problems))


def first_of(problems: Iterable[str], number: int) -> str:
    """The first of so many problems, and how many more there are."""
    told = "; ".join(islice(problems, _MOST_PROBLEMS))
    return told if number <= _MOST_PROBLEMS else f"{told}; and {number - _MOST_PROBLEMS:,} more"


def source_of(override: str) -> str:
    """An override as messages name it."""
    return f"--set {one_line(override)}"


def source(key: str, path: Path, overrides: Sequence[str]) -> str:
    """Where the value of a key comes from: the last override that concerns it, or else the file."""
    location = key.split(".")
    for override in reversed(overrides):
        given = override.partition("=")[0].split(".")
        if given == location[: len(given)] or location == given[: len(location)]:
            return source_of(override)
    return str(path)


def _source(problem: Any, path: Path, overrides: Sequence[str]) -> str:
    location = ".".join(map(str, problem["loc"]))
    return source(location, path, overrides) if location else str(path)


def _explain(problem: Any, kind: type[BaseModel]) -> str:
    location = tuple(map(str, problem["loc"]))
    key = one_line(".".join(location))
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {_hint(location, kind)}"
    if problem["type"] == "invalid_key":
        return f"the key {key} must be a text"
    message = one_line(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "tuple_type":
        message = "it must be a list"
    if problem["type"] == "model_type":
        message = f"it must be a section with the keys {', '.join(_keys_of(location, kind))}"
    if not key:
        return message
    if isinstance(problem["input"], dict) and problem["type"] == "value_error":
        return f"{key}: {message}"  # about several values of the section
    return f"{key} is {short_repr(problem['input'])}: {message}"


def _hint(unknown: tuple[str, ...], kind: type[BaseModel]) -> str:
    """The nearest key in the same section or else in any other one, or else all keys of the section."""
    beside = {name: ".".join((*unknown[:-1], name)) for name in _keys_of(unknown[:-1], kind)}
    anywhere = {key.rpartition(".")[2]: key for key in reversed(all_keys(kind))}
    for keys_by_name in (beside, anywhere):
        close = nearest(unknown[-1], keys_by_name)
        if close:
            return f"did you mean {keys_by_name[close]!r}?"
    return f"known are {', '.join(beside)}"


def _keys_of(section: tuple[str, ...], kind: type[BaseModel]) -> list[str]:
    for name in section:
        inner = section_of(kind, name)
        assert inner is not None
        kind = inner
    return list(kind.model_fields)


def all_keys(kind: type[BaseModel], prefix: str = "") -> list[str]:
    """The full names of all fields of a section and of the sections in it."""
    keys = []
    for name in kind.model_fields:
        keys.append(prefix + name)
        section = section_of(kind, name)
        if section is not None:
            keys += all_keys(section, f"{prefix}{name}.")
    return keys
