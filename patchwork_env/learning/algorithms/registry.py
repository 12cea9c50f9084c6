"""Which algorithm trains agents for which game, and the trainer of each. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from patchwork_env.games import GAMES, NMBR9, PATCHWORK

_RLLIB_PPO = "patchwork_env.learning.algorithms.rllib_ppo.trainer:RllibTrainer"

TRAINERS: Mapping[str, Mapping[str, str]] = {
    PATCHWORK: {
        "ppo": "patchwork_env.learning.algorithms.ppo.trainer:PpoTrainer",
        "maskable_ppo": "patchwork_env.learning.algorithms.maskable_ppo.trainer:MaskablePpoTrainer",
        "alphazero": "patchwork_env.learning.algorithms.alphazero.trainer:AlphaZeroTrainer",
        "td": "patchwork_env.learning.algorithms.td.trainer:TdTrainer",
        "rllib_ppo": _RLLIB_PPO,
    },
    NMBR9: {
        "solo_td": "patchwork_env.learning.algorithms.solo_td.trainer:SoloTdTrainer",
        "rllib_ppo": _RLLIB_PPO,
    },
}
"""By game and algorithm: the class, a ``Trainer``, by its module and name."""

ALGORITHMS = tuple(dict.fromkeys(algorithm for game in GAMES for algorithm in TRAINERS[game]))
"""All of them; each has a section of its name in the configuration."""


def trainer_class(game: str, algorithm: str) -> Any:
    """The class of trainers for a game and an algorithm that :data:`TRAINERS` lists."""
    module, _, name = TRAINERS[game][algorithm].partition(":")
    return getattr(import_module(module), name)
