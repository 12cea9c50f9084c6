"""RLlib's PPO for the games here."""

from __future__ import annotations

import math
from typing import Any

from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.integrations.rllib.config import RllibPpoConfig
from patchwork_env.integrations.rllib.env import GameMultiAgentEnv
from patchwork_env.integrations.rllib.league import (
    LEAGUE_FRACTION,
    MAIN,
    LeagueCallback,
    num_slots,
    past_self,
    policy_of,
)
from patchwork_env.integrations.rllib.module import module_spec

_ARGUMENTS = {
    "minibatch_size": "minibatch_size",
    "num_epochs": "epochs",
    "gamma": "gamma",
    "lambda_": "gae_lambda",
    "clip_param": "clip_range",
    "vf_loss_coeff": "value_coefficient",
    "vf_clip_param": "value_clip_range",
    "kl_coeff": "kl_coefficient",
    "kl_target": "kl_target",
    "grad_clip": "max_gradient_norm",
}
"""The keys of the configuration, by RLlib's argument."""


class GamePPO(PPO):
    """RLlib's PPO without a folder of its own for logs: runs have theirs."""

    def _setup_logdir(self) -> None:
        self._logdir = None


def sizes_of(config: RllibPpoConfig) -> NetworkConfig:
    """The sizes of the network of a run."""
    return NetworkConfig(**config.network.model_dump())


def turns_per_game(config: RllibPpoConfig) -> int:
    """How many turns of each game an iteration takes."""
    settings = config.rllib_ppo
    games = settings.num_envs * max(config.cluster.workers, 1)
    return math.ceil(settings.batch_size / games)


def ppo_config(config: RllibPpoConfig) -> PPOConfig:
    """RLlib's configuration of a run."""
    settings, workers = config.rllib_ppo, config.cluster.workers
    games = settings.num_envs * max(workers, 1)
    fragment = turns_per_game(config)
    policies = [MAIN, *(past_self(slot) for slot in range(num_slots(config.effective_league)))]
    spec = module_spec(config.game, sizes_of(config))
    result = (
        PPOConfig(algo_class=GamePPO)
        .environment(GameMultiAgentEnv, env_config=env_config(config), disable_env_checking=True)
        .env_runners(
            num_env_runners=workers,
            num_envs_per_env_runner=settings.num_envs,
            rollout_fragment_length=fragment,
            batch_mode="truncate_episodes",
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=fragment * games,
            use_kl_loss=settings.kl_coefficient > 0,
            lr=settings.learning_rate.start,
            entropy_coeff=settings.entropy_coefficient.start,
            **{theirs: getattr(settings, key) for theirs, key in _ARGUMENTS.items()},
        )
        .multi_agent(policies=set(policies), policy_mapping_fn=policy_of, policies_to_train=[MAIN])
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(policies, spec)))
        .callbacks(LeagueCallback)
        .debugging(seed=config.seed % 2**31, log_level="ERROR")
    )
    assert isinstance(result, PPOConfig)
    return result


def env_config(config: RllibPpoConfig) -> dict[str, Any]:
    """The settings of ``GameMultiAgentEnv`` and of the league."""
    return {
        "game": config.game,
        "special_patches": config.special_patches,
        "reward": config.reward.model_dump(),
        "points": config.rllib_ppo.points,
        "players": config.rllib_ppo.players,
        LEAGUE_FRACTION: config.effective_league.fraction,
    }
