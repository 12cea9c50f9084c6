"""The configuration of a run: typed, composed from defaults, a YAML file and ``--set``, and strict."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and its source."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Network(_Section):
    """Sizes of the network; see :class:`patchwork_env.agents.network.NetworkConfig`."""

    width: Positive = 256
    depth: Positive = 2
    channels: Positive = 32


class Schedule(_Section):
    """A number that moves in a straight line from ``start`` to ``end`` over the run."""

    start: NonNegative
    end: NonNegative

    def at(self, progress: float) -> float:
        """The value when the fraction ``progress`` of the run is over."""
        return self.start + (self.end - self.start) * min(progress, 1.0)


class Ppo(_Section):
    """Proximal policy optimization (Schulman et al. 2017)."""

    num_envs: Positive = 512
    rollout_turns: Positive = 64
    epochs: Positive = 2
    minibatch_size: Positive = 1024
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    value_coefficient: NonNegative = 0.5
    clip_range: Rate = 0.2
    discount: Fraction = 1.0
    gae_lambda: Fraction = 0.95
    max_gradient_norm: Rate = 0.5


class Reward(_Section):
    """``outcome`` for a win or minus it for a loss, plus ``margin`` times the score difference / ``margin_scale``.

    The scaled difference is clipped to -1 ... 1.
    """

    outcome: NonNegative = 1.0
    margin: NonNegative = 0.0
    margin_scale: Rate = 40.0


class League(_Section):
    """Past selves as opponents: a ``fraction`` of the games is played against one of the last ``size`` snapshots."""

    fraction: Fraction = 0.25
    snapshot_every: Positive = 10
    size: Positive = 20


class Evaluation(_Section):
    """Paired games against fixed opponents, every so many iterations and at the end of the run."""

    every: Positive = 20
    games: Annotated[int, Field(ge=2, multiple_of=2)] = 200
    final_games: Annotated[int, Field(ge=2, multiple_of=2)] = 1000
    opponents: tuple[str, ...] = ("random", "greedy")


class RunConfig(_Section):
    """A training run."""

    description: str = ""
    game: Literal["patchwork"] = "patchwork"
    algorithm: Literal["ppo"] = "ppo"
    special_patches: Literal["revised", "2014"] = "revised"
    seed: Annotated[int, Field(ge=0)] = 0
    total_steps: Positive = 1_000_000
    checkpoint_every: Positive = 20
    threads: Positive = 2
    device: str = "cpu"
    network: Network = Network()
    ppo: Ppo = Ppo()
    reward: Reward = Reward()
    league: League = League()
    evaluation: Evaluation = Evaluation()

    @model_validator(mode="after")
    def _check_combinations(self) -> RunConfig:
        if self.reward.outcome == 0 and self.reward.margin == 0:
            raise ValueError("reward.outcome and reward.margin are both 0: there would be nothing to learn")
        return self

    @property
    def steps_per_iteration(self) -> int:
        """Turns in one rollout of all games."""
        return self.ppo.num_envs * self.ppo.rollout_turns


def load_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """Reads a YAML file and applies ``key=value`` overrides, keys with dots for sections.

    Raises:
        ConfigError: The file is missing or no YAML, a key is unknown, or a value has a wrong type or range.
    """
    tree = _read_yaml(path)
    _validate(tree, str(path))
    for override in overrides or []:
        _apply_override(tree, override)
        _validate(tree, f"--set {override}")
    return _validate(tree, str(path))


def dump_config(config: RunConfig) -> str:
    """The whole configuration as YAML."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def list_configs(folder: Path) -> list[tuple[Path, str]]:
    """The configurations in a folder with their descriptions."""
    return [(path, load_config(path).description) for path in sorted(folder.glob("*.yaml"))]


class _YamlLoader(yaml.SafeLoader):
    """YAML in which ``1e-3`` is a number, as everywhere else."""


_YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"), list("-+0123456789")
)


def _parse_yaml(text: str) -> Any:
    return yaml.load(text, _YamlLoader)


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        folder = path.parent if path.parent.is_dir() else Path("configs")
        there = ", ".join(str(other) for other in sorted(folder.glob("*.yaml"))) or "none"
        raise ConfigError(f"there is no file {path}; configurations here: {there}")
    try:
        tree = _parse_yaml(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} holds a {type(tree).__name__}; a configuration is a mapping of keys to values")
    return tree


def _apply_override(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: must have the form key=value")
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"--set {override}: {section!r} is no section")
    try:
        tree[name] = _parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: {text!r} is not valid YAML: {error}") from None


def _validate(tree: dict[str, Any], source: str) -> RunConfig:
    try:
        return RunConfig.model_validate(_as_frozen(tree))
    except ValidationError as error:
        problems = [_explain(problem) for problem in error.errors()]
        raise ConfigError(f"{source}: " + "; ".join(problems)) from None


def _as_frozen(value: Any) -> Any:
    """YAML has lists where the configuration, which is frozen, has tuples; and writes 1 where it means 1.0."""
    if isinstance(value, dict):
        return {key: _as_frozen(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _explain(problem: Any) -> str:
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        known = _known_keys()
        close = difflib.get_close_matches(key, known, 1, 0.5) or difflib.get_close_matches(
            key.rpartition(".")[2], known, 1, 0.5
        )
        hint = f"did you mean {close[0]!r}?" if close else f"top-level keys are {', '.join(RunConfig.model_fields)}"
        return f"unknown key {key!r}; {hint}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{key} is {problem['input']!r}: {message}" if key else message


def _known_keys(section: type[BaseModel] = RunConfig, prefix: str = "") -> list[str]:
    keys = []
    for name, field in section.model_fields.items():
        keys.append(prefix + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys += _known_keys(field.annotation, f"{prefix}{name}.")
    return keys
