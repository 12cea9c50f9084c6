"""Patchwork: components, rules, observations and pictures of the two-player game."""

from __future__ import annotations

from patchwork_env.errors import IllegalActionError
from patchwork_env.patchwork import render
from patchwork_env.patchwork.actions import NUM_ACTIONS, Move
from patchwork_env.patchwork.components import PATCHES, Patch
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, SHAPES, SLICES, as_dict

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
    "as_dict",
    "render",
]

Game.pictures = render.PICTURES
