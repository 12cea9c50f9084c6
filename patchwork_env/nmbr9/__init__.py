"""NMBR 9: components, rules, observations and environments of the game for 1-4 players."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchwork_env.errors import IllegalActionError, TableEdgeError
from patchwork_env.nmbr9 import render
from patchwork_env.nmbr9.actions import NUM_ACTIONS, Move
from patchwork_env.nmbr9.components import TILES
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, SHAPES, SLICES, as_dict

if TYPE_CHECKING:
    from patchwork_env.nmbr9.vector_env import SelfPlayVectorEnv

__all__ = [
    "NUM_ACTIONS",
    "OBSERVATION_SIZE",
    "SHAPES",
    "SLICES",
    "TILES",
    "Game",
    "IllegalActionError",
    "Move",
    "SelfPlayVectorEnv",
    "TableEdgeError",
    "as_dict",
    "render",
]

Game.pictures = render.PICTURES


def __getattr__(name: str) -> Any:
    """The batch of environments, which is imported when it is asked for."""
    if name == "SelfPlayVectorEnv":
        from patchwork_env.nmbr9.vector_env import SelfPlayVectorEnv

        return SelfPlayVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
