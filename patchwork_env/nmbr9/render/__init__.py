"""Pictures of a game: text, SVG, arrays of pixels, and files.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow, and windows need pygame-ce; both
belong to the optional extra ``render`` and are imported when they are first needed. All tables stand side by
side, and every level lies a little higher than the one below it.
"""

from __future__ import annotations

from patchwork_env.drawing.pictures import Pictures
from patchwork_env.drawing.pixel_drawing import Frame, save_gif, save_png
from patchwork_env.errors import MissingExtraError
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.render import text_drawing
from patchwork_env.nmbr9.render.relief import relief

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

PICTURES: Pictures[Game] = Pictures("NMBR 9", Game, text_drawing.text, relief)
text, svg, rgb_array = PICTURES.text, PICTURES.svg, PICTURES.rgb_array
