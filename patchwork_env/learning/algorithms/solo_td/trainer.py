"""A run of temporal-difference learning of NMBR 9: games alone, then learning from the last games."""

from __future__ import annotations

from patchwork_env.agents import Agent
from patchwork_env.agents.nmbr9.champion import ValueAgent
from patchwork_env.agents.nmbr9.value import new_weights
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_trainer import ValueTrainer
from patchwork_env.learning.algorithms.solo_td.config import SoloTdConfig
from patchwork_env.learning.algorithms.solo_td.self_play import NO_POSITIONS, Positions, SelfPlay
from patchwork_env.learning.algorithms.solo_td.value import Nmbr9ValueModule


class SoloTdTrainer(ValueTrainer[Positions]):
    """Trains a compiled value of NMBR 9."""

    config: SoloTdConfig
    no_positions = NO_POSITIONS

    @classmethod
    def new_self_play(cls, config: SoloTdConfig, threads: ThreadPool) -> SelfPlay:
        """See :class:`ValueTrainer`."""
        return SelfPlay(config.solo_td, threads)

    @classmethod
    def new_module(cls, config: SoloTdConfig) -> Nmbr9ValueModule:
        """See :class:`ValueTrainer`."""
        return Nmbr9ValueModule(new_weights(config.seed))

    def agent(self) -> Agent:
        """Plays the best placement by the present value, without further search."""
        return ValueAgent(self.weights, f"step {self.steps}")
