"""A run of Gumbel AlphaZero: searched self-play, then learning from the last rollouts."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import torch

from patchwork_env.agents import Agent
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.policy import GumbelAgent, load_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import PolicyAgent, write_policy
from patchwork_env.learning.algorithms.alphazero.config import AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.examples import NO_EXAMPLES, Examples, check_examples
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.remote_games import AlphaZeroPlayer, RemoteSearchedGames
from patchwork_env.learning.algorithms.alphazero.self_play import SearchedSelfPlay, new_env
from patchwork_env.learning.algorithms.common.batches import concatenated
from patchwork_env.learning.algorithms.common.remote_trainer import RemoteTrainer
from patchwork_env.learning.algorithms.common.state import (
    State,
    as_arrays,
    as_tensors,
    load_optimizer_state,
    load_window,
    optimizer_state,
    window_state,
)
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import grouped


class AlphaZeroTrainer(RemoteTrainer):
    """Trains a policy network by searched self-play.

    Attributes:
        network: The policy and value that learn.
        window: The examples of the last rollouts, oldest first.
    """

    config: AlphaZeroConfig

    def __init__(self, config: AlphaZeroConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        settings = config.alphazero
        self.network = PatchworkNetwork(NetworkConfig(**config.network.model_dump()))
        self.network.to(torch.device(config.device))
        self.env = new_env(settings.num_envs, config.seed, config.special_patches)
        threads = ThreadPool(config.threads)
        self.self_play = SearchedSelfPlay(self.env, settings, config.reward, threads)
        self.learner = AlphaZeroLearner(self.network, settings, threads)
        self.window: deque[Examples] = deque(maxlen=settings.window)

    def step(self) -> dict[str, float]:
        """One rollout and the learning from the window; see :meth:`Trainer.step`."""
        began = time.perf_counter()
        turns = self.config.alphazero.num_envs * self.config.alphazero.rollout_steps
        examples, statistics = self._play()
        self._play_ahead(turns)
        self.window.append(examples)
        collected = time.perf_counter()
        losses = self.learner.update(concatenated(self.window), self.progress, self.random)
        learned = time.perf_counter()
        return (
            grouped("games", statistics)
            | grouped("losses", losses)
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
            | self._metrics_of_workers(turns)
            | self._count_iteration(turns, began)
        )

    def _play_here(self) -> tuple[Examples, dict[str, float]]:
        return self.self_play.collect(self.network, self.config.alphazero.rollout_steps, self.random)

    @classmethod
    def player(cls, config: AlphaZeroConfig) -> AlphaZeroPlayer:
        """See :meth:`RemoteTrainer.player`."""
        return AlphaZeroPlayer(config)

    def remote_games(self) -> RemoteSearchedGames:
        """See :meth:`RemoteTrainer.remote_games`."""
        return RemoteSearchedGames(self.network, self.env, self.self_play.tally)

    def agent(self) -> Agent:
        """Plays the present policy with the search that the configuration gives evaluations."""
        return self._agent_of(self.network, f"step {self.steps}")

    def stored_agent(self, folder: Path) -> Agent:
        """See :meth:`Trainer.stored_agent`."""
        return self._agent_of(load_policy(folder)[0], folder.name)

    def _agent_of(self, network: PatchworkNetwork, name: str) -> Agent:
        simulations = self.config.alphazero.evaluation_simulations
        if simulations == 0:
            return PolicyAgent(network, name)
        dynamics = PatchworkDynamics(**self.config.reward.model_dump())
        return GumbelAgent(network, name, simulations=simulations, dynamics=dynamics)

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_policy(folder, self.network, self.policy_info())

    def state_dict(self) -> State:
        """See :meth:`Trainer.state_dict`."""
        return super().state_dict() | {
            "network": self.network.state_dict(),
            "optimizer": optimizer_state(self.learner.optimizer),
            "games": as_tensors(self.env.save()),
            "stats": as_tensors(self.self_play.tally.save()),
            "window": window_state(self.window),
        }

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`."""
        super().load_state_dict(state)
        self.network.load_state_dict(state["network"])
        load_optimizer_state(self.learner.optimizer, state["optimizer"])
        self.env.restore(as_arrays(state["games"]))
        self.self_play.tally.restore(as_arrays(state["stats"]))
        load_window(self.window, state["window"], NO_EXAMPLES, check_examples)
