"""Configuration of PPO of RLlib."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.algorithms.ppo.config import PpoLearning, PpoRun
from patchwork_env.learning.config.keys import (
    BYTES_OF_OBSERVATION,
    WHOLE,
    ClusterRun,
    MemoryEstimate,
    NonNegative,
    Positive,
    Several,
    Size,
)


class RllibPpo(PpoLearning):
    """PPO of RLlib."""

    TURNS: ClassVar[tuple[str, ...]] = ("batch_size",)

    num_envs: Size = 32
    """Number of games that each worker, or the process of a run without workers, plays side by side;
    ``num_envs_per_env_runner`` of RLlib."""
    batch_size: Size = 4096
    """Number of turns of all games together in an iteration, or a few more; ``train_batch_size`` of RLlib."""
    epochs: Positive = 4
    """Number of passes over the turns of an iteration; ``num_epochs`` of RLlib."""
    minibatch_size: Several = 512
    """Number of decisions in a gradient step."""
    kl_coefficient: NonNegative = 0.0
    """Weight, in the loss, of the KL divergence from the policy that played, at the beginning; RLlib then
    adapts it, so that the divergence comes near 0.01. ``kl_coeff`` of RLlib."""
    initial_policy: str | None = None
    """Path or name of a policy of the same game to start from, whose network has the same size; null starts
    from random weights."""
    players: Annotated[int, Field(ge=1, le=4), WHOLE] = 2
    """Number of players in a game of NMBR 9."""

    @model_validator(mode="after")
    def _check_batches(self) -> RllibPpo:
        if self.minibatch_size > self.batch_size:
            raise ValueError(f"minibatch_size is {self.minibatch_size}, and batch_size {self.batch_size}")
        return self


class RllibPpoConfig(ClusterRun, PpoRun):
    """A run of PPO of RLlib, whose own workers play the games."""

    TRAINER: ClassVar[str] = "patchwork_env.integrations.rllib.trainer:RllibTrainer"
    EXTRA: ClassVar[str] = "ray"
    BYTES_OF_TURN: ClassVar[int] = BYTES_OF_OBSERVATION

    algorithm: Literal["rllib_ppo"] = "rllib_ppo"
    """The algorithm that learns."""
    device: Literal["cpu"] = "cpu"
    """The device on which PyTorch learns; this algorithm uses no GPU."""
    rllib_ppo: RllibPpo = RllibPpo()

    @property
    def is_solo(self) -> bool:
        """Whether a single player plays for points."""
        return self.game == NMBR9 and self.rllib_ppo.players == 1

    @property
    def has_rewards(self) -> bool:
        """Whether any reward is above 0."""
        return super().has_rewards or self.rllib_ppo.points > 0

    def least_memory(self) -> MemoryEstimate:
        """Of the rollout, and of the games that are played side by side."""
        games = self.rllib_ppo.num_envs * PpoRun.BYTES_OF_TURN
        return super().least_memory() | {("rllib_ppo.num_envs",): games}

    @model_validator(mode="after")
    def _check_players(self) -> RllibPpoConfig:
        if self.game == PATCHWORK and self.rllib_ppo.players != 2:
            raise ValueError(
                f"rllib_ppo.players is {self.rllib_ppo.players}; other numbers than 2 are for NMBR 9"
            )
        return self
