"""Configuration of MaskablePPO of sb3-contrib."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.config.run_config import RewardedRun
from patchwork_env.learning.config.sections import (
    Fraction,
    League,
    NonNegative,
    Positive,
    Rate,
    Schedule,
    Section,
)


class MaskablePpo(Section):
    """MaskablePPO of sb3-contrib; every game has one learner and one opponent.

    In ``fixed_fraction`` of the games the opponent is one of the agents ``fixed_opponents``, in the league's
    games a past self, and else the present self.
    """

    num_envs: Positive = 64
    """Games that are played side by side."""
    rollout_steps: Positive = 64
    """Decisions of the learner in each game in an iteration; ``n_steps`` of sb3-contrib."""
    epochs: Positive = 4
    """Passes over the decisions of an iteration; ``n_epochs`` of sb3-contrib."""
    minibatch_size: Annotated[int, Field(ge=2)] = 512
    """Decisions in a gradient step, a divisor of those of an iteration; ``batch_size`` of sb3-contrib."""
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-4)
    """Step size of Adam."""
    entropy_coefficient: Schedule = Schedule(start=0.01, end=0.001)
    """Weight of the policy's entropy in the loss; ``ent_coef`` of sb3-contrib."""
    value_coefficient: NonNegative = 0.5
    """Weight of the error of the value in the loss; ``vf_coef`` of sb3-contrib."""
    clip_range: Rate = 0.2
    """By how much the probability ratio may leave 1 before the gain is clipped."""
    gamma: Fraction = 1.0
    """Discount per decision of one's own."""
    gae_lambda: Fraction = 0.95
    """Decay of generalized advantage estimation."""
    max_gradient_norm: Rate = 0.5
    """Norm to which gradients are clipped; ``max_grad_norm`` of sb3-contrib."""
    target_kl: Rate | None = None
    """Learning stops when the policy has moved by 1.5 times this divergence; never by default."""
    normalize_advantage: bool = True
    """Whether the advantages of a minibatch are brought to mean 0 and deviation 1."""
    net_arch: tuple[Positive, ...] = (256, 256)
    """Units of the hidden layers, for policy and value each."""
    activation_fn: Literal["relu", "tanh"] = "relu"
    """Activation of the hidden layers."""
    ortho_init: bool = True
    """Whether weights begin orthogonal."""
    fixed_fraction: Fraction = 0.0
    """Share of the games against ``fixed_opponents``."""
    fixed_opponents: tuple[str, ...] = ()
    """Specs of agents that play those games in turn."""

    @model_validator(mode="after")
    def _check_combinations(self) -> MaskablePpo:
        samples = self.num_envs * self.rollout_steps
        if samples % self.minibatch_size:
            raise ValueError(
                f"num_envs * rollout_steps is {samples}; "
                f"it must be a multiple of minibatch_size, {self.minibatch_size}"
            )
        if (self.fixed_fraction > 0) != bool(self.fixed_opponents):
            raise ValueError(
                f"fixed_fraction is {self.fixed_fraction} and fixed_opponents are "
                f"{list(self.fixed_opponents)}; one of them asks for the other"
            )
        return self


class MaskablePpoConfig(RewardedRun):
    """A run of MaskablePPO of sb3-contrib."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.maskable_ppo.trainer:MaskablePpoTrainer"

    algorithm: Literal["maskable_ppo"] = "maskable_ppo"
    """The algorithm that learns."""
    maskable_ppo: MaskablePpo = MaskablePpo()
    league: League = League()

    @model_validator(mode="after")
    def _check_shares(self) -> MaskablePpoConfig:
        fixed, past = self.maskable_ppo.fixed_fraction, self.league.fraction
        if fixed + past > 1:
            raise ValueError(
                f"maskable_ppo.fixed_fraction {fixed} and league.fraction {past} are more than all games"
            )
        return self


CONFIG = MaskablePpoConfig
