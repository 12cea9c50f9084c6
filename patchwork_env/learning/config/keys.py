"""The keys of a configuration that several algorithms share, in sections, and the types of their values.

The text below a field describes it for ``train --explain``. The fields of an algorithm's :class:`RunConfig`
are the sections that it reads and no others, so that no key can be set without effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.core.sections import WHOLE, Fixed, Section
from patchwork_env.games import PATCHWORK, rules_of

# Every number has a lower and an upper bound. The upper bounds are far above useful values, and keep results
# finite.
Steps = Annotated[int, Field(ge=1, le=9 * 10**9), WHOLE]  # ten digits in names of files
Positive = Annotated[int, Field(ge=1, le=10**9), WHOLE]
Size = Annotated[int, Field(ge=1, le=10**6), WHOLE]
Several = Annotated[int, Field(ge=2, le=10**6), WHOLE]
Threads = Annotated[int, Field(ge=1, le=1024), WHOLE]
Count = Annotated[int, Field(ge=0, le=10**5), WHOLE]
Seed = Annotated[int, Field(ge=0, lt=2**64), WHOLE]
EvenSize = Annotated[int, Field(ge=2, le=10**6, multiple_of=2), WHOLE]
Fraction = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0, le=10**6)]
OpenFraction = Annotated[float, Field(gt=0, lt=1)]
Rate = Annotated[float, Field(gt=0, le=10**6)]
Scheduled = Annotated[float, Field(ge=0, le=1e30)]
Specs = Annotated[tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=100)]


def section_of(kind: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Return the type of a section by its key; None if there is no such section."""
    field = kind.model_fields.get(key)
    annotation = field.annotation if field else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def section_keys(kind: type[BaseModel], prefix: str = "") -> list[str]:
    """Return the full names of all fields of a section and of the sections in it."""
    keys = []
    for name in kind.model_fields:
        keys.append(prefix + name)
        if section := section_of(kind, name):
            keys += section_keys(section, f"{prefix}{name}.")
    return keys


OTHER_NAMES = {
    "clip_range": ("clip_param",),
    "entropy_coefficient": ("ent_coef", "entropy_coeff"),
    "epochs": ("n_epochs", "num_epochs"),
    "gae_lambda": ("lambda_",),
    "gamma": ("discount",),
    "learning_rate": ("lr",),
    "max_gradient_norm": ("grad_clip", "max_grad_norm"),
    "minibatch_size": ("batch_size",),
    "num_envs": ("num_envs_per_env_runner",),
    "rollout_steps": ("n_steps",),
    "value_clip_range": ("vf_clip_param",),
    "value_coefficient": ("vf_coef", "vf_loss_coeff"),
}
"""The names of keys in other libraries, for messages."""


def name_here(name: str, known: Iterable[str]) -> str | None:
    """Return the known key for a name of another library, or None."""
    return next((key for key in known if name in OTHER_NAMES.get(key, ())), None)


class Schedule(Section):
    """A number that moves from ``start`` to ``end`` during the run; a plain number stays as it is."""

    start: Scheduled
    """Value at the beginning of the run."""
    end: Scheduled
    """Value at the end of the run."""
    curve: Literal["linear", "geometric"] = "linear"
    """``linear`` moves in equal steps, ``geometric`` by equal factors, which needs values above 0."""

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, (dict, Schedule)):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError("it must be a number, or a section with the keys start, end and curve")
        return {"start": value, "end": value}

    @model_validator(mode="after")
    def _check_curve(self) -> Schedule:
        if self.curve == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError(f"a geometric curve from {self.start} to {self.end}: both must be above 0")
        return self

    def at(self, progress: float) -> float:
        """Return the value when a fraction ``progress`` of the run, 0 to 1, is over."""
        progress = min(progress, 1.0)
        if self.curve == "geometric":
            return float(self.start * (self.end / self.start) ** progress)
        return self.start + (self.end - self.start) * progress


class Reward(Section):
    """The reward that a player gets at the end of a game."""

    outcome: NonNegative = 1.0
    """Reward of a win; a loss gives the same number below 0."""
    margin: NonNegative = 0.0
    """Weight of the margin: the score difference in points, divided by ``margin_scale``."""
    margin_scale: Rate = 100.0
    """Score difference, in points, that counts as 1."""
    margin_cut: Rate | None = None
    """Largest margin that counts, after ``margin_scale``; null counts all of it. ``td``, whose network
    estimates the margin itself, needs null."""


class League(Section):
    """Self-play against past selves: snapshots of the policy from earlier in the run."""

    fraction: Fraction = 0.25
    """Share of the games that are played against past selves, 0 to 1; the others are self-play."""
    snapshot_every: Positive = 10
    """Number of iterations between two snapshots of the policy."""
    size: Size = 20
    """Largest number of snapshots that are kept; a new one replaces the oldest."""
    opponents: Size = 4
    """Number of different snapshots that are opponents at the same time."""
    choice: Literal["uniform", "hard", "even"] = "hard"
    """Snapshots that are drawn as opponents more often: ``uniform`` prefers none, ``hard`` the ones that beat
    the policy most often, ``even`` the ones that win about half of their games against it."""
    half_life: Positive = 20
    """Number of iterations after which the result of a game against a snapshot counts half as much."""


