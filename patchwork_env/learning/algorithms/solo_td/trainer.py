"""Temporal-difference learning of NMBR 9: games by oneself, then learning from the last of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.nmbr9.value.agent import ValueAgent
from patchwork_env.agents.nmbr9.value.files import write_value
from patchwork_env.agents.nmbr9.value.network import Weights, new_weights
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_trainer import ValueTrainer
from patchwork_env.learning.algorithms.solo_td.config import SoloTd, SoloTdConfig
from patchwork_env.learning.algorithms.solo_td.self_play import Positions, SelfPlay
from patchwork_env.learning.algorithms.solo_td.value import Nmbr9ValueModule
from patchwork_env.nmbr9.state import empty_states


class SoloTdTrainer(ValueTrainer[Positions]):
    """Trains a compiled value of NMBR 9."""

    config: SoloTdConfig

    @staticmethod
    def settings(config: SoloTdConfig) -> SoloTd:
        """See :class:`ValueTrainer`."""
        return config.solo_td

    @staticmethod
    def new_weights(seed: int) -> Weights:
        """See :class:`ValueTrainer`."""
        return new_weights(seed)

    @classmethod
    def new_self_play(cls, config: SoloTdConfig, threads: ThreadPool) -> SelfPlay:
        """See :class:`ValueTrainer`."""
        return SelfPlay(config.solo_td, threads)

    @classmethod
    def new_module(cls, config: SoloTdConfig) -> Nmbr9ValueModule:
        """See :class:`ValueTrainer`."""
        return Nmbr9ValueModule(new_weights(config.seed))

    @staticmethod
    def no_positions() -> Positions:
        """See :class:`ValueTrainer`."""
        return Positions(empty_states(0), np.empty(0, np.float32))

    def agent(self) -> Agent:
        """Plays the best placement by the present value, without looking further."""
        return ValueAgent(self.weights, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_value(folder, self.weights, self.policy_info())
