"""Row, a third game that is nothing but its rules: what the library makes of it, it makes of any game.

Twelve cells lie in a row, and chance blocks two of them. Two players take turns; each covers one free cell or
two free neighbors. When all are covered, whoever covers more cells has won, and equal numbers are a draw.
"""

from tests.toy.game import Game

__all__ = ["Game"]
