"""The pictures of one kind of game: as text, as an SVG document and as pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.drawing.pixels import Frame, to_array
from patchwork_env.drawing.scene import Scene, to_svg

_MIN_WIDTH, _MAX_WIDTH, _DEFAULT_WIDTH = 100, 8000, 960

G = TypeVar("G", bound=BaseGame)


def player_names(game: BaseGame[Any]) -> tuple[str, ...]:
    """What pictures call the players of a game unless they are given names."""
    return tuple(f"player {player}" for player in range(game.num_players))


@dataclass(frozen=True)
class Pictures(Generic[G]):
    """How games of one kind are drawn; SVG and pixels show one and the same scene.

    Attributes:
        title: The title of documents.
        kind: The class of the games.
        draw_text: The function that draws a game, which is only read, as plain text.
        scene: The function that draws a game, which is only read, with the given names of its players.
    """

    title: str
    kind: type[G]
    draw_text: Callable[[G], str]
    scene: Callable[[G, tuple[str, ...]], Scene]

    def text(self, game: G) -> str:
        """The picture as plain text.

        Raises:
            ValueError: This is no game of this kind.
        """
        return self.draw_text(self._checked(game))

    def svg(self, game: G, names: tuple[str, ...] | None = None) -> str:
        """The picture as a self-contained SVG document.

        Args:
            game: The game; it is only read.
            names: The names of the players in the picture; None for :func:`player_names`.

        Raises:
            ValueError: This is no game of this kind, or there is not a name for each player.
        """
        return to_svg(self._scene(game, names), self.title)

    def rgb_array(self, game: G, width: int = _DEFAULT_WIDTH, names: tuple[str, ...] | None = None) -> Frame:
        """The same picture as :meth:`svg` as pixels, uint8 ``(height, width, 3)``, drawn without a display.

        The height follows from the width. ``names`` are those of the players; None for :func:`player_names`.

        Raises:
            MissingExtraError: Pillow is not installed.
            ValueError: The width is not a whole number from 100 to 8000, this is no game of this kind, or
                there is not a name for each player.
        """
        checked = check_between(width, _MIN_WIDTH, _MAX_WIDTH, "width")
        return to_array(self._scene(game, names), checked)

    def _scene(self, game: G, names: tuple[str, ...] | None) -> Scene:
        players = player_names(self._checked(game))
        if names is None:
            return self.scene(game, players)
        is_listed = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
        if not is_listed or len(names) < len(players):
            raise ValueError(f"names are a tuple of {len(players)} texts, not {short_repr(names)}")
        return self.scene(game, tuple(names))

    def _checked(self, game: Any) -> G:
        if not isinstance(game, self.kind):
            raise ValueError(f"these are pictures of games of {self.title}, not of {short_repr(game)}")
        return game
