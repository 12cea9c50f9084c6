"""A window on the screen that shows frames."""

from __future__ import annotations

import os
from typing import Any

from patchwork_env.drawing.pixel_drawing import Frame, missing


def _pygame() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise missing("pygame-ce", error) from error
    return pygame


class Window:
    """A window for frames, which opens with the first one.

    Once its user or :meth:`close` has closed it, it stays closed and ignores further frames, so that a
    program that goes on playing does not fail.

    Args:
        title: The title of the window.
        frames_per_second: The highest rate of frames, for which :meth:`show` waits; 0 to never wait.

    Raises:
        MissingExtraError: pygame-ce is not installed.
    """

    def __init__(self, title: str, frames_per_second: float = 0) -> None:
        self._pygame = _pygame()
        self._title = title
        self._frames_per_second = frames_per_second
        self._clock = self._pygame.time.Clock()
        self._screen: Any = None
        self._closed = False

    def show(self, frame: Frame) -> None:
        """Shows a frame, uint8 ``(height, width, 3)``; closes the window if its user has asked for that."""
        if self._closed:
            return
        self._open((frame.shape[1], frame.shape[0]))
        self._pygame.surfarray.blit_array(self._screen, frame.swapaxes(0, 1))
        self._pygame.display.flip()
        self._clock.tick(self._frames_per_second)
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self.close()

    def close(self) -> None:
        """Closes the window for good. Closing it again does nothing."""
        if self._screen is not None:
            self._pygame.display.quit()
        self._screen, self._closed = None, True

    def _open(self, size: tuple[int, int]) -> None:
        if self._screen is None:
            self._pygame.display.init()
            self._pygame.display.set_caption(self._title)
        if self._screen is None or self._screen.get_size() != size:
            self._screen = self._pygame.display.set_mode(size)
