"""A run of RLlib's PPO: its algorithm in the project's runs, with the project's checkpoints and league."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch import nn

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.agents.networks import NetworkConfig, PolicyNetwork, network_class
from patchwork_env.agents.policy import PolicyAgent, read_network, write_policy
from patchwork_env.errors import ConfigError, NoWorkersError
from patchwork_env.integrations.masked_policy import check_learned
from patchwork_env.integrations.rllib.config import RllibPpoConfig
from patchwork_env.integrations.rllib.env import LEAGUE_FRACTION, GameMultiAgentEnv
from patchwork_env.integrations.rllib.league import (
    MAIN,
    LeagueCallback,
    allotted,
    league_results,
    num_slots,
    past_self,
    policy_of,
    set_opponents,
    set_salt,
    slots_in_play,
    statistics,
    take_finished,
)
from patchwork_env.integrations.rllib.module import module_spec
from patchwork_env.learning.algorithms.common.league import SnapshotPool
from patchwork_env.learning.algorithms.common.state import State, load_optimizer_state, optimizer_state
from patchwork_env.learning.algorithms.common.trainer import Trainer, prefixed
from patchwork_env.learning.distributed.ray_cluster import connected

_LOSSES = {
    "total_loss": "loss",
    "policy_loss": "policy_loss",
    "vf_loss": "value_loss",
    "entropy": "entropy",
    "vf_explained_var": "explained_variance",
    "gradients_default_optimizer_global_norm": "gradient_norm",
}
"""The names that figures have in all algorithms here, by RLlib's name."""
_STEPS = "num_env_steps_sampled"
_PAUSE = 0.5  # seconds
_Found = TypeVar("_Found")


