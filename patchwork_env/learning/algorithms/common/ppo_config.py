"""Keys of the configuration that two implementations of proximal policy optimization share."""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.config.run_config import RewardedRun
from patchwork_env.learning.config.sections import (
    Fixed,
    Fraction,
    League,
    Network,
    NonNegative,
    Positive,
    Rate,
    Reward,
    Schedule,
    Section,
    Size,
)


class PpoLearning(Section):
    """Proximal policy optimization (Schulman et al. 2017)."""

    num_envs: Fixed[Size] = 512
    """Number of games that are played side by side."""
    rollout_steps: Size = 64
    """Number of turns of each game in an iteration."""
    epochs: Positive = 2
    """Number of passes over the decisions of an iteration."""
    minibatch_size: Size = 1024
    """Number of decisions in a gradient step."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    """Step size of Adam."""
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss, ``ent_coef`` of sb3-contrib; more of it explores more."""
    value_coefficient: NonNegative = 0.5
    """Weight of the squared error of the value in the loss; ``vf_coef`` of sb3-contrib."""
    clip_range: Rate = 0.2
    """By how much the probability ratio may leave 1 before the objective is clipped."""
    gamma: Fraction = 1.0
    """Discount of rewards from one decision to the next decision of the same player."""
    gae_lambda: Fraction = 0.95
    """Decay of generalized advantage estimation: 1 takes the returns themselves, 0 trusts the next value."""
    max_gradient_norm: Rate = 0.5
    """Norm to which longer gradients are shortened; ``max_grad_norm`` of sb3-contrib."""
    points: NonNegative = 0.0
    """Reward for each point in NMBR 9, at the moment when it is scored; 0 in Patchwork."""
    target_kl: Rate | None = None
    """The learning of an iteration ends when the policy has moved by 1.5 times this KL divergence; null lets
    it always go on to the end."""


class PpoRun(RewardedRun):
    """A run that learns Patchwork by self-play, or NMBR 9 alone for points."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK, NMBR9)

    network: Network = Network()
    league: League = League()

    @property
    def is_solo(self) -> bool:
        """Whether a single player plays for points."""
        return self.game == NMBR9

    @property
    def effective_league(self) -> League:
        """The league that is played: none where a player is alone."""
        return League(fraction=0.0) if self.is_solo else self.league

    @property
    def learning(self) -> PpoLearning:
        """The section of the algorithm."""
        section: PpoLearning = getattr(self, self.algorithm)
        return section

    @model_validator(mode="after")
    def _check_points(self) -> PpoRun:
        name, points = f"{self.algorithm}.points", self.learning.points
        if self.game == PATCHWORK and points > 0:
            raise ValueError(f"{name} is {points}; points are for NMBR 9 alone")
        if self.is_solo and points == 0:
            raise ValueError(f"{name} is 0: who plays NMBR 9 alone learns from points")
        if self.is_solo and (self.reward, self.league) != (Reward(), League()):
            raise ValueError("reward and league are for games of several players; NMBR 9 is played alone")
        return self
