"""Names that keys have in earlier versions and in other libraries, and keys that are gone or of no use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from patchwork_env.core.names import short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.registry import DEFAULT_ALGORITHM, algorithms
from patchwork_env.learning.config.run_config import RunConfig

NAMES: Mapping[str, str] = {
    "averaging": "ema_decay",
    "batch_size": "minibatch_size",
    "clip_param": "clip_range",
    "discount": "gamma",
    "ent_coef": "entropy_coefficient",
    "entropy_coeff": "entropy_coefficient",
    "grad_clip": "max_gradient_norm",
    "kl_coeff": "kl_coefficient",
    "lambda_": "gae_lambda",
    "lr": "learning_rate",
    "max_grad_norm": "max_gradient_norm",
    "n_epochs": "epochs",
    "n_steps": "rollout_steps",
    "num_envs_per_env_runner": "num_envs",
    "num_epochs": "epochs",
    "rollout_turns": "rollout_steps",
    "trace": "td_lambda",
    "train_batch_size": "batch_size",
    "updates": "gradient_steps",
    "value_lambda": "td_lambda",
    "vf_clip_param": "value_clip_range",
    "vf_coef": "value_coefficient",
    "vf_loss_coeff": "value_coefficient",
    "width": "candidate_placements",
}
"""The name of a key here, by its name elsewhere; it holds in sections that have the one and not the other."""

EARLIER: Mapping[str, str] = {"logging": "tracker"}
"""The name of a key of all runs, by that in earlier versions, which is read as well."""

REMOVED: Mapping[tuple[str, str], str] = {
    ("td", "search"): "'td.search' is gone: values that learned from searches played no better than without",
}
"""The message about a key that is gone, by its section and name in earlier versions."""


def section_of(kind: type[BaseModel], key: str) -> type[BaseModel] | None:
    """The type of the section that a field holds; None if the field is not a section or does not exist."""
    field = kind.model_fields.get(key)
    annotation = field.annotation if field else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def check_sections(tree: Mapping[str, Any], kind: type[RunConfig]) -> dict[str, str]:
    """The messages about sections that only other algorithms read, by the name of the section."""
    problems = {}
    for key in tree:
        readers = [name for name, other in algorithms().items() if section_of(other, str(key))]
        if readers and key not in kind.model_fields:
            problems[key] = (
                f"the section {short_repr(key)} is of no use to the algorithm {kind().algorithm!r}; "
                f"it is read by {', '.join(readers)}"
            )
    return problems


def replaced_names(tree: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, str]:
    """The messages about keys that have another name here or that are gone, by their full names."""
    gone = {".".join(path): said for path, said in REMOVED.items() if _holds(tree, *path)}
    return gone | {
        ".".join((*path, old)): f"{'.'.join((*path, old))!r} is called {'.'.join((*path, new))!r} here"
        for path, old, new in _other_names(tree, kind)
    }


def with_present_names(tree: dict[str, Any]) -> dict[str, Any]:
    """A configuration in which the keys of :data:`EARLIER` have their present names.

    Raises:
        ConfigError: A key is given by both names.
    """
    for old, new in EARLIER.items():
        if old in tree and new in tree:
            raise ConfigError(f"{old!r} is the earlier name of {new!r}: give one of them")
    return {EARLIER.get(key, key): value for key, value in tree.items()}


def brought_over(tree: dict[str, Any]) -> dict[str, Any]:
    """A stored configuration with the present names, without sections that the algorithm does not read."""
    algorithm = tree.get("algorithm", DEFAULT_ALGORITHM)
    if not isinstance(algorithm, str) or algorithm not in algorithms():
        return tree
    kind = algorithms()[algorithm]
    unread = check_sections(tree, kind)
    tree = {key: value for key, value in tree.items() if key not in unread}
    search = tree["td"]["search"] if _holds(tree, "td", "search") else None
    if isinstance(search, dict) and search.get("begin", 1) == 1:  # it had no effect
        tree["td"] = {key: value for key, value in tree["td"].items() if key != "search"}
    if "network" in kind.model_fields and isinstance(tree.get("network"), dict):
        tree["network"] = {"features": False, **tree["network"]}  # earlier versions had none
    for path, old, new in list(_other_names(tree, kind)):
        section = tree
        for key in path:
            section = section[key]
        section[new] = section.pop(old)
    return tree


def _holds(tree: Mapping[str, Any], section: str, key: str) -> bool:
    return isinstance(tree.get(section), dict) and key in tree[section]


def _other_names(
    tree: Mapping[str, Any], kind: type[BaseModel], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The keys that have another name here: the path of the section, the name given, and the name here."""
    for key, value in tree.items():
        section = section_of(kind, key)
        if section is not None and isinstance(value, dict):
            yield from _other_names(value, section, (*path, key))
        new = NAMES.get(key)
        if path and key not in kind.model_fields and new in kind.model_fields:
            yield path, key, new
