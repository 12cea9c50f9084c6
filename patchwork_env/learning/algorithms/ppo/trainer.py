"""A run of the project's own PPO: collect, learn, and from time to time keep a past self."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from patchwork_env.agents.networks import NetworkConfig, PolicyNetwork, network_class
from patchwork_env.agents.policy import PolicyAgent, write_policy
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.state import (
    StatePart,
    array_value_part,
    arrays_part,
    generator_part,
    module_part,
    nested_part,
    optimizer_part,
)
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import Trainer, grouped
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import LEARNER, NEW_GAME, SelfPlay
from patchwork_env.learning.system.machine import multiplies_bfloat16


class PpoTrainer(Trainer):
    """Trains a policy network by self-play against the present self and past ones, or alone for points.

    Attributes:
        network: The policy that learns.
    """

    config: PpoConfig

    def __init__(self, config: PpoConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        self.network = network_class(config.game)(NetworkConfig(**config.network.model_dump()))
        self.network.to(torch.device(config.device))
        self.network.trunk.dtype = _trunk_dtype(config)
        if config.network.lookahead:
            self.network.look_ahead(0)
        self.env = SelfPlayBatch(
            rules_of(config.game),
            config.ppo.num_envs,
            seed=config.seed,
            masks=False,
            observations=False,
            **config.variant,
        )
        threads, points = ThreadPool(config.threads), config.ppo.points
        self.self_play = SelfPlay(self.env, config.reward, config.league.fraction, threads, points)
        self.learner = PpoLearner(self.network, config.ppo, threads)
        self.pool: SnapshotPool[PolicyNetwork] = SnapshotPool(config.effective_league)
        self.random = np.random.default_rng(config.seed)

    @property
    def steps_per_iteration(self) -> int:
        """The number of turns of all games in one rollout."""
        return self.config.ppo.num_envs * self.config.ppo.rollout_steps

    def _iterate(self) -> dict[str, float]:
        """One rollout and the learning from it."""
        config, began = self.config, time.perf_counter()
        self._look_ahead_when_due()
        in_play = self.self_play.past_selves_in_play
        drawn = self.pool.draw(self.random, in_play)
        past_selves = {number: self.pool.policy(number) for number in in_play.union(drawn)}
        rollout = self.self_play.collect(
            self.network, past_selves, config.ppo.rollout_steps, self.random, drawn
        )
        self.pool.record(*rollout.league)
        collected = time.perf_counter()
        losses = self.learner.update(rollout, self.progress, self.random)
        learned = time.perf_counter()
        if (self.iteration + 1) % config.league.snapshot_every == 0:
            self.pool.add(self.network)
        return (
            grouped("games", rollout.statistics)
            | grouped("league", self.pool.statistics())
            | grouped("losses", losses)
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
        )

    def _look_ahead_when_due(self) -> None:
        """Switches the network's look-ahead on, once; whether it is on is in its weights."""
        ppo, network = self.config.ppo, self.network
        if network.config.lookahead and not network.looks_ahead and self.progress >= ppo.lookahead_from:
            network.look_ahead(ppo.lookahead_factor)

    def agent(self) -> PolicyAgent:
        """Plays the likeliest moves of the present policy, as it is when it is loaded."""
        network = copy.deepcopy(self.network)
        network.trunk.dtype = torch.float32
        return PolicyAgent(network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        """See :meth:`Trainer.write_policy`."""
        write_policy(folder, self.network, self.policy_info())

    def _opponents(self) -> set[int]:
        """What may stand for the opponent of a game."""
        return {LEARNER, NEW_GAME} | self.pool.numbers

    def _state_parts(self) -> Sequence[StatePart]:
        tally = self.self_play.tally
        return [
            module_part("network", self.network),
            optimizer_part("optimizer", self.learner.optimizer, self.network),
            arrays_part("env", self.env.save, self.env.restore),
            arrays_part("tally", tally.save, tally.restore),
            nested_part("league", self.pool.state, lambda state: self.pool.restore(state, self.network)),
            array_value_part("league_games", self.self_play.opponents, NEW_GAME, self._opponents),
            generator_part("random", self.random),
        ]


def _trunk_dtype(config: PpoConfig) -> torch.dtype:
    """The type of the products in the trunk; see the key ``ppo.precision``."""
    precision = config.ppo.precision
    if precision == "auto":
        precision = "bfloat16" if config.device == "cpu" and multiplies_bfloat16() else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32
