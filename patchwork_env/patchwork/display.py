"""The render modes of the environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchwork_env.patchwork.game import Game
from patchwork_env.patchwork.options import check_one_of

if TYPE_CHECKING:
    from patchwork_env.patchwork.render import Frame, Window

RENDER_MODES = ("human", "ansi", "rgb_array")
FRAMES_PER_SECOND = 4
"""Pace of the mode ``"human"``."""


class Display:
    """Shows games in one render mode; what a mode needs is imported when it is first used.

    Copies and pickles have no window of their own until they show something.

    Args:
        mode: One of :data:`RENDER_MODES`, or None.

    Raises:
        ValueError: The mode is none of these.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode: str | None = check_one_of(mode, (None, *RENDER_MODES), "render_mode")
        self._window: Window | None = None

    def show(self, game: Game, names: tuple[str, str]) -> Frame | str | None:
        """A drawing as text (``"ansi"``), as pixels (``"rgb_array"``), or None after showing it in a window.

        Raises:
            MissingExtraError: Pillow, or pygame-ce for a window, is not installed.
        """
        from patchwork_env.patchwork import render

        if self.mode == "ansi":
            return render.text(game)
        frame = render.rgb_array(game, names=names)
        if self.mode == "rgb_array":
            return frame
        if self._window is None:
            self._window = render.Window("Patchwork", FRAMES_PER_SECOND)
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Closes the window if there is one; the next :meth:`show` opens another."""
        if self._window is not None:
            self._window.close()
        self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}
