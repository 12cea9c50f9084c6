"""A run of our own PPO: collect, learn, and now and then keep a past self."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy import LearnedAgent, write_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.learning.algorithms.common.league import Pool
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
from patchwork_env.learning.algorithms.common.trainer import Trainer, TrainerState
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import SelfPlay
from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv


class PpoTrainer(Trainer):
    """Trains a policy network by self-play against the present self and past ones.

    Attributes:
        network: The policy that learns.
    """

    config: PpoConfig

    def __init__(self, config: PpoConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        sizes = config.network
        self.network = PatchworkNetwork(NetworkConfig(sizes.width, sizes.depth, sizes.channels))
        self.network.to(torch.device(config.device))
        self.env = SelfPlayVectorEnv(
            config.ppo.num_envs,
            seed=config.seed,
            special_patches=config.special_patches,
            masks=False,
            observations=False,
        )
        crew = Crew(config.threads)
        self.self_play = SelfPlay(self.env, config.reward, config.league.fraction, crew)
        self.learner = PpoLearner(self.network, config.ppo, crew)
        self.pool: Pool[PatchworkNetwork] = Pool(config.league)
        self.random = np.random.default_rng(config.seed)

    @property
    def steps_per_iteration(self) -> int:
        """Turns in one rollout of all games."""
        return self.config.ppo.num_envs * self.config.ppo.rollout_steps

    def _iterate(self) -> dict[str, float]:
        """One rollout and the learning from it."""
        config, began = self.config, time.perf_counter()
        past_selves = self.pool.draw(self.random)
        rollout = self.self_play.collect(self.network, past_selves, config.ppo.rollout_steps, self.random)
        self.pool.record(*rollout.league)
        collected = time.perf_counter()
        losses = self.learner.update(rollout, self.progress, self.random)
        learned = time.perf_counter()
        if (self.iteration + 1) % config.league.snapshot_every == 0:
            self.pool.add(self.network)
        return (
            {f"games/{name}": value for name, value in rollout.statistics.items()}
            | {f"league/{name}": value for name, value in self.pool.statistics().items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
        )

    def agent(self) -> LearnedAgent:
        """Plays the likeliest moves of the present policy."""
        return LearnedAgent(self.network, f"step {self.steps}")

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
        league = self.pool.state()
        values = {"random": self.random.bit_generator.state, "league": league.values}
        return TrainerState(values, tensors | prefixed("league", league.tensors))

    def restore(self, state: TrainerState) -> None:
        """See :meth:`Trainer.restore`."""
        values, tensors = state
        self.pool.restore(values["league"], with_prefix("league", tensors), self.network)
        self.network.load_state_dict(with_prefix("network", tensors))
        optimizer = with_prefix("optimizer", tensors)
        restore_optimizer(self.learner.optimizer, names_of_parameters(self.network), optimizer)
        self.env.restore(arrays_of_tensors(with_prefix("env", tensors), self.env.save()))
        tally = self.self_play.tally
        tally.restore(arrays_of_tensors(with_prefix("tally", tensors), tally.save()))
        self.random.bit_generator.state = values["random"]
