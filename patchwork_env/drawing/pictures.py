"""The pictures of one kind of game: as text, as an SVG document and as pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from patchwork_env.core.checks import as_texts, check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.drawing.pixels import Frame, to_array
from patchwork_env.drawing.scene import Scene, to_svg

_MIN_WIDTH, _MAX_WIDTH, _DEFAULT_WIDTH = 100, 8000, 960

G = TypeVar("G", bound=BaseGame)


def player_names(game: BaseGame[Any]) -> tuple[str, ...]:
    """What pictures call the players of a game unless they have names."""
    return tuple(f"player {player}" for player in range(game.num_players))


@dataclass(frozen=True)
class Pictures(Generic[G]):
    """How games of one kind are drawn, as text and as a scene with the names of the players.

    Games are only read. Anything but a game of this kind, or too few names, is a ValueError.
    """

    title: str
    kind: type[G]
    draw_text: Callable[[G], str]
    scene: Callable[[G, tuple[str, ...]], Scene]

    def text(self, game: G) -> str:
        """The picture as plain text."""
        return self.draw_text(self._checked(game))

    def svg(self, game: G, names: tuple[str, ...] | None = None) -> str:
        """The picture as a self-contained SVG document, with these names or those of :func:`player_names`."""
        return to_svg(self._scene(game, names), self.title)

    def rgb_array(self, game: G, width: int = _DEFAULT_WIDTH, names: tuple[str, ...] | None = None) -> Frame:
        """The same picture as :meth:`svg` as pixels, uint8 ``(height, width, 3)``, drawn without a display.

        The width is 100 to 8000 pixels, and the height follows from it.

        Raises:
            MissingExtraError: Pillow is not installed.
        """
        checked = check_between(width, _MIN_WIDTH, _MAX_WIDTH, "width")
        return to_array(self._scene(game, names), checked)

    def _scene(self, game: G, names: tuple[str, ...] | None) -> Scene:
        players = player_names(self._checked(game))
        if names is None:
            return self.scene(game, players)
        if len(as_texts(names, "names")) < len(players):
            raise ValueError(f"names are a tuple of {len(players)} texts, not {short_repr(names)}")
        return self.scene(game, tuple(names))

    def _checked(self, game: Any) -> G:
        if not isinstance(game, self.kind):
            raise ValueError(f"these are pictures of games of {self.title}, not of {short_repr(game)}")
        return game
