"""Reading configurations: defaults, then a YAML file, then overrides; and explaining their keys.

The message about a mistake names the key, where its value comes from, and the nearest known key.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ValidationError

from patchwork_env.core.checks import as_texts
from patchwork_env.core.documents import one_line, read_text
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import did_you_mean, nearest, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.keys import (
    RunConfig,
    Schedule,
    changes_learning,
    name_here,
    section_keys,
    section_of,
)

DEFAULT_ALGORITHM = "ppo"
_CONFIGS = {
    "alphazero": "patchwork_env.learning.algorithms.alphazero.config:AlphaZeroConfig",
    "maskable_ppo": "patchwork_env.learning.algorithms.ppo.config:MaskablePpoConfig",
    "ppo": "patchwork_env.learning.algorithms.ppo.config:PpoConfig",
    "solo_td": "patchwork_env.learning.algorithms.td.config:SoloTdConfig",
    "td": "patchwork_env.learning.algorithms.td.config:TdConfig",
}
"""The configuration class of each algorithm, by name: its module is imported only when needed."""
_PACKAGE = Path(__file__).resolve().parents[2]
CONFIGS = _PACKAGE / "configs" if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent / "configs"
"""The folder of the configurations that come with the project, in an installation or in a clone."""
_MOST_BYTES = 2**18  # the largest file of a configuration
_MOST_PROBLEMS = 5  # the number of problems that a message names
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "multipleOf": "a multiple of",
    "minLength": "of at least so many characters:",
}
_KINDS = {"tuple_type": "it must be a list", "model_type": "it must be a section"}
"""Messages in the words of YAML instead of those of Python."""


_EARLIER_MARGINS = {"margin_scale": 40.0, "margin_cut": 1.0}
"""The values of a stored run without these keys; ``td`` has never clipped margins."""


def load_config(source: str | Path, overrides: Sequence[str] = (), *, stored: bool = False) -> RunConfig:
    """Read a configuration from defaults, a file and overrides; later values replace earlier ones.

    The file's description is dropped if an override changes what is learned.

    Args:
        source: The name of a shipped configuration, or the path of a YAML file, such as that of a run.
        overrides: Changes as ``key=value``, as in ``ppo.epochs=3``; the value is YAML.
        stored: Whether the file is that of a run, which may be older than some keys.

    Raises:
        ConfigError: The file is missing or not valid YAML, the algorithm does not read a key, or a value is
            not allowed.
    """
    path = find_config(source)
    tree = _read_yaml(path)
    if stored and tree.get("algorithm") != "td" and isinstance(tree.get("reward"), dict):
        tree["reward"] = _EARLIER_MARGINS | tree["reward"]
    keys = [_apply_override(tree, text) for text in as_texts(overrides, "overrides", ConfigError)]
    if "description" not in keys and any(map(changes_learning, keys)):
        tree.pop("description", None)  # it describes the unchanged configuration
    try:
        kind = _config_class(tree.get("algorithm", DEFAULT_ALGORITHM), tree.get("game"))
    except ConfigError as error:
        raise ConfigError(f"{_source('algorithm', path, overrides)}: {error}") from None
    try:
        return kind.model_validate(_merged(kind().model_dump(), tree))
    except ValidationError as error:
        problems = [
            f"{_source('.'.join(map(str, problem['loc'])), path, overrides)}: {_explain(problem, kind)}"
            for problem in error.errors(include_url=False)[:_MOST_PROBLEMS]
        ]
        raise ConfigError("; ".join(problems)) from None


def dump_config(config: RunConfig) -> str:
    """Return the whole configuration as YAML, without the keys of other games."""
    others = {"special_patches"} - config.variant.keys()
    return yaml.safe_dump(config.model_dump(mode="json", exclude=others), sort_keys=False)


def list_configs(folder: Path = CONFIGS) -> list[tuple[Path, str]]:
    """Return the configurations in a folder with their descriptions."""
    return [(path, load_config(path).description) for path in sorted(folder.glob("*.yaml"))]


def flattened(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a configuration and of its sections by their full keys, as in ``ppo.epochs``."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _apply_override(tree: dict[str, Any], override: str) -> str:
    """Change a configuration by an override; return the full name of the key."""
    key, equals, text = override.partition("=")
    source = f"--set {one_line(override)}"
    if not equals or not key:
        raise ConfigError(f"{source}: must have the form key=value")
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{source}: {short_repr(section)} is not a section")
    try:
        tree[name] = parse_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{source}: {short_repr(text)} is not valid YAML: {error}") from None
    return key


def _merged(default: Any, value: Any) -> Any:
    """Return the value with the defaults of missing keys; lists become tuples."""
    if isinstance(default, dict) and isinstance(value, dict):
        return default | {key: _merged(default.get(key), inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value


# --- algorithms and files -----------------------------------------------------------------------------------


@cache
def algorithms() -> Mapping[str, type[RunConfig]]:
    """Return the configuration classes of all algorithms by name, without importing PyTorch."""
    return {name: resolve_name(config) for name, config in _CONFIGS.items()}


def _config_class(algorithm: Any, game: Any) -> type[RunConfig]:
    """Return the configuration class of an algorithm, which must learn the game; import no other."""
    if algorithm not in tuple(_CONFIGS):  # which may be unhashable
        raise ConfigError(f"algorithm is {short_repr(algorithm)}; {did_you_mean(str(algorithm), _CONFIGS)}")
    kind: type[RunConfig] = resolve_name(_CONFIGS[algorithm])
    if game not in kind.GAMES:
        able = [name for name, config in algorithms().items() if game in config.GAMES]
        if able:
            names = ", ".join(able)
            raise ConfigError(f"algorithm is {algorithm!r}; algorithms for the game {game}: {names}")
    return kind


def trainer_class(config: RunConfig) -> Any:
    """Return the class of the trainer for a configuration."""
    with from_extra("train", f"{config.algorithm} needs"):
        return resolve_name(config.TRAINER)


def find_config(source: str | Path) -> Path:
    """Return the file of a shipped configuration by its name, such as ``quick``, or of any by its path."""
    if not isinstance(source, str | Path):
        raise ConfigError(f"a configuration is a name or a path, not {short_repr(source)}")
    path = Path(source)
    shipped = {file.stem: file for file in sorted(CONFIGS.glob("*.yaml"))}
    if os.path.isfile(path):  # False also for a name that is too long
        return path
    if str(source) in shipped:
        return shipped[str(source)]
    close = nearest(path.stem, shipped)
    hint = f"did you mean {close}?" if close else "train --list lists those that come with the project"
    raise ConfigError(f"there is no configuration {one_line(str(source))}; {hint}")


# --- messages ---------------------------------------------------------------------------------------------


def _source(key: str, path: Path, overrides: Sequence[str]) -> str:
    """Return the source of a key's value: the last override of it, or else the file."""
    location = key.split(".") if key else []
    for override in reversed(overrides):
        changed = override.partition("=")[0].split(".")
        if location and (changed == location[: len(changed)] or location == changed[: len(location)]):
            return f"--set {one_line(override)}"
    return str(path)


