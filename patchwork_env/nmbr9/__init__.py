"""NMBR 9: components, rules, observations and pictures of the game for 1-4 players."""

from __future__ import annotations

from patchwork_env.errors import IllegalActionError
from patchwork_env.nmbr9 import render
from patchwork_env.nmbr9.actions import NUM_ACTIONS, Move
from patchwork_env.nmbr9.components import TILES
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.observation import OBSERVATION_SIZE, SHAPES, SLICES, as_dict

__all__ = [
    "NUM_ACTIONS",
    "OBSERVATION_SIZE",
    "SHAPES",
    "SLICES",
    "TILES",
    "Game",
    "IllegalActionError",
    "Move",
    "as_dict",
    "render",
]

Game.pictures = render.PICTURES
