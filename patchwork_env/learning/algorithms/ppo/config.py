"""Configurations of proximal policy optimization: the project's own, and MaskablePPO of sb3-contrib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.core.sections import Fixed, Section
from patchwork_env.games import GAMES as ALL_GAMES
from patchwork_env.games import parts_of
from patchwork_env.learning.config import keys


class PpoLearning(Section):
    """The keys that all implementations of proximal policy optimization here share."""

    num_envs: Fixed[keys.Size] = 512
    """Number of games that are played at the same time."""
    epochs: keys.Positive = 2
    """Number of passes over the decisions of an iteration."""
    minibatch_size: keys.Size = 1024
    """Number of decisions in a gradient step."""
    learning_rate: keys.Schedule = keys.Schedule(start=1e-3, end=1e-4)
    """Step size of Adam."""
    entropy_coefficient: keys.Schedule = keys.Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss, ``ent_coef`` of sb3-contrib; more of it explores more."""
    value_coefficient: keys.NonNegative = 0.5
    """Weight of the squared error of the value in the loss; ``vf_coef`` of sb3-contrib."""
    clip_range: keys.OpenFraction = 0.2
    """Largest distance of the probability ratio from 1 before it is clipped."""
    gamma: keys.Fraction = 1.0
    """Discount of rewards from one decision to the next decision of the same player."""
    gae_lambda: keys.Fraction = 0.95
    """Decay of generalized advantage estimation: 1 takes the returns themselves, 0 trusts the next value."""
    max_gradient_norm: keys.Rate = 0.5
    """Norm to which gradients are shortened; ``max_grad_norm`` of sb3-contrib."""
    points: keys.NonNegative = 0.0
    """Reward for each point in a game that is learned alone, as NMBR 9 is, when it is scored; otherwise 0."""
    rollout_steps: keys.Size = 64
    """Number of turns of each game in an iteration."""
    target_kl: keys.Rate | None = None
    """An iteration stops learning when the policy has moved by 1.5 times this KL divergence; null never
    stops it early."""


class PpoRun(keys.RewardedRun):
    """A run that learns a game with a network, by self-play or alone for points."""

    GAMES: ClassVar[Sequence[str]] = ALL_GAMES

    network: NetworkConfig = NetworkConfig()
    league: keys.League = keys.League()

    @property
    def is_solo(self) -> bool:
        """Whether a single player plays for points."""
        return parts_of(self.game).is_learned_alone

    @property
    def effective_league(self) -> keys.League:
        """The league that is played: none for a single player."""
        return keys.League(fraction=0.0) if self.is_solo else self.league

    @model_validator(mode="after")
    def _check_points(self) -> PpoRun:
        name, points = f"{self.algorithm}.points", self.learning.points
        if points > 0 and not self.is_solo:
            raise ValueError(f"{name} is {points}; points are for games that are learned alone")
        if self.is_solo and points == 0:
            raise ValueError(f"{name} is 0; {self.game} is learned alone, from points")
        if self.is_solo and (self.reward, self.league) != (keys.Reward(), keys.League()):
            raise ValueError(
                f"reward and league are for games of several players; {self.game} is learned alone"
            )
        return self


class Ppo(PpoLearning):
    """Proximal policy optimization (Schulman et al. 2017)."""

    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Arithmetic of the network's trunk in self-play and learning. Products in ``bfloat16`` take a third of
    the time on processors with instructions for them, and more time on others; ``auto`` uses it only on the
    former. Weights, evaluations and the trained policy are in float32."""
    lookahead_from: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the run after which the network looks ahead; needs ``network.lookahead``. Until then it learns
    as fast as without look-ahead, which helps only when values are good."""

    averaging_power: keys.NonNegative | None = None
    """Power of polynomial-decay averaging: the policy that is evaluated and stored is the mean of the weights
    after each iteration, which count in proportion to its number to this power. Null uses the last ones."""


class PpoConfig(PpoRun):
    """A run of PPO with the project's own network."""

    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer"

    algorithm: Literal["ppo"] = "ppo"
    """The algorithm that learns."""
    ppo: Ppo = Ppo()

    @model_validator(mode="after")
    def _check_lookahead(self) -> PpoConfig:
        start = self.ppo.lookahead_from
        if start and not self.network.lookahead:
            raise ValueError(
                f"ppo.lookahead_from is {start} and network.lookahead is false; it needs lookahead"
            )
        return self


class MaskablePpo(PpoLearning):
    """MaskablePPO of sb3-contrib with the network of the game, against the present self and past ones."""

    num_envs: Fixed[keys.Size] = 64
    """Number of games that are played at the same time."""
    rollout_steps: keys.Size = 64
    """Number of the learner's decisions in each game in an iteration; ``n_steps`` of sb3-contrib."""
    epochs: keys.Positive = 4
    """Number of passes over the decisions of an iteration; ``n_epochs`` of sb3-contrib."""
    minibatch_size: keys.Several = 512
    """Number of decisions in a gradient step, which divides that of an iteration; ``batch_size`` of
    sb3-contrib."""

    @model_validator(mode="after")
    def _check_minibatch_size(self) -> MaskablePpo:
        samples = self.num_envs * self.rollout_steps
        if samples % self.minibatch_size:
            raise ValueError(
                f"num_envs * rollout_steps is {samples}; "
                f"it must be a multiple of minibatch_size, {self.minibatch_size}"
            )
        return self


class MaskablePpoConfig(PpoRun):
    """A run of MaskablePPO of sb3-contrib."""

    TRAINER: ClassVar[str] = "patchwork_env.integrations.sb3.trainer:MaskablePpoTrainer"

    algorithm: Literal["maskable_ppo"] = "maskable_ppo"
    """The algorithm that learns."""
    maskable_ppo: MaskablePpo = MaskablePpo()
