"""Pictures of a game: text, SVG, arrays of pixels, and files.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow, and windows need pygame-ce; both
belong to the optional extra ``render`` and are imported when they are first needed. The scene is 1200 by 760
units.
"""

from __future__ import annotations

from patchwork_env.drawing.pictures import Pictures
from patchwork_env.drawing.pixels import Frame, save_gif, save_png
from patchwork_env.errors import MissingExtraError
from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.render import text_drawing
from patchwork_env.patchwork.render.table import table

__all__ = [
    "PICTURES",
    "Frame",
    "MissingExtraError",
    "rgb_array",
    "save_gif",
    "save_png",
    "svg",
    "text",
]

PICTURES: Pictures[Game] = Pictures("Patchwork", Game, text_drawing.text, table)
text, svg, rgb_array = PICTURES.text, PICTURES.svg, PICTURES.rgb_array
