"""What the configurations of all runs have in common.

An algorithm's own configuration is a subclass of :class:`RunConfig` in ``algorithms/NAME/config.py``. It is
the registration of the algorithm at the same time, and its fields are the sections that the algorithm reads:
there are no others that could be set without effect.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, model_validator

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config.sections import (
    Cluster,
    Evaluation,
    Positive,
    Rate,
    Reward,
    Section,
    Seed,
)

# YAML reads the rules of the year 2014 as a number.
SpecialPatches = Annotated[
    Literal["revised", "2014"], BeforeValidator(lambda given: "2014" if given == 2014 else given)
]


class RunConfig(Section):
    """A training run."""

    GAMES: ClassVar[tuple[str, ...]] = ()
    """The games that the algorithm learns."""
    TRAINER: ClassVar[str] = ""
    """The class that trains, a ``Trainer`` as ``module:Class``."""
    EXTRA: ClassVar[str] = "train"
    """The extra of the package that installs what the trainer needs."""

    description: str = ""
    """What the run is for, in a sentence."""
    game: str = PATCHWORK
    """The game that is learned, ``patchwork`` or ``nmbr9``."""
    algorithm: str = ""
    """The algorithm that learns."""
    special_patches: SpecialPatches = "revised"
    """The rules of Patchwork's special patches: those of today or those of 2014."""
    seed: Seed = 0
    """Seed of all that is random in training; evaluations have their own."""
    total_steps: Positive = 1_000_000
    """Turns after which the run ends, with the iteration that reaches them."""
    checkpoint_every: Positive = 20
    """Iterations between two checkpoints."""
    checkpoint_minutes: Rate | None = None
    """Minutes after which an iteration is followed by a checkpoint in any case."""
    threads: Positive = 2
    """Threads that share the work of this process."""
    device: str = "cpu"
    """Where PyTorch learns: ``cpu``, ``cuda`` or another of its names, or ``auto``: a GPU if there is one."""
    logging: tuple[str, ...] = ("tensorboard",)
    """Loggers beside ``metrics.jsonl``: ``tensorboard``, ``csv``."""
    evaluation: Evaluation = Evaluation()

    @property
    def variant(self) -> dict[str, Any]:
        """Options of the game that is played; see ``check_variant``."""
        return {"special_patches": self.special_patches} if self.game == PATCHWORK else {}

    @model_validator(mode="after")
    def _check_game(self) -> RunConfig:
        if self.game not in self.GAMES:
            games = " and ".join(self.GAMES)
            raise ValueError(f"game is {self.game!r}; {self.algorithm} learns {games}")
        if self.game != PATCHWORK and self.special_patches != "revised":
            raise ValueError(f"special_patches is {self.special_patches!r}; {self.game} has none")
        return self


class RewardedRun(RunConfig):
    """A run whose algorithm reads what the end of a game is worth."""

    reward: Reward = Reward()

    @property
    def has_rewards(self) -> bool:
        """Whether there is anything to learn from."""
        return self.reward.outcome > 0 or self.reward.margin > 0

    @model_validator(mode="after")
    def _check_rewards(self) -> RewardedRun:
        if not self.has_rewards:
            raise ValueError("reward.outcome and reward.margin are both 0: there would be nothing to learn")
        return self


class ClusterRun(RunConfig):
    """A run whose games can be played by the workers of a cluster."""

    cluster: Cluster = Cluster()
