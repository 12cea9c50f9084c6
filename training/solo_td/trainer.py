"""A run of temporal-difference learning of NMBR 9: greedy play, then learning from the last games."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import numpy as np

from patchwork_env.agents import Agent
from patchwork_env.agents.nmbr9.agent import Nmbr9ValueAgent
from patchwork_env.agents.nmbr9.files import write_value
from patchwork_env.agents.nmbr9.network import Weights, arrays_of, new_weights
from patchwork_env.nmbr9.state import empty_states
from training.config import RunConfig
from training.crew import Crew
from training.solo_td.learner import SoloTdLearner
from training.solo_td.self_play import Positions, SelfPlay
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

_EMPTY = Positions(empty_states(0), np.empty(0, np.float32))


class SoloTdTrainer(Trainer):
    """Trains a compiled value of NMBR 9."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        crew = Crew(config.threads)
        self.self_play = SelfPlay(config.solo_td, crew)
        self.learner = SoloTdLearner(new_weights(config.seed), config.solo_td, crew)
        self.window: deque[Positions] = deque(maxlen=config.solo_td.window)
        self.random = np.random.default_rng(config.seed)

    @property
    def weights(self) -> Weights:
        """What plays: the average of the weights that learn."""
        return self.learner.average

    @property
    def steps_per_iteration(self) -> int:
        """Turns of the games of the last iteration."""
        return len(self.window[-1].states)

    def _iterate(self) -> dict[str, float]:
        """Some games, and the learning from the window."""
        began = time.perf_counter()
        positions, statistics = self.self_play.play(self.weights, self.progress, self.random)
        self.window.append(positions)
        played = time.perf_counter()
        joined = Positions(*(np.concatenate(arrays) for arrays in zip(*self.window, strict=True)))
        losses = self.learner.update(joined, self.progress, self.random)
        learned = time.perf_counter()
        return (
            {f"games/{name}": value for name, value in statistics.items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {
                "time/share_of_time_collecting": (played - began) / (learned - began),
                "time/games_per_second": self.config.solo_td.games / (learned - began),
            }
        )

    def agent(self) -> Agent:
        """Plays the best placement by the present value, without looking further."""
        return Nmbr9ValueAgent(self.weights, f"step {self.steps}")

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
