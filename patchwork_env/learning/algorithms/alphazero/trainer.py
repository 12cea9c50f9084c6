"""A run of Gumbel AlphaZero: searched self-play, then learning from the last rollouts."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch

from patchwork_env.agents import Agent
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.planning import GumbelAgent
from patchwork_env.agents.patchwork.policy import LearnedAgent, write_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.learning.algorithms.alphazero.config import AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.examples import Examples, Window
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.self_play import SearchedSelfPlay, new_env
from patchwork_env.learning.algorithms.alphazero.shared_games import SharedSearchedGames
from patchwork_env.learning.algorithms.common.tensors import (
    arrays_of_tensors,
    names_of_parameters,
    prefixed,
    restore_optimizer,
    tensors_of_arrays,
    tensors_of_optimizer,
    with_prefix,
)
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.common.trainer import TrainerState
from patchwork_env.learning.distributed.sharing import SharingTrainer
from patchwork_env.patchwork.state import empty_states

_EMPTY = Examples(empty_states(0), np.empty(0, np.int64), np.empty(0, np.float16), np.empty(0, np.float32))


class AlphaZeroTrainer(SharingTrainer):
    """Trains a policy network by searched self-play.

    Attributes:
        network: Policy and value that learn.
    """

    config: AlphaZeroConfig

    def __init__(self, config: AlphaZeroConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        sizes, settings = config.network, config.alphazero
        self.network = PatchworkNetwork(NetworkConfig(sizes.width, sizes.depth, sizes.channels))
        self.network.to(torch.device(config.device))
        self.env = new_env(settings.num_envs, config.seed, config.special_patches)
        crew = Crew(config.threads)
        self.self_play = SearchedSelfPlay(self.env, settings, config.reward, crew)
        self.learner = AlphaZeroLearner(self.network, settings, crew)
        self.window = Window(settings.window)

    @property
    def steps_per_iteration(self) -> int:
        """Turns in one rollout of all games."""
        return self.config.alphazero.num_envs * self.config.alphazero.rollout_steps

    def _iterate(self) -> dict[str, float]:
        """One rollout and the learning from the window."""
        began = time.perf_counter()
        examples, statistics = self._play()
        self._play_ahead(self.steps_per_iteration)
        self.window.add(examples)
        collected = time.perf_counter()
        losses = self.learner.update(self.window.joined(), self.progress, self.random)
        learned = time.perf_counter()
        return (
            {f"games/{name}": value for name, value in statistics.items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
            | self._metrics_of_workers(self.steps_per_iteration)
        )

    def _play_here(self) -> tuple[Examples, dict[str, float]]:
        return self.self_play.collect(self.network, self.config.alphazero.rollout_steps, self.random)

    def shared_games(self) -> SharedSearchedGames:
        """See :meth:`SharingTrainer.shared_games`."""
        return SharedSearchedGames(self.network, self.env, self.self_play.tally)

    def agent(self) -> Agent:
        """Plays the present policy with the search that the configuration gives evaluations."""
        simulations, name = self.config.alphazero.evaluation_simulations, f"step {self.steps}"
        if simulations == 0:
            return LearnedAgent(self.network, name)
        dynamics = PatchworkDynamics(**self.config.reward.model_dump())
        return GumbelAgent(self.network, name, simulations=simulations, dynamics=dynamics)

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_policy(folder, self.network, self.policy_info())

    def state(self) -> TrainerState:
        """See :meth:`Trainer.state`."""
        optimizer = tensors_of_optimizer(self.learner.optimizer, names_of_parameters(self.network))
        tensors = (
            prefixed("network", self.network.state_dict())
            | prefixed("optimizer", optimizer)
            | prefixed("env", tensors_of_arrays(self.env.save()))
            | prefixed("tally", tensors_of_arrays(self.self_play.tally.save()))
        )
        for number, examples in enumerate(self.window.rollouts):
            tensors |= prefixed(f"rollout.{number}", tensors_of_arrays(examples._asdict()))
        values = {"random": self.random.bit_generator.state, "rollouts": len(self.window.rollouts)}
        return self._with_flight(TrainerState(values, tensors))

    def restore(self, state: TrainerState) -> None:
        """See :meth:`Trainer.restore`."""
        values, tensors = state
        self.network.load_state_dict(with_prefix("network", tensors))
        optimizer = with_prefix("optimizer", tensors)
        restore_optimizer(self.learner.optimizer, names_of_parameters(self.network), optimizer)
        self.env.restore(arrays_of_tensors(with_prefix("env", tensors), self.env.save()))
        tally = self.self_play.tally
        tally.restore(arrays_of_tensors(with_prefix("tally", tensors), tally.save()))
        for number in range(values["rollouts"]):
            arrays = with_prefix(f"rollout.{number}", tensors)
            self.window.add(Examples(**arrays_of_tensors(arrays, _EMPTY._asdict())))
        self.random.bit_generator.state = values["random"]
        self._restore_flight(state)
