"""What tests of RLlib run: little of everything."""

from __future__ import annotations

from patchwork_env.learning.config import Evaluation, League, Network, RllibPpo, RunConfig


def small_config(game: str, league: League | None = None, **settings) -> RunConfig:
    """A configuration with little of everything.

    Args:
        game: Its name.
        league: For more than one game in four against past selves.
        settings: Of ``rllib_ppo``.
    """
    sizes = {"num_envs_per_env_runner": 4, "train_batch_size": 64, "minibatch_size": 32, "num_epochs": 1}
    return RunConfig(
        game=game,
        algorithm="rllib_ppo",
        seed=5,
        total_steps=10_000,
        network=Network(width=16, depth=1, channels=8),
        rllib_ppo=RllibPpo(**(sizes | settings)),
        league=league or League(),
        evaluation=Evaluation(opponents=()),
    )
