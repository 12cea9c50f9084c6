"""Configuration of proximal policy optimization."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.learning.algorithms.common.ppo_config import PpoLearning, PpoRun
from patchwork_env.learning.config.sections import (
    BYTES_OF_LEARNING,
    BYTES_OF_SAMPLE,
    BYTES_OF_WEIGHT,
    NETWORK_KEYS,
    Needs,
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


class PpoConfig(PpoRun):
    """A run of PPO with the project's own network."""

    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer"

    algorithm: Literal["ppo"] = "ppo"
    """The algorithm that learns."""
    ppo: Ppo = Ppo()

    def least_memory(self) -> Needs:
        """See :meth:`RunConfig.least_memory`."""
        decisions = self.ppo.num_envs * self.ppo.rollout_steps
        snapshots = self.league.num_snapshots(self.total_steps // decisions)
        weights = self.network.num_weights
        return {
            ("ppo.num_envs", "ppo.rollout_steps"): decisions * _BYTES_OF_TURN,
            ("ppo.minibatch_size",): min(self.ppo.minibatch_size, decisions) * BYTES_OF_SAMPLE,
            NETWORK_KEYS: weights * BYTES_OF_LEARNING,
            ("league.size", *NETWORK_KEYS): snapshots * weights * BYTES_OF_WEIGHT,
        }


CONFIG = PpoConfig
