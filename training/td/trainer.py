"""A run of temporal-difference learning: greedy self-play, then learning from the last games."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.value.agent import ValueAgent
from patchwork_env.agents.value.choice import Payoffs
from patchwork_env.agents.value.files import write_value
from patchwork_env.agents.value.network import OUTPUTS, Weights, arrays_of, new_weights
from patchwork_env.patchwork.state import empty_states
from training.config import RunConfig
from training.crew import Crew
from training.td.games import Positions, joined
from training.td.learner import TdLearner
from training.td.self_play import SelfPlay
from training.tensors import (
    arrays_of_tensors,
    names_of_parameters,
    prefixed,
    restore_optimizer,
    tensors_of_arrays,
    tensors_of_optimizer,
    with_prefix,
)
from training.trainer import Trainer, TrainerState

_EMPTY = Positions(empty_states(0), np.empty((0, OUTPUTS), np.float32))


class TdTrainer(Trainer):
    """Trains a compiled value by self-play."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        crew = Crew(config.threads)
        self.self_play = SelfPlay(config.td, config.reward, config.special_patches, crew)
        self.learner = TdLearner(new_weights(config.seed), config.td, crew)
        self.window: deque[Positions] = deque(maxlen=config.td.window)
        self.random = np.random.default_rng(config.seed)

    @property
    def weights(self) -> Weights:
        """What plays: the average of the weights that learn."""
        return self.learner.average

    @property
    def steps_per_iteration(self) -> int:
        """Turns of the games of the last iteration."""
        return self._turns

    @property
    def _updates(self) -> int:
        """Of an iteration; games with searches take longer and teach more."""
        td = self.config.td
        return td.search.updates if self.self_play.is_searching(self.progress) else td.updates

    def _iterate(self) -> dict[str, float]:
        """Some games, and the learning from the window."""
        began = time.perf_counter()
        positions, statistics = self.self_play.play(self.weights, self.progress, self.random)
        self._turns = int(statistics.pop("turns"))
        self.window.append(positions)
        played = time.perf_counter()
        losses = self.learner.update(joined(self.window), self._updates, self.progress, self.random)
        learned = time.perf_counter()
        return (
            {f"games/{name}": value for name, value in statistics.items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {
                "time/share_of_time_collecting": (played - began) / (learned - began),
                "time/games_per_second": self.config.td.games / (learned - began),
            }
        )

    def agent(self) -> Agent:
        """Plays the best action by the present value, without looking further."""
        reward = self.config.reward
        payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale)
        return ValueAgent(self.weights, payoffs, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_value(folder, self.weights, self.policy_info())

    def state(self) -> TrainerState:
        """See :meth:`Trainer.state`."""
        module, optimizer = self.learner.module, self.learner.optimizer
        tensors = prefixed("network", module.state_dict()) | prefixed(
            "optimizer", tensors_of_optimizer(optimizer, names_of_parameters(module))
        )
        tensors |= prefixed("average", tensors_of_arrays(arrays_of(self.weights)))
        for number, positions in enumerate(self.window):
            tensors |= prefixed(f"positions.{number}", tensors_of_arrays(positions._asdict()))
        values = {"random": self.random.bit_generator.state, "positions": len(self.window)}
        values["updates"] = self.learner.updates
        return TrainerState(values, tensors)

    def restore(self, state: TrainerState) -> None:
        """See :meth:`Trainer.restore`."""
        values, tensors = state
        module = self.learner.module
        module.load_state_dict(with_prefix("network", tensors))
        optimizer = with_prefix("optimizer", tensors)
        restore_optimizer(self.learner.optimizer, names_of_parameters(module), optimizer)
        average = arrays_of(self.weights)
        for name, array in arrays_of_tensors(with_prefix("average", tensors), average).items():
            average[name][:] = array
        self.learner.updates = values["updates"]
        self.window.clear()
        for number in range(values["positions"]):
            arrays = arrays_of_tensors(with_prefix(f"positions.{number}", tensors), _EMPTY._asdict())
            self.window.append(Positions(**arrays))
        self.random.bit_generator.state = values["random"]
