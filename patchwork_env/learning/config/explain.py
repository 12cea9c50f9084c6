"""Explanations of the keys of configurations: type, bounds, default and description of each field."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from patchwork_env.core.checks import as_texts
from patchwork_env.core.documents import one_line
from patchwork_env.core.names import nearest
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.keys import Schedule, name_here
from patchwork_env.learning.config.registry import DEFAULT_ALGORITHM, algorithms

_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "multipleOf": "a multiple of",
    "minLength": "of at least so many characters:",
}


class Key(NamedTuple):
    """A key of a configuration: its full name, and in words its type, its default and what it does."""

    name: str
    type: str
    default: str
    description: str

    def __str__(self) -> str:
        text = textwrap.indent(textwrap.fill(self.description, 96), "    ")
        return f"{self.name} = {self.default}   ({self.type})\n{text}"


def explain(names: Sequence[str] = ()) -> str:
    """Lines with the default, type and description of every key of algorithms, sections or keys.

    Keys are named in full or without their sections. Without names, the lines are those of the keys that runs
    of all algorithms share.
    """
    names = as_texts(names, "names", ConfigError)
    by_algorithm = {name: {key.name: key for key in keys_of(kind())} for name, kind in algorithms().items()}
    keys: dict[str, Key] = {}
    for own in (
        *by_algorithm.values(),
        by_algorithm[DEFAULT_ALGORITHM],
    ):  # it has the defaults of shared keys
        keys |= own
    keys["algorithm"] = keys["algorithm"]._replace(type=" | ".join(by_algorithm))
    if not names:
        return "\n".join(
            str(key) for key in keys.values() if all(key.name in own for own in by_algorithm.values())
        )
    explained: dict[str, Key] = {}
    for name in names:
        fitting = by_algorithm.get(name) or {
            key: keys[key]
            for key in keys
            if f".{key}".endswith(f".{name}") or f"{key}.".startswith(f"{name}.")
        }
        if not fitting:
            raise ConfigError(f"--explain {one_line(name, 80)}: there is no such key; {_hint(name, keys)}")
        explained |= fitting
    return "\n".join(map(str, explained.values()))


def _hint(name: str, keys: Collection[str]) -> str:
    """What may be meant by a name that no key has: another name of one, or the nearest."""
    section, _, word = name.rpartition(".")
    ends = dict.fromkeys(key.rpartition(".")[2] for key in keys)
    here = name_here(word, [end for end in ends if not section or f"{section}.{end}" in keys])
    if here:
        return f"it is called {f'{section}.' if section else ''}{here} here"
    close = nearest(name, [*algorithms(), *keys, *ends])
    return f"did you mean {close!r}?" if close else f"algorithms are {', '.join(algorithms())}"


def keys_of(section: BaseModel, prefix: str = "") -> Iterator[Key]:
    """All keys of a configuration and of its sections in their order, with their values as defaults."""
    properties = type(section).model_json_schema()["properties"]
    for name, field in type(section).model_fields.items():
        value, description = getattr(section, name), field.description or ""
        if isinstance(value, Schedule):
            text = f"{{start: {value.start:g}, end: {value.end:g}, curve: {value.curve}}}"
            yield Key(prefix + name, "number or schedule", text, description)
        elif isinstance(value, BaseModel):
            yield from keys_of(value, f"{prefix}{name}.")
        else:
            yield Key(prefix + name, _type_of(properties[name]), _text_of(value), description)


def _type_of(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(_type_of, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum") or [schema["const"]]))
    if schema["type"] == "array":
        return f"list: {_type_of(schema['items'])}"
    bounds = [f"{words} {schema[bound]}" for bound, words in _BOUNDS.items() if bound in schema]
    return ", ".join([schema["type"], *bounds])


def _text_of(default: Any) -> str:
    if default is None:
        return "null"
    if isinstance(default, tuple):
        return f"[{', '.join(map(str, default))}]"
    return str(default).lower() if isinstance(default, bool) else str(default) or '""'
