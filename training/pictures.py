"""Pictures of whole games."""

from __future__ import annotations

import numpy as np

from patchwork_env.patchwork import Game
from patchwork_env.patchwork.render import Frame, rgb_array

_WIDTH = 960
_SMALL = 3
"""Positions before the last one, in a row below it."""


def position_after(game: Game, turns: int) -> Game:
    """The game as it was after some of the turns of its history, from none to all."""
    set_up, _, words = game.notation().partition("\n")
    return Game.from_notation(f"{set_up}\n{' '.join(words.split()[:turns])}\n")


def milestones(game: Game, count: int) -> list[Game]:
    """``count`` positions at even distances within the history, neither the first nor the last one."""
    turns = len(game.history)
    return [position_after(game, round((k + 1) * turns / (count + 1))) for k in range(count)]


def picture(game: Game, names: tuple[str, str]) -> Frame:
    """The last position, 960 by 608 pixels, above three earlier ones, 320 by 203 pixels each.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    small = [rgb_array(position, _WIDTH // _SMALL, names) for position in milestones(game, _SMALL)]
    return np.concatenate([rgb_array(game, _WIDTH, names), np.concatenate(small, axis=1)])
