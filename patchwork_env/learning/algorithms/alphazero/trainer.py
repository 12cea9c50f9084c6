"""A run of Gumbel AlphaZero: searched self-play, then learning from the last rollouts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import Agent
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.policy import GumbelAgent, load_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import PolicyAgent, write_policy
from patchwork_env.learning.algorithms.alphazero.config import AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.rollout import (
    NO_EXAMPLES,
    Examples,
    SearchedSelfPlay,
    check_examples,
    check_fit,
    new_env,
)
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.common.state import (
    State,
    as_arrays,
    as_tensors,
    load_optimizer_state,
    load_window,
    optimizer_state,
    window_state,
)
from patchwork_env.learning.algorithms.common.trainer import grouped
from patchwork_env.learning.algorithms.common.workers import (
    RemoteTrainer,
    Weights,
    check_like,
    concatenated,
)
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.figures import Ended
from patchwork_env.patchwork.state import empty_states

_Arrays = dict[str, npt.NDArray[Any]]


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
        """Plays the turns of an iteration in this process."""
        examples, ended = self.self_play.play(self.network, self.config.alphazero.rollout_steps, self.random)
        return examples, ended.figures()

    # --- games for workers: a job is some of the games as they stand, which it plays on ------------------

    @classmethod
    def play_job(cls, config: AlphaZeroConfig, weights: Weights, progress: float, job: Job) -> Result:
        """See :meth:`RemoteTrainer.play_job`; plays the turns of an iteration in each game."""
        network = PatchworkNetwork(NetworkConfig(**config.network.model_dump()))
        network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        env = new_env(len(job.stats["counts"]), 0, config.special_patches)
        env.restore(job.games)
        self_play = SearchedSelfPlay(env, config.alphazero, config.reward)
        self_play.stats.restore(job.stats)
        random = np.random.default_rng(job.seed)
        examples, ended = self_play.play(network, config.alphazero.rollout_steps, random)
        return Result(env.save(), self_play.stats.save(), examples, ended)

    def weights(self) -> Weights:
        """See :meth:`RemoteTrainer.weights`."""
        return {name: tensor.cpu().numpy().copy() for name, tensor in self.network.state_dict().items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Job]:
        """All games, ``size`` of them in a job; each job has a seed of its own."""
        number = self.env.num_envs
        parts = [slice(begin, begin + size) for begin in range(0, number, size)]
        seeds = np.random.SeedSequence(int(seed)).generate_state(len(parts), np.uint64)
        games = _parts_of(self.env.save(), number, parts)
        stats = _parts_of(self.self_play.stats.save(), number, parts)
        return [Job(own, counts, int(s)) for own, counts, s in zip(games, stats, seeds, strict=True)]

    def check_result(self, result: Result) -> None:
        """See :meth:`RemoteTrainer.check_result`."""
        stats = self.self_play.stats.save()
        ended = Ended(empty_states(0), stats["counts"])
        check_like(result, Result(self.env.save(), stats, NO_EXAMPLES, ended), Game)
        numbers = [len(array) for array in (result.games["streams"], result.stats["counts"])]
        if numbers[0] != numbers[1]:
            raise ValueError(f"there are {numbers[0]} games and counts of {numbers[1]}")
        check_fit(result.examples)

    def combine(self, results: Sequence[Result]) -> tuple[Examples, dict[str, float]]:
        """Goes on with the games; returns the searched decisions, and statistics of the games that ended."""
        self.env.restore(_joined([result.games for result in results]))
        self.self_play.stats.restore(_joined([result.stats for result in results]))
        ended = concatenated(result.ended for result in results)
        return concatenated(result.examples for result in results), ended.figures()

    # --- playing and saving -------------------------------------------------------------------------------

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
            "stats": as_tensors(self.self_play.stats.save()),
            "window": window_state(self.window),
        }

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`."""
        super().load_state_dict(state)
        self.network.load_state_dict(state["network"])
        load_optimizer_state(self.learner.optimizer, state["optimizer"])
        self.env.restore(as_arrays(state["games"]))
        self.self_play.stats.restore(as_arrays(state["stats"]))
        load_window(self.window, state["window"], NO_EXAMPLES, check_examples)


# --- jobs of workers --------------------------------------------------------------------------------------


class Job(NamedTuple):
    """Some games as they stand, and the seed of their searches.

    Games and their counts are what :meth:`SelfPlayVectorEnv.save` and :meth:`GameStats.save` return.
    """

    games: _Arrays
    stats: _Arrays
    seed: int


class Result(NamedTuple):
    """Some games after the turns of an iteration, their searched decisions, and the games that ended.

    Games and stats are as in :class:`Job`.
    """

    games: _Arrays
    stats: _Arrays
    examples: Examples
    ended: Ended


def _parts_of(arrays: _Arrays, number: int, parts: Sequence[slice]) -> Iterator[_Arrays]:
    """The arrays of ``number`` games, divided into parts; each game has equally many entries in a row."""
    for part in parts:
        yield {
            name: array.reshape(number, -1)[part].reshape(-1, *array.shape[1:])
            for name, array in arrays.items()
        }


def _joined(parts: Sequence[Mapping[str, npt.NDArray[Any]]]) -> _Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
