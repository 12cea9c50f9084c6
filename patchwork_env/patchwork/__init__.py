"""Patchwork: components, rules, observations and environments of the two-player game."""

from patchwork_env.errors import IllegalActionError
from patchwork_env.patchwork.actions import NUM_ACTIONS, Move
from patchwork_env.patchwork.components import PATCHES, Patch
from patchwork_env.patchwork.game import Game

__all__ = ["NUM_ACTIONS", "PATCHES", "Game", "IllegalActionError", "Move", "Patch"]