class Evaluation(Section):
    """Evaluations: paired games against fixed opponents, during the run and at its end."""

    every: Positive | None = 20
    """Number of iterations between two evaluations; null evaluates only at the end."""
    seed: Seed = 1
    """Seed of the circles or decks, and of the players; runs with the same seed are measured on the same
    ones. ``evaluate`` has another default, so it measures a policy on other ones."""
    games: EvenSize = 200
    """Number of games against each opponent in an evaluation during the run."""
    final_games: EvenSize = 1000
    """Number of games against each opponent at the end of the run."""
    opponents: Specs = ("random", "greedy")
    """Specs of the agents that the policy plays against; an empty list leaves evaluations out."""


class Cluster(Section):
    """Self-play by workers of a Ray cluster; the games do not depend on the number of workers."""

    address: Annotated[str, Field(min_length=1, max_length=1000)] = "local"
    """``local`` starts a Ray cluster for this run alone, ``auto`` finds the one of this machine, and
    ``host:port`` names another."""
    workers: Count = 0
    """Number of workers, of one processor each; with 0 the run plays in its own process and needs no Ray."""
    games_per_job: Size = 64
    """Number of games that a worker gets at a time; larger jobs cost the learner less time to hand out."""
    ahead: bool = False
    """Whether workers play the games of the next iteration while the learner learns, with weights that are
    one iteration older. Otherwise they wait for the new weights."""
    patience: Rate = 120.0
    """Seconds without any processor in the cluster after which the run ends with an error."""


# --- runs ---------------------------------------------------------------------------------------------------

# YAML reads 2014 as a number.
SpecialPatches = Annotated[
    Literal["revised", "2014"], BeforeValidator(lambda value: "2014" if value == 2014 else value)
]


def _as_names(value: Any) -> Any:
    if value is None or value == "none":
        return ()
    return (value,) if isinstance(value, str) else value


Trackers = Annotated[
    tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=20), BeforeValidator(_as_names)
]


def changes_learning(key: str) -> bool:
    """Return True if a key, by its full name, changes what is learned, other than by chance."""
    notes = ("seed", "description", "tracker", "checkpoint_every", "checkpoint_minutes", "evaluation")
    return key.partition(".")[0] not in notes


class RunConfig(Section):
    """The configuration of a training run."""

    GAMES: ClassVar[Sequence[str]] = ()
    """The games that the algorithm learns."""
    TRAINER: ClassVar[str] = ""
    """The subclass of ``Trainer`` that trains, as ``module:Class``."""

    description: Annotated[str, Field(max_length=1000)] = ""
    """A sentence about the purpose of the run, for ``--list``."""
    game: Fixed[str] = PATCHWORK
    """The game that is learned, such as ``patchwork`` or ``nmbr9``."""
    algorithm: str = ""
    """The algorithm that learns."""
    special_patches: Fixed[SpecialPatches] = "revised"
    """Print of Patchwork's time track, which determines the places of special patches: ``revised`` or
    ``2014``."""
    seed: Seed = 0
    """Seed of everything random in training; evaluations have a seed of their own."""
    total_steps: Steps = 1_000_000
    """Number of steps of the run; it ends with the iteration that reaches them. A step is a turn of any
    player of a game, also without a choice."""
    checkpoint_every: Positive = 20
    """Number of iterations between two checkpoints."""
    checkpoint_minutes: Rate | None = None
    """Minutes after which a checkpoint is written even if fewer iterations have passed; null never writes one
    early."""
    threads: Threads = 2
    """Number of threads that share the work of this process."""
    device: str = "cpu"
    """The device on which PyTorch learns: ``cpu``, ``cuda`` or another of its names; ``auto`` takes a GPU if
    there is one."""
    tracker: Trackers = ("tensorboard",)
    """Trackers of metrics besides ``metrics.jsonl``, one name or several: ``tensorboard`` is a file in the
    folder of the run, ``wandb`` and ``mlflow`` are services; ``none`` disables them."""
    evaluation: Evaluation = Evaluation()

    @property
    def learning(self) -> Any:
        """The section of the algorithm."""
        return getattr(self, self.algorithm)

    @property
    def variant(self) -> dict[str, Any]:
        """The options of the game that is played, as ``check_variant`` takes them."""
        return self._of_game({"special_patches": self.special_patches})

    @property
    def training_options(self) -> dict[str, Any]:
        """The options of the games to learn from; the first player is random where that is an option."""
        return self._of_game({"special_patches": self.special_patches, "first_player": "random"})

    def _of_game(self, options: dict[str, Any]) -> dict[str, Any]:
        known = rules_of(self.game).options
        return {name: value for name, value in options.items() if name in known}

    @model_validator(mode="after")
    def _check_game(self) -> RunConfig:
        if self.game not in self.GAMES:
            games = " and ".join(self.GAMES)
            raise ValueError(f"game is {self.game!r}; {self.algorithm} learns {games}")
        if self.special_patches != "revised" and not self.variant:
            raise ValueError(f"special_patches is {self.special_patches!r}; {self.game} has none")
        getattr(self, "network", NetworkConfig()).check_game(self.game)
        return self


class RewardedRun(RunConfig):
    """A run whose algorithm reads the section ``reward``."""

    reward: Reward = Reward()

    @model_validator(mode="after")
    def _check_rewards(self) -> RewardedRun:
        if self.reward.outcome == self.reward.margin == 0:
            raise ValueError("reward.outcome and reward.margin are both 0: there would be nothing to learn")
        return self


class ClusterRun(RunConfig):
    """A run whose games the workers of a cluster can play."""

    cluster: Cluster = Cluster()
