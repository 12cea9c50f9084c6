"""Pictures of a game: text, SVG, arrays of pixels, files and a window.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow and a window pygame-ce, both of
the optional extra ``render``; they are imported when they are first needed. SVG and pixels are drawn
from one and the same scene.
"""

from __future__ import annotations

from patchwork_env.drawing.pixel_drawing import Frame, save_gif, save_png, to_array
from patchwork_env.drawing.svg_drawing import to_svg
from patchwork_env.drawing.window import Window
from patchwork_env.errors import MissingExtraError
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.render.table import table
from patchwork_env.patchwork.render.text_drawing import text
from patchwork_env.patchwork.render.view import PLAYER_NAMES

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


def svg(game: Game, names: tuple[str, str] = PLAYER_NAMES) -> str:
    """The table as a self-contained SVG document, 1200 by 760 units.

    Args:
        game: The game; it is only read.
        names: What the players are called in the picture.
    """
    return to_svg(table(game, names), "Patchwork")


def rgb_array(game: Game, width: int = 960, names: tuple[str, str] = PLAYER_NAMES) -> Frame:
    """The same picture as :func:`svg` as pixels, drawn without a display.

    Args:
        game: The game; it is only read.
        width: Width in pixels; the height follows, 608 at the default.
        names: What the players are called in the picture.

    Returns:
        Array of shape (height, width, 3), uint8.

    Raises:
        MissingExtraError: Pillow is not installed.
        ValueError: The width is no whole number from 100 to 8000.
    """
    if not isinstance(width, int) or not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ValueError(
            f"width must be a whole number of pixels from {MIN_WIDTH} to {MAX_WIDTH}, not {width!r}"
        )
    return to_array(table(game, names), width)
