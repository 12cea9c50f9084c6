"""Row, a third game, which consists of its rules alone: all else comes from the library, as for any game.

Twelve cells lie in a row, and chance blocks two of them. Two players take turns; each covers one free cell or
two free neighbors. When no cell is free, whoever has covered more cells wins; equal numbers are a draw.
"""

from tests.toy.game import Game

__all__ = ["Game"]
