"""The keys of a configuration that runs of all algorithms share.

The configuration of an algorithm is a subclass of :class:`RunConfig`, entered in ``registry.py``. Its fields
are the sections that the algorithm reads and no others, so that no key can be set without effect.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from patchwork_env.errors import ConfigError
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config.sections import (
    Cluster,
    Evaluation,
    Fixed,
    MemoryEstimate,
    Network,
    Positive,
    Rate,
    Reward,
    Section,
    Seed,
    Steps,
    Threads,
)
from patchwork_env.learning.system.machine import memory_limit

# YAML reads 2014 as a number.
SpecialPatches = Annotated[
    Literal["revised", "2014"], BeforeValidator(lambda value: "2014" if value == 2014 else value)
]


def _as_names(value: Any) -> Any:
    """One name, or none, as the tuple that it stands for."""
    if value is None or value == "none":
        return ()
    return (value,) if isinstance(value, str) else value


Trackers = Annotated[
    tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=20), BeforeValidator(_as_names)
]


def changes_learning(key: str) -> bool:
    """Whether a key, by its full name, changes what is learned, other than by chance."""
    notes = ("seed", "description", "tracker", "checkpoint_every", "checkpoint_minutes", "evaluation")
    return key.partition(".")[0] not in notes


class RunConfig(Section):
    """The configuration of a training run."""

    GAMES: ClassVar[tuple[str, ...]] = ()
    """The games that the algorithm learns."""
    TRAINER: ClassVar[str] = ""
    """The subclass of ``Trainer`` that trains, as ``module:Class``."""
    EXTRA: ClassVar[str] = "train"
    """The extra that installs the packages that the trainer needs."""

    description: Annotated[str, Field(max_length=1000)] = ""
    """A sentence that says what the run is for; ``--list`` shows it."""
    game: Fixed[str] = PATCHWORK
    """The game that is learned, ``patchwork`` or ``nmbr9``."""
    algorithm: str = ""
    """The algorithm that learns."""
    special_patches: Fixed[SpecialPatches] = "revised"
    """Print of Patchwork's time track, which says where special patches lie: ``revised``, or that of
    ``2014``."""
    seed: Seed = 0
    """Seed of everything random in training; evaluations have a seed of their own."""
    total_steps: Steps = 1_000_000
    """Number of steps of the run; it ends with the iteration that reaches them. A step is a turn of a
    game, whoever plays it, also without a choice."""
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
    """Where metrics go in addition to ``metrics.jsonl``, one name or several: ``tensorboard`` and ``csv`` are
    files in the folder of the run, ``wandb``, ``mlflow`` and ``trackio`` services; ``none`` is nowhere."""
    evaluation: Evaluation = Evaluation()

    @property
    def variant(self) -> dict[str, Any]:
        """The options of the game that is played, as ``check_variant`` takes them."""
        return {"special_patches": self.special_patches} if self.game == PATCHWORK else {}

    def least_memory(self) -> MemoryEstimate:
        """The bytes of memory that a run needs, or less, by the keys that ask for them."""
        return {}

    @model_validator(mode="after")
    def _check_game(self) -> RunConfig:
        if self.game not in self.GAMES:
            games = " and ".join(self.GAMES)
            raise ValueError(f"game is {self.game!r}; {self.algorithm} learns {games}")
        if self.game != PATCHWORK and self.special_patches != "revised":
            raise ValueError(f"special_patches is {self.special_patches!r}; {self.game} has none")
        network: Network | None = getattr(self, "network", None)
        if self.game != PATCHWORK and network is not None and (network.offers or network.lookahead):
            raise ValueError(f"network.offers and network.lookahead are for Patchwork, not for {self.game}")
        return self


class RewardedRun(RunConfig):
    """A run whose algorithm reads the section ``reward``."""

    reward: Reward = Reward()

    @property
    def has_rewards(self) -> bool:
        """Whether any reward is above 0."""
        return self.reward.outcome > 0 or self.reward.margin > 0

    @model_validator(mode="after")
    def _check_rewards(self) -> RewardedRun:
        if not self.has_rewards:
            raise ValueError("reward.outcome and reward.margin are both 0: there would be nothing to learn")
        return self


class ClusterRun(RunConfig):
    """A run whose games the workers of a cluster can play."""

    cluster: Cluster = Cluster()


def check_memory(config: RunConfig, available: int | None = None) -> RunConfig:
    """The configuration, if it needs no more bytes than are available, by default those of the machine.

    Raises:
        ConfigError: It needs more; the message names the keys that ask for most of it.
    """
    available = memory_limit() if available is None else available
    needs = config.least_memory()
    total = sum(needs.values())
    if total > available:
        keys, most = max(needs.items(), key=operator.itemgetter(1))
        values: list[Any] = [reduce(getattr, key.split("."), config) for key in keys]
        asked = ", ".join(
            f"{key} is {list(value) if isinstance(value, tuple) else value}"
            for key, value in zip(keys, values, strict=True)
        )
        raise ConfigError(
            f"{asked}: that takes at least {most / 1e9:,.2f} GB of memory, and the whole configuration "
            f"{total / 1e9:,.2f} GB; this process may have {available / 1e9:,.2f} GB"
        )
    return config
