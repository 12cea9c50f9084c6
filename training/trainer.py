"""One training run in memory: collect, learn, and now and then keep a past self."""

from __future__ import annotations

import time

import numpy as np
import torch

from patchwork_env.agents.network import NetworkConfig, PatchworkNetwork
from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv
from training.config import RunConfig
from training.crew import Crew
from training.league import Pool
from training.ppo import PpoLearner
from training.rollout import SelfPlay


class Trainer:
    """Trains a policy by self-play.

    All randomness comes from ``config.seed``: on a CPU two trainers with one configuration and one number of
    threads are equal to the bit.

    Attributes:
        network: The policy that learns.
        steps: Turns played so far, over all games.
        iteration: Rollouts learned from so far.
        seconds: Time spent on them.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
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
        self.pool = Pool(config.league.size)
        self.random = np.random.default_rng(config.seed)
        self.steps = 0
        self.iteration = 0
        self.seconds = 0.0

    @property
    def is_done(self) -> bool:
        """Whether the run has its steps."""
        return self.steps >= self.config.total_steps

    def iterate(self) -> dict[str, float]:
        """One rollout and the learning from it; returns metrics by name."""
        config, began = self.config, time.perf_counter()
        past_self = self.pool.draw(self.random)
        rollout = self.self_play.collect(self.network, past_self, config.ppo.rollout_turns, self.random)
        collected = time.perf_counter()
        losses = self.learner.update(rollout, self.steps / config.total_steps, self.random)
        learned = time.perf_counter()
        self.steps += config.steps_per_iteration
        self.iteration += 1
        self.seconds += learned - began
        if self.iteration % config.league.snapshot_every == 0:
            self.pool.add(self.network)
        times = {
            "steps_per_second": config.steps_per_iteration / (learned - began),
            "share_of_time_collecting": (collected - began) / (learned - began),
        }
        return (
            {f"games/{name}": value for name, value in rollout.statistics.items()}
            | {f"losses/{name}": value for name, value in losses.items()}
            | {f"time/{name}": value for name, value in times.items()}
        )
