"""The trainer of Gumbel AlphaZero: plays with a search and learns from the last rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents import Agent
from patchwork_env.agents.base import check_running
from patchwork_env.agents.networks import PolicyAgent, write_policy
from patchwork_env.agents.options import FEWEST_SIMULATIONS
from patchwork_env.agents.patchwork.policy.agent import GumbelAgent, PatchworkDynamics
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.ragged import legal_lists
from patchwork_env.learning.algorithms.alphazero.config import AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, Examples, SearchedSelfPlay
from patchwork_env.learning.algorithms.common import trainer
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.common.workers import (
    IterationWork,
    RemoteTrainer,
    Statistics,
    concatenated,
)
from patchwork_env.patchwork.figures import Ended
from patchwork_env.patchwork_v0 import SelfPlayBatch


class AlphaZeroTrainer(RemoteTrainer):
    """Trains a policy network by searched self-play."""

    config: AlphaZeroConfig
    no_examples = NO_EXAMPLES

    def __init__(self, config: AlphaZeroConfig) -> None:
        settings, threads = config.alphazero, ThreadPool(config.threads)
        super().__init__(config)
        torch.manual_seed(config.seed)
        self.network = PatchworkNetwork(config.network)
        self.network.to(self.device)
        self.self_play = _new_self_play(config, settings.num_envs, config.seed, threads)
        self.learner = AlphaZeroLearner(self.network, settings, threads)

    def play_here(self) -> tuple[Examples, Statistics]:
        examples, ended = self.self_play.play(self.network, self.config.alphazero.rollout_steps, self.random)
        return examples, self._statistics(ended)

    @staticmethod
    def play_job(work: IterationWork, job: SelfPlayJob) -> SelfPlayResult:
        """Play the turns of an iteration in each game of a job."""
        config, network = work.config, PatchworkNetwork(work.config.network)
        network.load_state_dict({name: torch.from_numpy(array) for name, array in work.weights.items()})
        self_play = _new_self_play(config, len(job.counts), 0)
        self_play.env.restore(dict(job.games))
        self_play.stats.counts[:] = job.counts
        random = np.random.default_rng(job.seed)
        played = self_play.play(network, config.alphazero.rollout_steps, random)
        return SelfPlayResult(self_play.env.save(), self_play.stats.counts, *played)

    def weights(self) -> trainer.Arrays:
        return {name: tensor.cpu().numpy().copy() for name, tensor in self.network.state_dict().items()}

    def jobs(self, seed: np.uint64, size: int) -> list[SelfPlayJob]:
        number = self.config.alphazero.num_envs
        parts = [slice(begin, begin + size) for begin in range(0, number, size)]
        seeds = np.random.SeedSequence(int(seed)).generate_state(len(parts), np.uint64)
        games, counts = self.self_play.env.save(), self.self_play.stats.counts
        games["states"] = games["states"].reshape(number, -1)  # bytes
        jobs = []
        for part, own_seed in zip(parts, seeds, strict=True):
            own = {name: array[part].reshape(-1) for name, array in games.items()}
            jobs.append(SelfPlayJob(own, counts[part].copy(), int(own_seed)))
        return jobs

    def combine(self, results: Sequence[SelfPlayResult]) -> tuple[Examples, Statistics]:
        """Continue the games of all jobs; return their examples and statistics."""
        parts = [result.games for result in results]
        self.self_play.env.restore({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})
        self.self_play.stats.counts[:] = np.concatenate([result.counts for result in results])
        ended = concatenated(result.ended for result in results)
        return concatenated(result.examples for result in results), self._statistics(ended)

    def _statistics(self, ended: Ended) -> Statistics:
        settings = self.config.alphazero
        return ended.figures() | {"turns": float(settings.num_envs * settings.rollout_steps)}

    def check_examples(self, examples: Examples) -> None:
        states, counts, policies, returns = examples
        check_running(states)
        if not np.array_equal(legal_lists(states).counts, counts):
            raise ValueError("the examples have other numbers of legal actions than their states")
        if len(policies) != counts.sum() or len(returns) != len(states):
            lengths = f"{len(policies)} probabilities and {len(returns)} returns"
            raise ValueError(f"the examples have {lengths}; they need {counts.sum()} and {len(states)}")

    def agent(self) -> Agent:
        """Return the agent that plays with the search of evaluations."""
        name, simulations = f"step {self.steps}", self.config.alphazero.evaluation_simulations
        if not self.options:
            return PolicyAgent(self.network, name)
        dynamics = PatchworkDynamics(**self.config.reward.model_dump())
        return GumbelAgent(self.network, name, simulations=simulations, dynamics=dynamics)

    @property
    def options(self) -> str:
        simulations = self.config.alphazero.evaluation_simulations
        return f":simulations={simulations}" if simulations >= FEWEST_SIMULATIONS else ""

    def write_policy(self, folder: Path) -> None:
        write_policy(folder, self.network, self.policy_info())

    def state_dict(self) -> trainer.State:
        return super().state_dict() | {
            "network": self.network.state_dict(),
            "optimizer": trainer.optimizer_state(self.learner.optimizer),
            "games": trainer.as_tensors(self.self_play.env.save()),
            "stats": torch.from_numpy(self.self_play.stats.counts),
        }

    def load_state_dict(self, state: trainer.State) -> None:
        super().load_state_dict(state)
        self.network.load_state_dict(state["network"])
        trainer.load_optimizer_state(self.learner.optimizer, state["optimizer"])
        self.self_play.env.restore(trainer.as_arrays(state["games"]))
        self.self_play.stats.counts[:] = state["stats"].numpy()


class SelfPlayJob(NamedTuple):
    """The states of some games, their counts, and the seed of their searches."""

    games: trainer.Arrays
    counts: npt.NDArray[np.int64]
    seed: int


class SelfPlayResult(NamedTuple):
    """The games of a :class:`SelfPlayJob` after an iteration, their examples, and the games that ended."""

    games: trainer.Arrays
    counts: npt.NDArray[np.int64]
    examples: Examples
    ended: Ended


def _new_self_play(
    config: AlphaZeroConfig, num_envs: int, seed: int, threads: ThreadPool | None = None
) -> SearchedSelfPlay:
    options = config.training_options
    env = SelfPlayBatch(num_envs, seed=seed, masks=False, observations=False, **options)
    return SearchedSelfPlay(env, config.alphazero, config.reward, threads)
