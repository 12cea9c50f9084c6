"""What tests of RLlib run: little of everything."""

from __future__ import annotations

from patchwork_env.integrations.rllib.config import RllibPpo, RllibPpoConfig
from patchwork_env.learning.config import Evaluation, League, Network


def small_config(game: str, league: League | None = None, **settings) -> RllibPpoConfig:
    """A configuration with little of everything.

    Args:
        game: Its name.
        league: For more than one game in four against past selves.
        settings: Of ``rllib_ppo``.
    """
    sizes = {"num_envs": 4, "batch_size": 64, "minibatch_size": 32, "epochs": 1}
    return RllibPpoConfig(
        game=game,
        seed=5,
        total_steps=10_000,
        network=Network(width=16, depth=1, channels=8 if game == "patchwork" else 0),
        rllib_ppo=RllibPpo(**(sizes | settings)),
        league=league or League(),
        evaluation=Evaluation(opponents=()),
    )
