"""Patchwork: components, rules, observations and environments of the two-player game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchwork_env.errors import IllegalActionError
from patchwork_env.patchwork import render
from patchwork_env.patchwork.actions import NUM_ACTIONS, Move
from patchwork_env.patchwork.components import PATCHES, Patch
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, SHAPES, SLICES, as_dict

if TYPE_CHECKING:
    from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv

__all__ = [
    "NUM_ACTIONS",
    "OBSERVATION_SIZE",
    "PATCHES",
    "SHAPES",
    "SLICES",
    "Game",
    "IllegalActionError",
    "Move",
    "Patch",
    "SelfPlayVectorEnv",
    "as_dict",
    "render",
]

Game.pictures = render.PICTURES


def __getattr__(name: str) -> Any:
    """The batch of environments, which is imported when it is asked for."""
    if name == "SelfPlayVectorEnv":
        from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv

        return SelfPlayVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
