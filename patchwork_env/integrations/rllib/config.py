"""Configuration of PPO of RLlib."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.config.keys import (
    BYTES_OF_LEARNING,
    BYTES_OF_MASK,
    BYTES_OF_OBSERVATION,
    BYTES_OF_WEIGHT,
    NETWORK_KEYS,
    WHOLE,
    ClusterRun,
    Fraction,
    League,
    MemoryEstimate,
    Network,
    NonNegative,
    Positive,
    Rate,
    RewardedRun,
    Schedule,
    Section,
    Several,
    Size,
)


class RllibPpo(Section):
    """PPO of RLlib."""

    num_envs: Size = 32
    """Number of games that each worker, or the process of a run without workers, plays side by side;
    ``num_envs_per_env_runner`` of RLlib."""
    batch_size: Size = 4096
    """Number of turns of all games together in an iteration, or a few more; ``train_batch_size`` of RLlib."""
    epochs: Positive = 4
    """Number of passes over the turns of an iteration; ``num_epochs`` of RLlib."""
    minibatch_size: Several = 512
    """Number of decisions in a gradient step."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    """Step size of Adam; ``lr`` of RLlib."""
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss, ``entropy_coeff`` of RLlib; more of it explores more."""
    value_coefficient: NonNegative = 0.5
    """Weight of the squared error of the value in the loss; ``vf_loss_coeff`` of RLlib."""
    clip_range: Rate = 0.2
    """By how much the probability ratio may leave 1 before the objective is clipped; ``clip_param`` of
    RLlib."""
    gamma: Fraction = 1.0
    """Discount of rewards from one decision to the next decision of the same player."""
    gae_lambda: Fraction = 0.95
    """Decay of generalized advantage estimation, ``lambda_`` of RLlib: 1 takes the returns themselves, 0
    trusts the next value."""
    max_gradient_norm: Rate = 0.5
    """Norm to which longer gradients are shortened; ``grad_clip`` of RLlib."""
    kl_coefficient: NonNegative = 0.0
    """Weight, in the loss, of the KL divergence from the policy that played, at the beginning; RLlib then
    adapts it, so that the divergence comes near 0.01. ``kl_coeff`` of RLlib."""
    initial_policy: str | None = None
    """Path or name of a policy of the same game to start from, whose network has the same size; null starts
    from random weights."""
    players: Annotated[int, Field(ge=1, le=4), WHOLE] = 2
    """Number of players in a game of NMBR 9."""
    points: NonNegative = 0.0
    """Reward for each point in NMBR 9, at the moment when it is scored."""

    @model_validator(mode="after")
    def _check_batches(self) -> RllibPpo:
        if self.minibatch_size > self.batch_size:
            raise ValueError(f"minibatch_size is {self.minibatch_size}, and batch_size {self.batch_size}")
        return self


class RllibPpoConfig(ClusterRun, RewardedRun):
    """A run of PPO of RLlib, whose own workers play the games."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK, NMBR9)
    TRAINER: ClassVar[str] = "patchwork_env.integrations.rllib.trainer:RllibTrainer"
    EXTRA: ClassVar[str] = "ray"

    algorithm: Literal["rllib_ppo"] = "rllib_ppo"
    """The algorithm that learns."""
    device: Literal["cpu"] = "cpu"
    """The device on which PyTorch learns; this algorithm uses no GPU."""
    rllib_ppo: RllibPpo = RllibPpo()
    network: Network = Network()
    league: League = League()

    @property
    def has_rewards(self) -> bool:
        """Whether any reward is above 0."""
        return super().has_rewards or self.rllib_ppo.points > 0

    @property
    def effective_league(self) -> League:
        """The league that is played: none where a player is alone."""
        return League(fraction=0.0) if self.rllib_ppo.players == 1 else self.league

    def least_memory(self) -> MemoryEstimate:
        """See :meth:`RunConfig.least_memory`."""
        snapshots = self.effective_league.num_snapshots(self.total_steps // self.rllib_ppo.batch_size)
        weights = self.network.num_weights
        return {
            ("rllib_ppo.batch_size",): self.rllib_ppo.batch_size * BYTES_OF_OBSERVATION,
            ("rllib_ppo.num_envs",): self.rllib_ppo.num_envs * (BYTES_OF_OBSERVATION + BYTES_OF_MASK),
            NETWORK_KEYS: weights * BYTES_OF_LEARNING,
            ("league.size", *NETWORK_KEYS): snapshots * weights * BYTES_OF_WEIGHT,
        }

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
