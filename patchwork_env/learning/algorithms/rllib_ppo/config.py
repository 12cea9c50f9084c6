"""Configuration of PPO of RLlib."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.config.run_config import ClusterRun, RewardedRun
from patchwork_env.learning.config.sections import (
    Fraction,
    League,
    Network,
    NonNegative,
    Positive,
    Rate,
    Schedule,
    Section,
)


class RllibPpo(Section):
    """PPO of RLlib."""

    num_envs: Positive = 32
    """Games that each worker, or the run's own process, plays side by side; ``num_envs_per_env_runner``."""
    batch_size: Positive = 4096
    """Turns of all games in an iteration, or a few more; ``train_batch_size`` of RLlib."""
    epochs: Positive = 4
    """Passes over the turns of an iteration; ``num_epochs`` of RLlib."""
    minibatch_size: Annotated[int, Field(ge=2)] = 512
    """Decisions in a gradient step."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    """Step size of Adam; ``lr`` of RLlib."""
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss; ``entropy_coeff`` of RLlib."""
    value_coefficient: NonNegative = 0.5
    """Weight of the error of the value in the loss; ``vf_loss_coeff`` of RLlib."""
    value_clip_range: Rate = 10.0
    """Errors of the value above it are clipped; ``vf_clip_param`` of RLlib."""
    clip_range: Rate = 0.2
    """By how much the probability ratio may leave 1 before the gain is clipped; ``clip_param`` of RLlib."""
    gamma: Fraction = 1.0
    """Discount per decision of one's own."""
    gae_lambda: Fraction = 0.95
    """Decay of generalized advantage estimation; ``lambda_`` of RLlib."""
    max_gradient_norm: Rate = 0.5
    """Norm to which gradients are clipped; ``grad_clip`` of RLlib."""
    kl_coefficient: NonNegative = 0.0
    """First weight of the divergence in the loss, which adapts to ``kl_target``; ``kl_coeff`` of RLlib."""
    kl_target: Rate = 0.01
    """Divergence that the adapting ``kl_coefficient`` aims at; it stops nothing."""
    initial_policy: str | None = None
    """A checkpoint of the same game to start from, with a network of the same sizes."""
    players: Annotated[int, Field(ge=1, le=4)] = 2
    """Number of players of a game of NMBR 9."""
    points: NonNegative = 0.0
    """Reward of each point of NMBR 9 when it is gained."""

    @model_validator(mode="after")
    def _check_batches(self) -> RllibPpo:
        if self.minibatch_size > self.batch_size:
            raise ValueError(f"minibatch_size is {self.minibatch_size}, and batch_size {self.batch_size}")
        return self


class RllibPpoConfig(ClusterRun, RewardedRun):
    """A run of PPO of RLlib, whose workers play."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK, NMBR9)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.rllib_ppo.trainer:RllibTrainer"
    EXTRA: ClassVar[str] = "ray"

    algorithm: Literal["rllib_ppo"] = "rllib_ppo"
    """The algorithm that learns."""
    device: Literal["cpu"] = "cpu"
    """The processor: this algorithm does not use a GPU."""
    rllib_ppo: RllibPpo = RllibPpo()
    network: Network = Network()
    league: League = League()

    @property
    def has_rewards(self) -> bool:
        """Whether there is anything to learn from."""
        return super().has_rewards or self.rllib_ppo.points > 0

    @model_validator(mode="after")
    def _check_players(self) -> RllibPpoConfig:
        players, points = self.rllib_ppo.players, self.rllib_ppo.points
        if self.game == PATCHWORK and (players != 2 or points > 0):
            raise ValueError(
                f"rllib_ppo.players is {players} and points {points}; these are for NMBR 9 alone"
            )
        if players == 1 and points == 0:
            raise ValueError("rllib_ppo.players is 1 and points 0: who plays alone learns from points")
        return self


CONFIG = RllibPpoConfig
