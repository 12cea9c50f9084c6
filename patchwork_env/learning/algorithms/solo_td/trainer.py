"""A run of temporal-difference learning of NMBR 9: greedy play, then learning from the last games."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.nmbr9.value.agent import Nmbr9ValueAgent
from patchwork_env.agents.nmbr9.value.files import write_value
from patchwork_env.agents.nmbr9.value.network import Weights, new_weights
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.value_trainer import ValueTrainer
from patchwork_env.learning.algorithms.solo_td.config import SoloTdConfig
from patchwork_env.learning.algorithms.solo_td.learner import SoloTdLearner
from patchwork_env.learning.algorithms.solo_td.self_play import Positions, SelfPlay
from patchwork_env.nmbr9.state import empty_states

_EMPTY = Positions(empty_states(0), np.empty(0, np.float32))


class SoloTdTrainer(ValueTrainer[Positions]):
    """Trains a compiled value of NMBR 9."""

    def __init__(self, config: SoloTdConfig) -> None:
        crew = Crew(config.threads)
        self.self_play = SelfPlay(config.solo_td, crew)
        self.learner = SoloTdLearner(new_weights(config.seed), config.solo_td, crew)
        average = arrays_of(self.learner.average)
        super().__init__(config, config.solo_td, self.self_play, self.learner, average, _EMPTY)

    @property
    def weights(self) -> Weights:
        """What plays: the average of the weights that learn."""
        return self.learner.average

    def agent(self) -> Agent:
        """Plays the best placement by the present value, without looking further."""
        return Nmbr9ValueAgent(self.weights, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_value(folder, self.weights, self.policy_info())