def _explain(problem: Any, kind: type[RunConfig]) -> str:
    """Return the message about a problem, in most cases that of pydantic."""
    location = tuple(map(str, problem["loc"]))
    key, value = one_line(".".join(location)), problem["input"]
    message = one_line(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "extra_forbidden":
        return _explain_unknown(location, kind)
    if problem["type"] == "invalid_key":
        return f"the key {key} must be a string"
    message = _KINDS.get(problem["type"], message)
    if not key:
        return message
    is_of_several_values = isinstance(value, dict) and problem["type"] == "value_error"
    return f"{key}: {message}" if is_of_several_values else f"{key} is {short_repr(value)}: {message}"


def _explain_unknown(location: tuple[str, ...], kind: type[RunConfig]) -> str:
    """Return the message about an unknown key: the nearest name in the section, or else anywhere."""
    key, name = one_line(".".join(location)), location[-1]
    readers = [reader for reader, other in algorithms().items() if section_of(other, key)]
    if readers:
        return (
            f"the algorithm {kind().algorithm!r} does not read the section {short_repr(key)}; "
            f"it is read by {', '.join(readers)}"
        )
    section: type[BaseModel] = kind
    for part in location[:-1]:
        section = section_of(section, part) or section
    beside = {own: ".".join((*location[:-1], own)) for own in section.model_fields}
    anywhere = {full.rpartition(".")[2]: full for full in reversed(section_keys(kind))}
    for known in (beside, anywhere):
        if own := name_here(name, known):
            return f"{key!r} is called {known[own]!r} here"
    for known in (beside, anywhere):
        if close := nearest(name, known):
            return f"unknown key {key!r}; did you mean {known[close]!r}?"
    return f"unknown key {key!r}; known are {', '.join(beside)}"


# --- explanations -----------------------------------------------------------------------------------------


class Key(NamedTuple):
    """The full name of a key of a configuration, and its type, default and description as text."""

    name: str
    type: str
    default: str
    description: str

    def __str__(self) -> str:
        text = textwrap.indent(textwrap.fill(self.description, 96), "    ")
        return f"{self.name} = {self.default}   ({self.type})\n{text}"


def explain(names: Sequence[str] = ()) -> str:
    """Return default, type and meaning of all keys of algorithms, sections or keys.

    A key may be named without its section. Without names, return those of the keys that all algorithms share.
    """
    names = as_texts(names, "names", ConfigError)
    by_algorithm = {name: {key.name: key for key in keys_of(kind())} for name, kind in algorithms().items()}
    keys: dict[str, Key] = {}
    for own in (*by_algorithm.values(), by_algorithm[DEFAULT_ALGORITHM]):  # its shared defaults win
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
            word = name.rpartition(".")[2]
            ends = dict.fromkeys(key.rpartition(".")[2] for key in keys)
            close = name_here(word, ends) or nearest(word, [*by_algorithm, *ends])
            hint = f"did you mean {close!r}?" if close else f"algorithms are {', '.join(by_algorithm)}"
            raise ConfigError(f"--explain {one_line(name, 80)}: there is no such key; {hint}")
        explained |= fitting
    return "\n".join(map(str, explained.values()))


def keys_of(section: BaseModel, prefix: str = "") -> Iterator[Key]:
    """Yield all keys of a configuration and of its sections in their order, with their values as defaults."""
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


# --- YAML -------------------------------------------------------------------------------------------------


class _YamlLoader(yaml.SafeLoader):
    """YAML in which ``1e-3`` is a number, no key appears twice, and there are no aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Read a node and its children."""
        if self.check_event(yaml.AliasEvent):  # a few of them can expand to a document of any size
            raise yaml.YAMLError("aliases (*name) are not allowed: repeat the value")
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                twice = next(key for key in keys if keys.count(key) > 1)
                raise yaml.YAMLError(f"{short_repr(twice)} appears twice")
        return node


_YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)[eE][-+]?\d+"), list("-+.0123456789")
)


def parse_yaml(text: str) -> Any:
    """Parse YAML as in configurations; ValueError with a message of one line for every mistake."""
    if not isinstance(text, str):
        raise ValueError(f"YAML is a str, not {short_repr(text)}")
    try:
        return yaml.load(text, _YamlLoader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, one_line(str(error.problem))
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{problem}") from None
    except Exception as error:  # a tag such as !!bool may raise any error
        reason = (
            "" if isinstance(error, yaml.YAMLError) else f"a value cannot be read: {type(error).__name__}: "
        )
        raise ValueError(one_line(f"{reason}{error}")) from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path, _MOST_BYTES)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    try:
        tree = parse_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        kind = type(tree).__name__
        raise ConfigError(f"{path} holds a {kind}; a configuration is a mapping of keys to values")
    return tree
