"""Configuration of proximal policy optimization."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from patchwork_env.learning.algorithms.common.ppo_config import PpoLearning, PpoRun
from patchwork_env.learning.config.sections import (
    BYTES_OF_LEARNING,
    BYTES_OF_SAMPLE,
    BYTES_OF_WEIGHT,
    NETWORK_KEYS,
    MemoryEstimate,
    Rate,
    Schedule,
)

_BYTES_OF_TURN = 100
"""Bytes of a turn in a rollout: the record of the state, and what was chosen and expected."""


class Ppo(PpoLearning):
    """Proximal policy optimization (Schulman et al. 2017)."""

    kl_coefficient: Schedule = Schedule(start=0.0, end=0.0)
    """Weight, in the loss, of the KL divergence from the policy that played."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Arithmetic of the network's trunk while it plays itself and learns. ``bfloat16`` takes a third of the
    time on processors that have it and more on others; ``auto`` takes it on those that have it. Weights,
    evaluations and the trained policy are in float32."""
    lookahead_from: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the run after which the network looks ahead; needs ``network.lookahead``. Until then it learns
    as without, in the same time: looking ahead pays when values are good."""
    lookahead_factor: Rate = 12.0
    """What a value of 1 of the position behind a kind of move adds to the logit of the kind when the network
    begins to look ahead; from then on the factor is learned."""


class PpoConfig(PpoRun):
    """A run of PPO with the project's own network."""

    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer"

    algorithm: Literal["ppo"] = "ppo"
    """The algorithm that learns."""
    ppo: Ppo = Ppo()

    @model_validator(mode="after")
    def _check_lookahead(self) -> PpoConfig:
        for name in ("lookahead_from", "lookahead_factor"):
            given = getattr(self.ppo, name)
            if given != getattr(Ppo(), name) and not self.network.lookahead:
                raise ValueError(f"ppo.{name} is {given} and network.lookahead is false: it needs lookahead")
        return self

    def least_memory(self) -> MemoryEstimate:
        """See :meth:`RunConfig.least_memory`."""
        decisions = self.ppo.num_envs * self.ppo.rollout_steps
        snapshots = self.effective_league.num_snapshots(self.total_steps // decisions)
        weights = self.network.num_weights
        return {
            ("ppo.num_envs", "ppo.rollout_steps"): decisions * _BYTES_OF_TURN,
            ("ppo.minibatch_size",): min(self.ppo.minibatch_size, decisions) * BYTES_OF_SAMPLE,
            NETWORK_KEYS: weights * BYTES_OF_LEARNING,
            ("league.size", *NETWORK_KEYS): snapshots * weights * BYTES_OF_WEIGHT,
        }


CONFIG = PpoConfig
