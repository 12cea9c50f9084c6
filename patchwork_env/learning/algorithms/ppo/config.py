"""Configuration of proximal policy optimization."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config.run_config import RewardedRun
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


class Ppo(Section):
    """Proximal policy optimization (Schulman et al. 2017)."""

    num_envs: Positive = 512
    """Games that are played side by side."""
    rollout_steps: Positive = 64
    """Turns of each game in an iteration."""
    epochs: Positive = 2
    """Passes over the turns of an iteration."""
    minibatch_size: Positive = 1024
    """Decisions in a gradient step."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    """Step size of Adam."""
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss."""
    value_coefficient: NonNegative = 0.5
    """Weight of the error of the value in the loss."""
    clip_range: Rate = 0.2
    """By how much the probability ratio may leave 1 before the gain is clipped."""
    gamma: Fraction = 1.0
    """Discount per decision of one's own."""
    gae_lambda: Fraction = 0.95
    """Decay of generalized advantage estimation."""
    max_gradient_norm: Rate = 0.5
    """Norm to which gradients are clipped."""
    target_kl: Rate | None = None
    """Learning stops when the policy has moved by 1.5 times this divergence; never by default."""
    kl_coefficient: Schedule = Schedule(start=0.0, end=0.0)
    """Weight of the divergence from the policy that played, in the loss."""


class PpoConfig(RewardedRun):
    """A run of PPO with the library's own network."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer"

    algorithm: Literal["ppo"] = "ppo"
    """The algorithm that learns."""
    ppo: Ppo = Ppo()
    network: Network = Network()
    league: League = League()


CONFIG = PpoConfig
