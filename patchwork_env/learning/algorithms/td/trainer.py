"""A run of temporal-difference learning of Patchwork: self-play, then learning from the last games."""

from __future__ import annotations

from patchwork_env.agents import Agent
from patchwork_env.agents.patchwork.champion import ValueAgent
from patchwork_env.agents.patchwork.expansion import Payoffs
from patchwork_env.agents.patchwork.value import new_weights
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_trainer import ValueTrainer
from patchwork_env.learning.algorithms.td.config import TdConfig
from patchwork_env.learning.algorithms.td.games import NO_POSITIONS, Positions
from patchwork_env.learning.algorithms.td.self_play import SelfPlay
from patchwork_env.learning.algorithms.td.value import PatchworkValueModule


class TdTrainer(ValueTrainer[Positions]):
    """Trains a compiled value of Patchwork by self-play."""

    config: TdConfig
    no_positions = NO_POSITIONS

    @classmethod
    def new_self_play(cls, config: TdConfig, threads: ThreadPool) -> SelfPlay:
        """See :class:`ValueTrainer`."""
        return SelfPlay(config.td, config.reward, config.special_patches, threads)

    @classmethod
    def new_module(cls, config: TdConfig) -> PatchworkValueModule:
        """See :class:`ValueTrainer`."""
        return PatchworkValueModule(new_weights(config.seed), config.td.score_coefficient)

    def agent(self) -> Agent:
        """Plays the best action by the present value, without further search."""
        reward = self.config.reward
        payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale)
        return ValueAgent(self.weights, payoffs, f"step {self.steps}")
