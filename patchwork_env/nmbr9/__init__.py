"""NMBR 9: components, rules, observations and environments of the game for 1-4 players."""

from patchwork_env.errors import IllegalActionError, TableEdgeError
from patchwork_env.nmbr9.actions import NUM_ACTIONS, Move
from patchwork_env.nmbr9.components import TILES
from patchwork_env.nmbr9.game import Game

__all__ = ["NUM_ACTIONS", "TILES", "Game", "IllegalActionError", "Move", "TableEdgeError"]
