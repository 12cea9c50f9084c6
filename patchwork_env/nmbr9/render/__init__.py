"""Pictures of a game: text, SVG and arrays of pixels.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow and a window pygame-ce, both of the
optional extra ``render``; they are imported when they are first needed.
"""

from __future__ import annotations

from patchwork_env.core.checks import check_between
from patchwork_env.drawing.pixel_drawing import Frame, save_gif, save_png, to_array
from patchwork_env.drawing.svg_drawing import to_svg
from patchwork_env.drawing.window import Window
from patchwork_env.errors import MissingExtraError
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.render.relief import PLAYER_NAMES, relief
from patchwork_env.nmbr9.render.text_drawing import text

__all__ = [
    "Frame",
    "MissingExtraError",
    "Window",
    "rgb_array",
    "save_gif",
    "save_png",
    "svg",
    "text",
]

MIN_WIDTH, MAX_WIDTH = 100, 8000


def svg(game: Game, names: tuple[str, ...] = PLAYER_NAMES) -> str:
    """All tables as a self-contained SVG document; every level lies a little higher than the one below it.

    Args:
        game: The game; it is only read.
        names: What the players are called in the picture.
    """
    return to_svg(relief(game, names), "NMBR 9")


def rgb_array(game: Game, width: int = 960, names: tuple[str, ...] = PLAYER_NAMES) -> Frame:
    """The same picture as :func:`svg` as pixels, drawn without a display.

    Args:
        game: The game; it is only read.
        width: Width in pixels; the height follows.
        names: What the players are called in the picture.

    Returns:
        Array of shape (height, width, 3), uint8.

    Raises:
        MissingExtraError: Pillow is not installed.
        ValueError: The width is no whole number from 100 to 8000.
    """
    return to_array(relief(game, names), check_between(width, MIN_WIDTH, MAX_WIDTH, "width"))
