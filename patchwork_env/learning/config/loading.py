"""Reading configurations: defaults, then a YAML file, then overrides; mistakes are answered by messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from patchwork_env.core.checks import as_texts
from patchwork_env.core.documents import one_line, read_text
from patchwork_env.core.names import short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config import messages
from patchwork_env.learning.config.names import (
    EARLIER,
    brought_over,
    check_sections,
    replaced_names,
    with_present_names,
)
from patchwork_env.learning.config.registry import DEFAULT_ALGORITHM, config_class
from patchwork_env.learning.config.run_config import RunConfig, changes_learning
from patchwork_env.learning.config.shipped import CONFIGS, find_config


def load_config(source: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Reads a configuration and applies overrides.

    Keys that are given neither in the file nor by an override have their defaults, also within sections.
    The description of the file is left out if an override changes what is learned.

    Args:
        source: The name of a shipped configuration, or the path of a YAML file.
        overrides: Changes as ``key=value``, as in ``ppo.epochs=3``; the value is YAML, and the last override
            of a key counts.

    Returns:
        The configuration of the run's algorithm.

    Raises:
        ConfigError: The file is missing or not valid YAML, a key is unknown or of no use to the algorithm, or
            a value has a wrong type or range.
    """
    path = find_config(source)
    return _load(path, _read_yaml(path), overrides)


def load_stored_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Reads the configuration that a run has stored, also one with the key names of earlier versions.

    Sections that the algorithm does not read, which earlier versions stored as well, are left out.

    Raises:
        ConfigError: The file or an override is not valid; see :func:`load_config`.
    """
    return _load(path, brought_over(_read_yaml(path)), overrides)


def _load(path: Path, tree: dict[str, Any], overrides: Sequence[str]) -> RunConfig:
    try:
        tree = with_present_names(tree)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    keys = [_apply_override(tree, text) for text in as_texts(overrides, "overrides", ConfigError)]
    if "description" not in keys and any(map(changes_learning, keys)):
        tree.pop("description", None)  # it speaks of the configuration as it was
    try:
        kind = config_class(tree.get("algorithm", DEFAULT_ALGORITHM), tree.get("game"))
    except ConfigError as error:
        raise ConfigError(f"{messages.source('algorithm', path, overrides)}: {error}") from None
    problems = check_sections(tree, kind) or replaced_names(tree, kind)
    if problems:
        listed = (f"{messages.source(key, path, overrides)}: {said}" for key, said in problems.items())
        raise ConfigError(messages.first_of(listed, len(problems)))
    try:
        return kind.model_validate(_merged(kind().model_dump(), tree))
    except ValidationError as error:
        raise ConfigError(messages.sentences(error, kind, path, overrides)) from None


def dump_config(config: RunConfig) -> str:
    """The whole configuration as YAML, without the keys of other games."""
    others = set() if config.game == PATCHWORK else {"special_patches"}
    return yaml.safe_dump(config.model_dump(mode="json", exclude=others), sort_keys=False)


def list_configs(folder: Path = CONFIGS) -> list[tuple[Path, str]]:
    """The configurations in a folder with their descriptions."""
    return [(path, load_config(path).description) for path in sorted(folder.glob("*.yaml"))]


def differences(first: RunConfig, second: RunConfig) -> list[str]:
    """The full names of the keys in which two configurations differ."""
    values, others = flattened(first.model_dump()), flattened(second.model_dump())
    missing = object()
    return [key for key in values | others if values.get(key, missing) != others.get(key, missing)]


def flattened(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a configuration and of its sections by their full keys, as in ``ppo.epochs``."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


_MOST_BYTES = 2**18
"""The largest file of a configuration."""
_DEEPEST = 16
"""How deep lists and mappings may be nested."""
_MOST_VALUES = 10_000
"""The most keys and values of a text."""


class _YamlLoader(yaml.SafeLoader):
    """YAML in which ``1e-3`` is a number, as in other languages, and which can do no harm.

    No key may appear twice. Aliases are not read, for a few of them stand for texts of any length, and depth
    and number of values are bounded.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Reads a value with all that is in it."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read: write out what they stand for")
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > _DEEPEST:
            raise yaml.YAMLError(f"lists and mappings are nested more than {_DEEPEST} deep")
        if self._count > _MOST_VALUES:
            raise yaml.YAMLError(f"there are more than {_MOST_VALUES:,} keys and values")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.MappingNode):
            self._check_keys(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Makes the object that a value stands for."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:  # !!bool foo
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"a value cannot be read: line {line}: {error}") from None

    @staticmethod
    def _check_keys(node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.YAMLError(f"{short_repr(key.value)} appears twice")
                seen.add(key.value)


_YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)[eE][-+]?\d+"), list("-+.0123456789")
)


def parse_yaml(text: str) -> Any:
    """Parses YAML in the way in which configurations are read.

    Raises:
        ValueError: The text is not valid YAML, it has aliases, too many values or too deep ones, or a value
            does not fit the type that a tag gives it. The message is one line.
    """
    if not isinstance(text, str):
        raise ValueError(f"YAML is text, not {short_repr(text)}")
    try:
        return yaml.load(text, _YamlLoader)  # noqa: S506 - it is a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(one_line(str(error))) from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        tree = parse_yaml(read_text(path, _MOST_BYTES))
    except ValueError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        kind = type(tree).__name__
        raise ConfigError(f"{path} holds a {kind}; a configuration is a mapping of keys to values")
    return tree


def _apply_override(tree: dict[str, Any], override: str) -> str:
    """Changes a configuration by an override; returns the full name of the key."""
    key, equals, text = override.partition("=")
    source = messages.source_of(override)
    if not equals or not key:
        raise ConfigError(f"{source}: must have the form key=value")
    *sections, name = EARLIER.get(key, key).split(".")
    if len(sections) > _DEEPEST:
        raise ConfigError(f"{source}: there is no such key")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{source}: {short_repr(section)} is no section")
    try:
        tree[name] = parse_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{source}: {short_repr(text)} is not valid YAML: {error}") from None
    return ".".join([*sections, name])


def _merged(default: Any, given: Any) -> Any:
    """The defaults, replaced where values are given; lists become tuples, for the configuration is frozen."""
    if isinstance(default, dict) and isinstance(given, dict):
        return default | {key: _merged(default.get(key), value) for key, value in given.items()}
    return tuple(given) if isinstance(given, list) else given
