"""The configuration of a run: typed, composed from defaults, a YAML file and ``--set``, and strict."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.algorithms.registry import ALGORITHMS, TRAINERS
from patchwork_env.learning.distributed.players import ON_CLUSTERS

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
"""The folder of the configurations that come with the project."""

Positive = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
Games = Annotated[int, Field(ge=2, multiple_of=2)]
Fraction = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]
# YAML reads the print of the year 2014 as a number.
Variant = Annotated[
    Literal["revised", "2014"], BeforeValidator(lambda given: "2014" if given == 2014 else given)
]


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and its source."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Network(_Section):
    """Sizes of the network; see :class:`patchwork_env.agents.patchwork.policy_network.NetworkConfig`."""

    width: Positive = 256
    depth: Positive = 2
    channels: Positive = 32


class Schedule(_Section):
    """A number that moves from ``start`` to ``end`` over the run, in equal steps or by equal factors."""

    start: NonNegative
    end: NonNegative
    curve: Literal["linear", "geometric"] = "linear"

    @model_validator(mode="after")
    def _check_curve(self) -> Schedule:
        if self.curve == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError(f"a geometric curve from {self.start} to {self.end}: both must be above 0")
        return self

    def at(self, progress: float) -> float:
        """The value when the fraction ``progress`` of the run is over."""
        progress = min(progress, 1.0)
        if self.curve == "geometric":
            return float(self.start * (self.end / self.start) ** progress)
        return self.start + (self.end - self.start) * progress


class Ppo(_Section):
    """Proximal policy optimization (Schulman et al. 2017).

    The learning from a rollout ends before a minibatch in which the policy has moved by more than 1.5 times
    ``target_kl``, if that is given. ``kl_coefficient`` times the same divergence can be added to the loss.
    """

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
    target_kl: Rate | None = None
    kl_coefficient: Schedule = Schedule(start=0.0, end=0.0)


class MaskablePpo(_Section):
    """MaskablePPO of sb3-contrib; keys as there, and ``activation_fn`` and ``ortho_init`` are of its policy.

    Every game has one learner and one opponent: in ``fixed_fraction`` of the games one of the agents
    ``fixed_opponents``; in the league's games a past self; else the present self.
    """

    num_envs: Positive = 64
    n_steps: Positive = 64
    batch_size: Annotated[int, Field(ge=2)] = 512
    n_epochs: Positive = 4
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    gamma: Fraction = 1.0
    gae_lambda: Fraction = 0.95
    clip_range: Rate = 0.2
    normalize_advantage: bool = True
    ent_coef: Schedule = Schedule(start=0.01, end=0.001)
    vf_coef: NonNegative = 0.5
    max_grad_norm: Rate = 0.5
    target_kl: Rate | None = None
    net_arch: tuple[Positive, ...] = (256, 256)
    activation_fn: Literal["relu", "tanh"] = "relu"
    ortho_init: bool = True
    fixed_fraction: Fraction = 0.0
    fixed_opponents: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_combinations(self) -> MaskablePpo:
        samples = self.num_envs * self.n_steps
        if samples % self.batch_size:
            raise ValueError(
                f"num_envs * n_steps is {samples}; it must be a multiple of batch_size, {self.batch_size}"
            )
        if (self.fixed_fraction > 0) != bool(self.fixed_opponents):
            raise ValueError(
                f"fixed_fraction is {self.fixed_fraction} and fixed_opponents are "
                f"{list(self.fixed_opponents)}; one of them asks for the other"
            )
        return self


class AlphaZero(_Section):
    """Gumbel AlphaZero (Danihelka et al. 2022): learning from what a search makes of the policy.

    Every decision is searched with ``simulations``, which try ``max_considered`` actions of the root. An
    iteration plays ``rollout_turns`` turns in each game and then takes ``updates`` steps on minibatches from
    the last ``window`` rollouts. Evaluations play with ``evaluation_simulations``; 0 is the bare policy.
    """

    num_envs: Positive = 256
    rollout_turns: Positive = 32
    simulations: Annotated[int, Field(ge=2)] = 16
    max_considered: Annotated[int, Field(ge=2)] = 8
    c_visit: NonNegative = 50.0
    c_scale: Rate = 3.0
    window: Positive = 8
    updates: Positive = 16
    minibatch_size: Positive = 1024
    learning_rate: Schedule = Schedule(start=2e-3, end=1e-4, curve="geometric")
    weight_decay: NonNegative = 1e-4
    value_coefficient: NonNegative = 0.5
    value_lambda: Fraction = 0.95
    max_gradient_norm: Rate = 1.0
    evaluation_simulations: NonNegativeInt = 64


class TdSearch(_Section):
    """Expert iteration: from the share ``begin`` of the run on, moves are searched with ``nodes`` positions.

    Learned are what the search says of the move and of all positions in its tree with ``least_visits``; with
    that much more to learn from, an iteration takes ``updates`` steps.
    """

    begin: Fraction = 1.0
    nodes: Annotated[int, Field(ge=2)] = 24
    least_visits: Positive = 3
    updates: Positive = 128


class TdLearning(_Section):
    """What temporal-difference learning of a compiled value takes, of either game.

    An iteration plays ``games`` games and then takes ``updates`` steps on minibatches from the last
    ``window`` iterations. Targets are lambda-returns, with ``trace`` as lambda. With probability
    ``exploration`` an action is not the best, but drawn from the softmax of what all are worth divided by
    ``temperature``. What plays is the moving average of the weights, which each update keeps to a share of
    ``averaging``. Rows of tables, of which a sum takes a hundred, learn at ``table_rate`` times the
    ``learning_rate``, which rises to its start in the first ``warmup`` updates.
    """

    games: Positive = 512
    width: Positive = 16
    exploration: Schedule = Schedule(start=0.1, end=0.02)
    temperature: Rate = 0.05
    trace: Fraction = 0.8
    window: Positive = 4
    updates: Positive = 64
    minibatch_size: Positive = 1024
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4, curve="geometric")
    warmup: Positive = 500
    table_rate: Rate = 0.1
    averaging: Fraction = 0.998
    max_gradient_norm: Rate = 1.0


class Td(TdLearning):
    """Temporal-difference learning of a compiled value by greedy self-play (Tesauro 1995).

    Of each patch the ``width`` most likely placements are tried. Self-play counts the opponent's points
    ``denial`` times: with 1 players may block each other for whole games. Guests, who play by rules of thumb,
    begin a share of ``openings`` of the games, and play one side of a share of ``guests``.
    """

    openings: Fraction = 0.3
    guests: Fraction = 0.2
    denial: Fraction = 1.0
    search: TdSearch = TdSearch()
    score_coefficient: NonNegative = 1.0


class SoloTd(TdLearning):
    """Temporal-difference learning of the value of NMBR 9: everybody plays for the own score.

    Of each level the ``width`` placements with the most contact are tried. ``temperature`` is in points.
    """

    temperature: Rate = 1.0


class RllibPpo(_Section):
    """PPO of RLlib; keys as there, and those of the games in it.

    An iteration takes ``train_batch_size`` turns, or a few more, from ``num_envs_per_env_runner`` games of
    each of the ``cluster.workers``, or of the run's own process if there are none. ``initial_policy`` names
    the policy to start from: a checkpoint of the same game, with a network of the same sizes. ``players`` is
    for NMBR 9, and so are ``points``: what each of them is worth when it is gained.
    """

    num_envs_per_env_runner: Positive = 32
    train_batch_size: Positive = 4096
    minibatch_size: Annotated[int, Field(ge=2)] = 512
    num_epochs: Positive = 4
    lr: Schedule = Schedule(start=1e-3, end=1e-4)
    gamma: Fraction = 1.0
    lambda_: Fraction = 0.95
    clip_param: Rate = 0.2
    vf_loss_coeff: NonNegative = 0.5
    vf_clip_param: Rate = 10.0
    entropy_coeff: Schedule = Schedule(start=0.01, end=0.001)
    kl_coeff: NonNegative = 0.0
    kl_target: Rate = 0.01
    grad_clip: Rate = 0.5
    initial_policy: str | None = None
    players: Annotated[int, Field(ge=1, le=4)] = 2
    points: NonNegative = 0.0

    @model_validator(mode="after")
    def _check_batches(self) -> RllibPpo:
        if self.minibatch_size > self.train_batch_size:
            raise ValueError(
                f"minibatch_size is {self.minibatch_size}, and train_batch_size {self.train_batch_size}"
            )
        return self


class Reward(_Section):
    """What the end of a game is worth to a player.

    ``outcome`` for a win or minus it for a loss, plus ``margin`` times the difference of the scores, which is
    divided by ``margin_scale`` and clipped to -1 ... 1.
    """

    outcome: NonNegative = 1.0
    margin: NonNegative = 0.0
    margin_scale: Rate = 40.0


class League(_Section):
    """Past selves as opponents in a ``fraction`` of the games: ``opponents`` of the last ``size`` snapshots.

    ``choice`` says which of them are drawn more often: ``hard``, those that win most, ``even``, those that
    win every other game, or all alike. Results count half after ``half_life`` iterations.
    """

    fraction: Fraction = 0.25
    snapshot_every: Positive = 10
    size: Positive = 20
    opponents: Positive = 4
    choice: Literal["uniform", "hard", "even"] = "hard"
    half_life: Positive = 20


class Evaluation(_Section):
    """Paired games against fixed opponents, every so many iterations and at the end of the run."""

    every: Positive = 20
    games: Games = 200
    final_games: Games = 1000
    opponents: tuple[str, ...] = ("random", "greedy")


class Cluster(_Section):
    """Self-play by ``workers`` actors of Ray; without any the run stays in one process, and needs no Ray.

    ``address`` is ``local`` for a Ray of the run's own on this machine, ``auto`` for the cluster that this
    machine belongs to, or ``host:port`` of a cluster's head node. Workers get ``games_per_job`` games at a
    time; what they play does not depend on how many workers there are. With ``ahead`` they play the games of
    the next iteration while the learner learns from this one; without, they wait for its weights. A run ends
    if there is no worker at all for ``patience`` seconds.
    """

    address: Annotated[str, Field(min_length=1)] = "local"
    workers: NonNegativeInt = 0
    games_per_job: Positive = 64
    ahead: bool = False
    patience: Rate = 120.0


class RunConfig(_Section):
    """A training run.

    It ends with the first rollout that reaches ``total_steps``. Checkpoints are written every so many
    iterations and, if ``checkpoint_minutes`` is given, behind an iteration when the last one is that old.
    ``device`` is a name of PyTorch's, as ``cpu`` or ``cuda``, or ``auto``: a GPU if there is one.
    """

    description: str = ""
    game: Literal["patchwork", "nmbr9"] = "patchwork"
    algorithm: Literal["ppo", "maskable_ppo", "alphazero", "td", "solo_td", "rllib_ppo"] = "ppo"
    special_patches: Variant = "revised"
    seed: Seed = 0
    total_steps: Positive = 1_000_000
    checkpoint_every: Positive = 20
    checkpoint_minutes: Rate | None = None
    threads: Positive = 2
    device: str = "cpu"
    network: Network = Network()
    ppo: Ppo = Ppo()
    maskable_ppo: MaskablePpo = MaskablePpo()
    alphazero: AlphaZero = AlphaZero()
    td: Td = Td()
    solo_td: SoloTd = SoloTd()
    rllib_ppo: RllibPpo = RllibPpo()
    reward: Reward = Reward()
    league: League = League()
    evaluation: Evaluation = Evaluation()
    cluster: Cluster = Cluster()

    @property
    def variant(self) -> dict[str, Any]:
        """What is played of the game; see ``check_variant``."""
        return {"special_patches": self.special_patches} if self.game == PATCHWORK else {}

    @model_validator(mode="after")
    def _check_combinations(self) -> RunConfig:
        if self.game != PATCHWORK and self.special_patches != "revised":
            raise ValueError(f"special_patches is {self.special_patches!r}; {self.game} has none")
        if self.algorithm not in TRAINERS[self.game]:
            able = ", ".join(TRAINERS[self.game]) or "none"
            raise ValueError(f"algorithm is {self.algorithm!r}; algorithms for the game {self.game}: {able}")
        if self.reward.outcome == 0 and self.reward.margin == 0 and self.rllib_ppo.points == 0:
            raise ValueError("reward.outcome and reward.margin are both 0: there would be nothing to learn")
        self._check_players()
        if self.cluster.workers and self.algorithm not in ON_CLUSTERS:
            raise ValueError(
                f"cluster.workers is {self.cluster.workers} and algorithm {self.algorithm!r}; "
                f"algorithms that use a cluster: {', '.join(ON_CLUSTERS)}"
            )
        fixed, past = self.maskable_ppo.fixed_fraction, self.league.fraction
        if self.algorithm == "maskable_ppo" and fixed + past > 1:
            raise ValueError(
                f"maskable_ppo.fixed_fraction {fixed} and league.fraction {past} are more than all games"
            )
        return self

    def _check_players(self) -> None:
        players, points = self.rllib_ppo.players, self.rllib_ppo.points
        if self.game == PATCHWORK and (players != 2 or points > 0):
            raise ValueError(
                f"rllib_ppo.players is {players} and points {points}; these are for NMBR 9 alone"
            )
        if players == 1 and points == 0:
            raise ValueError("rllib_ppo.players is 1 and points 0: who plays alone learns from points")


def load_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """Reads a YAML file and applies ``key=value`` overrides, keys with dots for sections.

    What neither gives has its default, also within a section that is given in part.

    Raises:
        ConfigError: The file is missing or no YAML, a key is unknown, or a value has a wrong type or range.
    """
    overrides = overrides or []
    tree = _read_yaml(path)
    for override in overrides:
        _apply_override(tree, override)
    _check_sections(tree, path, overrides)
    try:
        return RunConfig.model_validate(_merged(RunConfig().model_dump(), tree))
    except ValidationError as error:
        problems = [f"{_source(problem, path, overrides)}: {_explain(problem)}" for problem in error.errors()]
        raise ConfigError("; ".join(problems)) from None


def dump_config(config: RunConfig) -> str:
    """The whole configuration as YAML, without what belongs to other algorithms and games."""
    others = set(ALGORITHMS) - {config.algorithm}
    if config.game != PATCHWORK:
        others.add("special_patches")
    return yaml.safe_dump(config.model_dump(mode="json", exclude=others), sort_keys=False)


def list_configs(folder: Path = CONFIGS) -> list[tuple[Path, str]]:
    """The configurations in a folder with their descriptions."""
    return [(path, load_config(path).description) for path in sorted(folder.glob("*.yaml"))]


def differences(first: RunConfig, second: RunConfig) -> list[str]:
    """The keys in which two configurations differ."""
    values, others = _flat(first.model_dump()), _flat(second.model_dump())
    return [key for key, value in values.items() if value != others[key]]


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree of sections as values by full key."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


class _YamlLoader(yaml.SafeLoader):
    """YAML in which ``1e-3`` is a number, as everywhere else, and in which no key may appear twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} appears twice", node.start_mark)
        return super().construct_mapping(node, deep)


_YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"), list("-+0123456789")
)


def parse_yaml(source: str | IO[str]) -> Any:
    """What YAML says, read as configurations are."""
    return yaml.load(source, _YamlLoader)  # noqa: S506 - it is a SafeLoader


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        there = sorted(path.parent.glob("*.yaml")) or sorted(CONFIGS.glob("*.yaml"))
        names = ", ".join(map(str, there)) or "none"
        raise ConfigError(f"there is no file {path}; there are these configurations: {names}")
    try:
        with path.open(encoding="utf-8") as file:
            tree = parse_yaml(file)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        kind = type(tree).__name__
        raise ConfigError(f"{path} holds a {kind}; a configuration is a mapping of keys to values")
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
        tree[name] = parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: {text!r} is not valid YAML: {error}") from None


def _check_sections(tree: dict[str, Any], path: Path, overrides: list[str]) -> None:
    """Raises ConfigError if there is a section of an algorithm that the run does not use."""
    algorithm = tree.get("algorithm", RunConfig().algorithm)
    for other in ALGORITHMS:
        if other != algorithm and algorithm in ALGORITHMS and other in tree:
            source = _source({"loc": (other,)}, path, overrides)
            raise ConfigError(f"{source}: the section {other!r} is of no use to the algorithm {algorithm!r}")


