"""The pictures of one kind of game: as text, as an SVG document and as pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from patchwork_env.core.checks import check_between
from patchwork_env.drawing.pixel_drawing import Frame, to_array
from patchwork_env.drawing.scene import Scene
from patchwork_env.drawing.svg_drawing import to_svg

MIN_WIDTH, MAX_WIDTH = 100, 8000
DEFAULT_WIDTH = 960

G = TypeVar("G")


@dataclass(frozen=True)
class Pictures(Generic[G]):
    """How games of one kind are drawn; SVG and pixels show one and the same scene.

    Attributes:
        title: The title of documents.
        names: What the players are called unless somebody says otherwise.
        text: Draws a game, which is only read, as plain text.
        scene: Draws a game, which is only read, with names for its players.
    """

    title: str
    names: tuple[str, ...]
    text: Callable[[G], str]
    scene: Callable[[G, tuple[str, ...]], Scene]

    def svg(self, game: G, names: tuple[str, ...] | None = None) -> str:
        """The picture as a self-contained SVG document.

        Args:
            game: The game; it is only read.
            names: What the players are called in the picture.
        """
        return to_svg(self.scene(game, names or self.names), self.title)

    def rgb_array(self, game: G, width: int = DEFAULT_WIDTH, names: tuple[str, ...] | None = None) -> Frame:
        """The same picture as :meth:`svg` as pixels, drawn without a display.

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
        return to_array(
            self.scene(game, names or self.names), check_between(width, MIN_WIDTH, MAX_WIDTH, "width")
        )
