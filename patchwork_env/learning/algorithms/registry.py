"""Which algorithm trains agents for which game, and the trainer of each. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from patchwork_env._games import GAMES, NMBR9, PATCHWORK

_RLLIB_PPO = "training.rllib.trainer:RllibTrainer"

TRAINERS: Mapping[str, Mapping[str, str]] = {
    PATCHWORK: {
        "ppo": "training.ppo.trainer:PpoTrainer",
        "maskable_ppo": "training.maskable_ppo.trainer:MaskablePpoTrainer",
        "alphazero": "training.alphazero.trainer:AlphaZeroTrainer",
        "td": "training.td.trainer:TdTrainer",
        "rllib_ppo": _RLLIB_PPO,
    },
    NMBR9: {"solo_td": "training.solo_td.trainer:SoloTdTrainer", "rllib_ppo": _RLLIB_PPO},
}
"""By game and algorithm: the class, a :class:`~training.trainer.Trainer`, by its module and name."""

ALGORITHMS = tuple(dict.fromkeys(algorithm for game in GAMES for algorithm in TRAINERS[game]))
"""All of them; each has a section of its name in the configuration."""


def trainer_class(game: str, algorithm: str) -> Any:
    """The class of trainers for a game and an algorithm that :data:`TRAINERS` lists."""
    module, _, name = TRAINERS[game][algorithm].partition(":")
    return getattr(import_module(module), name)