def _merged(default: Any, given: Any) -> Any:
    """The default with what is given in its place; lists become tuples, for the configuration is frozen."""
    if isinstance(default, dict) and isinstance(given, dict):
        return default | {key: _merged(default.get(key), value) for key, value in given.items()}
    return tuple(given) if isinstance(given, list) else given


def _source(problem: Any, path: Path, overrides: list[str]) -> str:
    """Where the value that is wrong comes from: the last override that concerns it, or else the file."""
    location = list(map(str, problem["loc"]))
    for override in reversed(overrides):
        key = override.partition("=")[0].split(".")
        if key == location[: len(key)] or location == key[: len(location)] != []:
            return f"--set {override}"
    return str(path)


def _explain(problem: Any) -> str:
    location = tuple(map(str, problem["loc"]))
    key = ".".join(location)
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {_hint(location)}"
    if problem["type"] == "invalid_key":
        return f"the key {key} must be a text"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "tuple_type":
        message = "it must be a list"
    if problem["type"] == "model_type":
        message = f"it must be a section with the keys {', '.join(_keys_of(location))}"
    return f"{key} is {problem['input']!r}: {message}" if key else message


def _hint(unknown: tuple[str, ...]) -> str:
    """The nearest key beside an unknown one or else anywhere, or all keys that could stand in its place."""
    beside = {name: ".".join((*unknown[:-1], name)) for name in _keys_of(unknown[:-1])}
    anywhere = {key.rpartition(".")[2]: key for key in reversed(_all_keys())}
    for keys_by_name in (beside, anywhere):
        close = difflib.get_close_matches(unknown[-1], keys_by_name, 1)
        if close:
            return f"did you mean {keys_by_name[close[0]]!r}?"
    return f"known are {', '.join(beside)}"


def _keys_of(section: tuple[str, ...]) -> list[str]:
    model: Any = RunConfig
    for name in section:
        model = model.model_fields[name].annotation
    return list(model.model_fields)


def _all_keys(section: type[BaseModel] = RunConfig, prefix: str = "") -> list[str]:
    keys = []
    for name, field in section.model_fields.items():
        keys.append(prefix + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys += _all_keys(field.annotation, f"{prefix}{name}.")
    return keys
