"""Configuration of proximal policy optimization."""

from __future__ import annotations

from typing import ClassVar, Literal

from patchwork_env.games import PATCHWORK
from patchwork_env.learning.algorithms.common.ppo_config import PpoLearning
from patchwork_env.learning.config.run_config import RewardedRun
from patchwork_env.learning.config.sections import League, Network, Schedule


class Ppo(PpoLearning):
    """Proximal policy optimization (Schulman et al. 2017)."""

    kl_coefficient: Schedule = Schedule(start=0.0, end=0.0)
    """Weight, in the loss, of the KL divergence from the policy that played."""


class PpoConfig(RewardedRun):
    """A run of PPO with the project's own network."""

    GAMES: ClassVar[tuple[str, ...]] = (PATCHWORK,)
    TRAINER: ClassVar[str] = "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer"

    algorithm: Literal["ppo"] = "ppo"
    """The algorithm that learns."""
    ppo: Ppo = Ppo()
    network: Network = Network()
    league: League = League()


CONFIG = PpoConfig
