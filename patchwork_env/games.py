"""Both games by name, and what their folders have in common: rooms of the same names.

A room is a module that both games have. Rooms are imported when they are asked for, so that whoever plays one
game need not load the other.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import BaseGame

PATCHWORK, NMBR9 = "patchwork", "nmbr9"
GAMES = (PATCHWORK, NMBR9)
"""What checkpoints, configurations and results call the games."""

States = npt.NDArray[np.void]
"""Array of records of either game, shape ``(n,)``; see ``state.py`` of each."""


def game_of(states: States) -> str:
    """The name of the game that records are of.

    Raises:
        ValueError: They are of neither.
    """
    for game in GAMES:
        if states.dtype == room(game, "state").STATE:
            return game
    raise ValueError(f"the records of the states, {states.dtype}, are those of no game")


@cache
def room(game: str, name: str) -> ModuleType:
    """A module in the folder of a game, such as ``"greedy"``."""
    return import_module(f"patchwork_env.{game}.{name}")


def game_class(game: str) -> type[BaseGame]:
    """The ``Game`` of a game."""
    found: type[BaseGame] = room(game, "game").Game
    return found
