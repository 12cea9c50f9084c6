"""Configuration of MaskablePPO of sb3-contrib."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from patchwork_env.core.sections import Fixed
from patchwork_env.learning.algorithms.ppo.config import PpoLearning, PpoRun
from patchwork_env.learning.config.keys import Fraction, Positive, Several, Size, Specs


class MaskablePpo(PpoLearning):
    """MaskablePPO of sb3-contrib with the network of the game; every game has a learner and an opponent.

    In ``fixed_fraction`` of the games the opponent is one of the agents ``fixed_opponents``, in the games of
    the league it is a past self, and in the others the present self.
    """

    num_envs: Fixed[Size] = 64
    """Number of games that are played at the same time."""
    rollout_steps: Size = 64
    """Number of the learner's decisions in each game in an iteration; ``n_steps`` of sb3-contrib."""
    epochs: Positive = 4
    """Number of passes over the decisions of an iteration; ``n_epochs`` of sb3-contrib."""
    minibatch_size: Several = 512
    """Number of decisions in a gradient step, which divides that of an iteration; ``batch_size`` of
    sb3-contrib."""
    fixed_fraction: Fraction = 0.0
    """Share of the games, 0 to 1, that are played against ``fixed_opponents``."""
    fixed_opponents: Fixed[Specs] = ()
    """Specs of the agents that are the opponents in these games, one after the other."""

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


class MaskablePpoConfig(PpoRun):
    """A run of MaskablePPO of sb3-contrib."""

    TRAINER: ClassVar[str] = "patchwork_env.integrations.sb3.trainer:MaskablePpoTrainer"

    algorithm: Literal["maskable_ppo"] = "maskable_ppo"
    """The algorithm that learns."""
    maskable_ppo: MaskablePpo = MaskablePpo()

    @model_validator(mode="after")
    def _check_opponents(self) -> MaskablePpoConfig:
        opponents = list(self.maskable_ppo.fixed_opponents)
        if self.is_solo and opponents:
            raise ValueError(f"maskable_ppo.fixed_opponents are {opponents}; {self.game} is learned alone")
        fixed, past = self.maskable_ppo.fixed_fraction, self.league.fraction
        if fixed + past > 1:
            raise ValueError(
                f"maskable_ppo.fixed_fraction {fixed} and league.fraction {past} are more than all games"
            )
        return self
