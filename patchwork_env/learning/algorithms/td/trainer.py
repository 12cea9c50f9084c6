"""A run of temporal-difference learning: games against itself, then learning from the last of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.patchwork.value.agent import ValueAgent
from patchwork_env.agents.patchwork.value.choice import Payoffs
from patchwork_env.agents.patchwork.value.files import write_value
from patchwork_env.agents.patchwork.value.network import OUTPUTS, Weights, new_weights
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.value_trainer import ValueTrainer
from patchwork_env.learning.algorithms.td.config import TdConfig
from patchwork_env.learning.algorithms.td.games import Positions
from patchwork_env.learning.algorithms.td.learner import TdLearner
from patchwork_env.learning.algorithms.td.self_play import SelfPlay
from patchwork_env.patchwork.state import empty_states

_EMPTY = Positions(empty_states(0), np.empty((0, OUTPUTS), np.float32))


class TdTrainer(ValueTrainer[Positions]):
    """Trains a compiled value by self-play."""

    config: TdConfig

    def __init__(self, config: TdConfig) -> None:
        crew = Crew(config.threads)
        self.self_play = SelfPlay(config.td, config.reward, config.special_patches, crew)
        self.learner = TdLearner(new_weights(config.seed), config.td, crew)
        average = arrays_of(self.learner.average)
        super().__init__(config, config.td, self.self_play, self.learner, average, _EMPTY)

    @property
    def weights(self) -> Weights:
        """What plays: the average of the weights that learn."""
        return self.learner.average

    @property
    def updates(self) -> int:
        """Of an iteration; games with searches take longer and teach more."""
        td = self.config.td
        return td.search.gradient_steps if self.self_play.is_searching(self.progress) else td.gradient_steps

    def agent(self) -> Agent:
        """Plays the best action by the present value, without looking further."""
        reward = self.config.reward
        payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale)
        return ValueAgent(self.weights, payoffs, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_value(folder, self.weights, self.policy_info())
