"""A run of the project's own PPO: collect, learn, and keep a past self at intervals."""

from __future__ import annotations

import copy
import time
from pathlib import Path

import numpy as np
import torch

from patchwork_env.agents.networks import PolicyAgent, PolicyNetwork, network_class, write_policy
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common import trainer
from patchwork_env.learning.algorithms.common.gradients import ThreadPool, add_to_average
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import LEARNER, NEW_GAME, SelfPlay
from patchwork_env.learning.system import multiplies_bfloat16

LOOKAHEAD_FACTOR = 12.0
"""The initial weight, in the logit of a kind of move, of the value of the position after it."""


class PpoTrainer(trainer.Trainer):
    """Trains a policy network by self-play against the present self and past ones, or alone for points.

    ``trained`` is evaluated and stored: the network, or an average of its weights.
    """

    config: PpoConfig

    def __init__(self, config: PpoConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        self.network = network_class(config.game)(config.network)
        self.network.to(self.device)
        self.network.trunk.dtype = _trunk_dtype(config.ppo.precision, self.device)
        if config.network.lookahead:
            self.network.look_ahead(0)
        self.trained = self.network if config.ppo.averaging_power is None else copy.deepcopy(self.network)
        self.env = SelfPlayBatch(
            rules_of(config.game),
            config.ppo.num_envs,
            seed=config.seed,
            masks=False,
            observations=False,
            **config.training_options,
        )
        threads, points = ThreadPool(config.threads), config.ppo.points
        self.self_play = SelfPlay(self.env, config.reward, config.league.fraction, threads, points)
        self.learner = PpoLearner(self.network, config.ppo, threads)
        self.pool: SnapshotPool[PolicyNetwork] = SnapshotPool(config.effective_league)
        self.random = np.random.default_rng(config.seed)

    def step(self) -> dict[str, float]:
        """Play a rollout and learn from it."""
        config, began = self.config, time.perf_counter()
        self._look_ahead_when_due()
        in_play = self.self_play.past_selves_in_play
        drawn = self.pool.draw(self.random, in_play)
        past_selves = {number: self.pool.policies[number] for number in in_play.union(drawn)}
        rollout = self.self_play.collect(
            self.network, past_selves, config.ppo.rollout_steps, self.random, drawn
        )
        self.pool.record(*rollout.league)
        collected = time.perf_counter()
        losses = self.learner.update(rollout, self.progress, self.random)
        if self.trained is not self.network:
            share, power = 1 / (self.iteration + 1), config.ppo.averaging_power
            add_to_average(self.trained.parameters(), self.network.parameters(), share, power)
        if (self.iteration + 1) % config.league.snapshot_every == 0:
            self.pool.add(self.network)
        return (
            trainer.prefixed("games", rollout.statistics)
            | trainer.prefixed("league", self.pool.statistics())
            | trainer.prefixed("losses", losses)
            | self._count_iteration(config.ppo.num_envs * config.ppo.rollout_steps, began, collected)
        )

    def _look_ahead_when_due(self) -> None:
        """Turn the network's look-ahead on when it is due; its weights then are not 0."""
        ppo, network = self.config.ppo, self.network
        if network.config.lookahead and not network.looks_ahead and self.progress >= ppo.lookahead_from:
            network.look_ahead(LOOKAHEAD_FACTOR)

    def agent(self) -> PolicyAgent:
        """Return the agent that plays the most probable moves of the stored policy, in float32."""
        network = copy.deepcopy(self.trained)
        network.trunk.dtype = torch.float32
        return PolicyAgent(network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        write_policy(folder, self.trained, self.policy_info())

    def state_dict(self) -> trainer.State:
        state = super().state_dict() | {
            "network": self.network.state_dict(),
            "optimizer": trainer.optimizer_state(self.learner.optimizer),
            "games": trainer.as_tensors(self.env.save()),
            "stats": torch.from_numpy(self.self_play.stats.counts),
            "league": self.pool.state_dict(),
            "opponents": self.self_play.opponents.tolist(),
            "random": self.random.bit_generator.state,
        }
        if self.trained is not self.network:
            state["trained"] = self.trained.state_dict()
        return state

    def load_state_dict(self, state: trainer.State) -> None:
        super().load_state_dict(state)
        self.network.load_state_dict(state["network"])
        if self.trained is not self.network:
            self.trained.load_state_dict(state["trained" if "trained" in state else "network"])
        trainer.load_optimizer_state(self.learner.optimizer, state["optimizer"])
        self.env.restore(trainer.as_arrays(state["games"]))
        self.self_play.stats.counts[:] = state["stats"].numpy()
        self.pool.load_state_dict(state["league"], self.network)
        self.self_play.opponents[:] = state["opponents"]
        self.random.bit_generator.state = state["random"]
        allowed = {LEARNER, NEW_GAME, *self.pool.policies}
        if wrong := set(self.self_play.opponents.tolist()) - allowed:
            raise ValueError(f"opponents holds {min(wrong)}; allowed are {sorted(allowed)}")


def _trunk_dtype(precision: str, device: str) -> torch.dtype:
    if precision == "auto":
        precision = "bfloat16" if device == "cpu" and multiplies_bfloat16() else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32
