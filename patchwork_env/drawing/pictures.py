"""The pictures of one kind of game: as text, as an SVG document and as pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.drawing.pixel_drawing import Frame, to_array
from patchwork_env.drawing.scene import Scene
from patchwork_env.drawing.svg_drawing import to_svg

MIN_WIDTH, MAX_WIDTH = 100, 8000
DEFAULT_WIDTH = 960

G = TypeVar("G", bound=BaseGame)


def player_names(game: BaseGame[Any]) -> tuple[str, ...]:
    """What pictures call the players of a game unless they are given names."""
    return tuple(f"player {player}" for player in range(game.num_players))


@dataclass(frozen=True)
class Pictures(Generic[G]):
    """How games of one kind are drawn; SVG and pixels show one and the same scene.

    Attributes:
        title: The title of documents.
        text: The function that draws a game, which is only read, as plain text.
        scene: The function that draws a game, which is only read, with the given names of its players.
    """

    title: str
    text: Callable[[G], str]
    scene: Callable[[G, tuple[str, ...]], Scene]

    def svg(self, game: G, names: tuple[str, ...] | None = None) -> str:
        """The picture as a self-contained SVG document.

        Args:
            game: The game; it is only read.
            names: The names of the players in the picture; None for :func:`player_names`.
        """
        return to_svg(self.scene(game, names or player_names(game)), self.title)

    def rgb_array(self, game: G, width: int = DEFAULT_WIDTH, names: tuple[str, ...] | None = None) -> Frame:
        """The same picture as :meth:`svg` as pixels, uint8 ``(height, width, 3)``, drawn without a display.

        The height follows from the width. ``names`` are those of the players; None for :func:`player_names`.

        Raises:
            MissingExtraError: Pillow is not installed.
            ValueError: The width is not a whole number from 100 to 8000.
        """
        checked = check_between(width, MIN_WIDTH, MAX_WIDTH, "width")
        return to_array(self.scene(game, names or player_names(game)), checked)