class RllibTrainer(Trainer):
    """Lets RLlib's PPO learn, one iteration after the other.

    Steps are the turns of all games, also those that past selves played. Unlike other trainers, one that was
    restored does not equal one that never stopped: it begins new games, and RLlib new random numbers, both
    from the seed and the iteration. The trainer connects to Ray, and :meth:`close` ends the connection.
    """

    config: RllibPpoConfig

    def __init__(self, config: RllibPpoConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        self.random = np.random.default_rng(config.seed)
        self.pool: SnapshotPool[nn.Module] = SnapshotPool(config.effective_league)
        self._slots: dict[int, int] = {}
        network = _initial_network(config)
        with ExitStack() as stack:
            stack.enter_context(connected(config.cluster.address, config.cluster.workers))
            with _without_warnings():
                self._algorithm = ppo_config(config).build_algo()
            stack.callback(self._algorithm.stop)
            self._resources = stack.pop_all()
        self.network = self._network_of(MAIN)
        self.network.load_state_dict(network.state_dict())
        self._broadcast()

    def close(self) -> None:
        """Ends the workers, and the connection to Ray if this trainer has made it."""
        self._resources.close()

    @property
    def _learner(self) -> Any:
        return self._algorithm.learner_group._learner

    def _network_of(self, policy: str) -> PolicyNetwork:
        network: PolicyNetwork = self._learner.module[policy].unwrapped().network
        return network

    def step(self) -> dict[str, float]:
        """One batch of turns and the learning from it."""
        began = time.perf_counter()
        self._deal_opponents()
        self._set_schedules()
        results = self._train()
        turns = int(results["env_runners"][_STEPS])
        losses = self._losses(results["learners"][MAIN])
        metrics = self._results_of_games()
        if (self.iteration + 1) % self.config.league.snapshot_every == 0:
            self.pool.add(self.network)
        sampling, learning = (
            results["timers"][f"{name}_timer"] for name in ("env_runner_sampling", "learner_update")
        )
        share = {"time/share_of_time_collecting": sampling / (sampling + learning)}
        return metrics | losses | share | self._count_iteration(turns, began)

    def _train(self) -> dict[str, Any]:
        """RLlib's report on an iteration in which it has learned; waits for workers with patience."""
        patience = self.config.cluster.patience
        began = time.monotonic()
        while True:
            results: dict[str, Any] = self._algorithm.train()
            if results["env_runners"].get(_STEPS, math.nan) > 0:  # nan: no worker has played
                return results
            if time.monotonic() - began > patience:
                raise NoWorkersError(f"no worker has played for {patience:g} seconds, cluster.patience")
            time.sleep(_PAUSE)  # meanwhile Ray replaces workers that have ended

    def _deal_opponents(self) -> None:
        """Gives the env runners the past selves that they play against."""
        busy = set().union(*self._everywhere(slots_in_play))
        in_play = {self._slots[slot] for slot in busy if slot in self._slots}
        drawn = self.pool.draw(self.random, in_play)
        self._slots = allotted(drawn, self._slots, busy, num_slots(self.pool.config))
        weights = {slot: self.pool.policy(number).state_dict() for slot, number in self._slots.items()}
        for slot, of_slot in weights.items():  # RLlib sends the learner's copies along with its policy
            self._network_of(past_self(slot)).load_state_dict(of_slot)
        slots = {number: slot for slot, number in self._slots.items()}
        self._everywhere(set_opponents(weights, [(slots[n], n) for n in drawn if n in slots]))

    def _set_schedules(self) -> None:
        """Sets rates and coefficients; RLlib's own schedules would begin anew in a resumed run."""
        settings, learner = self.config.rllib_ppo, self._learner
        entropy, rate = (
            Scheduler(fixed_value_or_schedule=schedule.at(self.progress), framework="torch")
            for schedule in (settings.entropy_coefficient, settings.learning_rate)
        )
        learner.entropy_coeff_schedulers_per_module[MAIN] = entropy
        learner._optimizer_lr_schedules[self._optimizer] = rate
        learner._set_optimizer_lr(self._optimizer, rate.get_current_value())

    @property
    def _optimizer(self) -> torch.optim.Optimizer:
        optimizer: torch.optim.Optimizer = self._learner.get_optimizer(MAIN)
        return optimizer

    def _losses(self, learned: dict[str, Any]) -> dict[str, float]:
        """The losses of the last minibatch; DivergenceError if one or a weight is not finite."""
        losses = {f"losses/{name}": float(learned[theirs]) for theirs, name in _LOSSES.items()}
        if self.config.rllib_ppo.kl_coefficient > 0:
            losses["losses/kl"] = float(learned["mean_kl_loss"])
        check_learned(self.network, losses)
        return losses

    def _results_of_games(self) -> dict[str, float]:
        """Figures of the games that ended; tells the league how those against past selves did."""
        game = self.config.game
        finished = [one for part in self._everywhere(take_finished) for one in part]
        wins, games = league_results(finished)
        self.pool.record(wins, games)
        metrics = prefixed("games", statistics(game, finished)) | prefixed("league", self.pool.statistics())
        if games:
            metrics["games/win_rate_against_past_self"] = sum(wins.values()) / sum(games.values())
        return metrics

    def _everywhere(self, work: Callable[[Any], _Found]) -> list[_Found]:
        """The results of a function that is called with each env runner, wherever it is."""
        here = self.config.cluster.workers == 0
        found: list[_Found] = self._algorithm.env_runner_group.foreach_env_runner(work, local_env_runner=here)
        return found

    def _broadcast(self) -> None:
        """Gives the learner's weights to the env runners."""
        self._algorithm.env_runner_group.sync_weights(
            from_worker_or_learner_group=self._algorithm.learner_group, policies=[MAIN]
        )

    # --- playing and saving -------------------------------------------------------------------------------

    def agent(self) -> Agent:
        """Plays the likeliest moves of the present policy."""
        return PolicyAgent(self.network, f"step {self.steps}")

    def write_policy(self, folder: Path) -> None:
        write_policy(folder, self.network, self.policy_info())

    def state_dict(self) -> State:
        return super().state_dict() | {
            "network": self.network.state_dict(),
            "optimizer": optimizer_state(self._optimizer),
            "league": self.pool.state_dict(),
            "random": self.random.bit_generator.state,
            "kl_coefficient": float(self._learner.curr_kl_coeffs_per_module[MAIN]),
        }

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`; new games begin, others than at the beginning of the run."""
        super().load_state_dict(state)
        self.network.load_state_dict(state["network"])
        load_optimizer_state(self._optimizer, state["optimizer"])
        self.pool.load_state_dict(state["league"], self.network)
        self.random.bit_generator.state = state["random"]
        self._learner.curr_kl_coeffs_per_module[MAIN].data.fill_(state["kl_coefficient"])
        self._everywhere(set_salt(self.config.seed, self.iteration))
        self._broadcast()


# --- beginning --------------------------------------------------------------------------------------------


class GamePPO(PPO):
    """RLlib's PPO without a folder of its own for logs, for runs have theirs."""

    def _setup_logdir(self) -> None:
        self._logdir = None


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silences RLlib's warnings about itself."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def ppo_config(config: RllibPpoConfig) -> PPOConfig:
    """RLlib's configuration of a run."""
    settings, workers = config.rllib_ppo, config.cluster.workers
    games = settings.num_envs * max(workers, 1)
    turns = math.ceil(settings.batch_size / games)
    policies = [MAIN, *(past_self(slot) for slot in range(num_slots(config.effective_league)))]
    spec = module_spec(config.game, NetworkConfig(**config.network.model_dump()))
    result = (
        PPOConfig(algo_class=GamePPO)
        .environment(GameMultiAgentEnv, env_config=env_config(config), disable_env_checking=True)
        .env_runners(
            num_env_runners=workers,
            num_envs_per_env_runner=settings.num_envs,
            rollout_fragment_length=turns,
            batch_mode="truncate_episodes",
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=turns * games,
            minibatch_size=settings.minibatch_size,
            num_epochs=settings.epochs,
            lr=settings.learning_rate.start,
            entropy_coeff=settings.entropy_coefficient.start,
            gamma=settings.gamma,
            lambda_=settings.gae_lambda,
            clip_param=settings.clip_range,
            vf_loss_coeff=settings.value_coefficient,
            grad_clip=settings.max_gradient_norm,
            use_kl_loss=settings.kl_coefficient > 0,
            kl_coeff=settings.kl_coefficient,
        )
        .multi_agent(policies=set(policies), policy_mapping_fn=policy_of, policies_to_train=[MAIN])
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(policies, spec)))
        .callbacks(LeagueCallback)
        .debugging(seed=config.seed % 2**31, log_level="ERROR")
    )
    assert isinstance(result, PPOConfig)
    return result


def env_config(config: RllibPpoConfig) -> dict[str, Any]:
    """The settings of ``GameMultiAgentEnv`` for a run."""
    return {
        "game": config.game,
        "special_patches": config.special_patches,
        "reward": config.reward.model_dump(),
        "points": config.rllib_ppo.points,
        "players": config.rllib_ppo.players,
        LEAGUE_FRACTION: config.effective_league.fraction,
    }


def _initial_network(config: RllibPpoConfig) -> PolicyNetwork:
    """The network that a run begins with: that of ``initial_policy``, or one with random weights."""
    sizes, spec = NetworkConfig(**config.network.model_dump()), config.rllib_ppo.initial_policy
    if spec is None:
        return network_class(config.game)(sizes)
    try:
        network, _ = read_network(agents.path_of(spec) or Path(spec), network_class(config.game))
    except (ValueError, OSError) as error:
        raise ConfigError(f"rllib_ppo.initial_policy is {spec!r}: {error}") from None
    if network.config != sizes:
        raise ConfigError(
            f"rllib_ppo.initial_policy is {spec!r}, a network of {network.config}; the section network asks "
            f"for {sizes}"
        )
    return network.train()
