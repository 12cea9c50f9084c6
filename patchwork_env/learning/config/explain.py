"""Explanations of the keys of configurations: type, bounds, default and description of each field."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from patchwork_env.core.checks import as_texts
from patchwork_env.core.names import nearest
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.registry import DEFAULT_ALGORITHM, algorithms
from patchwork_env.learning.config.run_config import RunConfig
from patchwork_env.learning.config.sections import Schedule, section_of

_TYPES = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "multipleOf": "a multiple of",
    "minLength": "of at least so many characters:",
}


class Key(NamedTuple):
    """A key of a configuration.

    Attributes:
        name: The full name of the key, with its sections.
        type: The type and the bounds, in words.
        default: The default as YAML.
        description: Sentences that say what the key does.
    """

    name: str
    type: str
    default: str
    description: str

    def __str__(self) -> str:
        text = textwrap.indent(textwrap.fill(self.description, 96), "    ")
        return f"{self.name} = {self.default}   ({self.type})\n{text}"


def explain(names: Sequence[str] = ()) -> str:
    """Explains keys of configurations.

    Args:
        names: Names of algorithms, sections or keys; keys in full or without their sections. Without names,
            the keys that runs of all algorithms share are explained.

    Returns:
        Lines of text: for every key its name, default, type and description.

    Raises:
        ConfigError: There is no such key; the message names the nearest one.
    """
    names = as_texts(names, "names", ConfigError)
    by_algorithm = {name: list(keys_of(config)) for name, config in algorithms().items()}
    told = [*by_algorithm.values(), by_algorithm[DEFAULT_ALGORITHM]]  # the last one speaks for shared keys
    keys = {key.name: key for listed in told for key in listed}
    keys["algorithm"] = keys["algorithm"]._replace(type=" | ".join(by_algorithm))
    if not names:
        shared = [key for key in keys if all(key in {k.name for k in ks} for ks in by_algorithm.values())]
        return "\n".join(str(keys[key]) for key in shared)
    found: dict[str, Key] = {}
    for name in names:
        if name in by_algorithm:
            found |= {key.name: key for key in by_algorithm[name]}
            continue
        parts = name.split(".")
        fitting = [
            key
            for key in keys
            if key.split(".")[: len(parts)] == parts or key.split(".")[-len(parts) :] == parts
        ]
        if not fitting:
            known = [*by_algorithm, *keys, *(key.rpartition(".")[2] for key in keys)]
            close = nearest(name, known)
            hint = f"did you mean {close!r}?" if close else f"algorithms are {', '.join(by_algorithm)}"
            raise ConfigError(f"--explain {name[:80]}: there is no such key; {hint}")
        found |= {key: keys[key] for key in fitting}
    return "\n".join(map(str, found.values()))


def keys_of(kind: type[RunConfig]) -> Iterator[Key]:
    """All keys of the configuration of an algorithm and of its sections, in their order."""
    yield from _keys_of(kind, kind(), "")


def _keys_of(kind: type[BaseModel], defaults: BaseModel, prefix: str) -> Iterator[Key]:
    properties = kind.model_json_schema()["properties"]
    for name, field in kind.model_fields.items():
        default, section = getattr(defaults, name), section_of(kind, name)
        if section is Schedule:
            text = f"{{start: {default.start:g}, end: {default.end:g}, curve: {default.curve}}}"
            yield Key(prefix + name, "number or schedule", text, field.description or "")
        elif section is not None:
            yield from _keys_of(section, default, f"{prefix}{name}.")
        else:
            yield Key(prefix + name, _type_of(properties[name]), _text_of(default), field.description or "")


def _type_of(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(_type_of, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum") or [schema["const"]]))
    if schema["type"] == "array":
        return f"list: {_type_of(schema['items'])}"
    bounds = [f"{words} {schema[bound]}" for bound, words in _BOUNDS.items() if bound in schema]
    return ", ".join([_TYPES.get(schema["type"], schema["type"]), *bounds])


def _text_of(default: Any) -> str:
    if default is None:
        return "null"
    if isinstance(default, tuple):
        return f"[{', '.join(map(str, default))}]"
    return str(default).lower() if isinstance(default, bool) else str(default) or '""'
