"""A window on the screen that shows frames."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

from patchwork_env.drawing.pixel_drawing import Frame, missing


def _pygame() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise missing("pygame-ce", error) from error
    return pygame


class Window:
    """A window for frames, uint8 ``(height, width, 3)``.

    It opens with the first frame. Once its user or :meth:`close` has closed it, it stays closed and
    ignores further frames, so that a program that goes on playing does not fail.

    Args:
        title: The title of the window.
        frames_per_second: The highest rate of frames, for which :meth:`show` waits; 0 to never wait.

    Raises:
        MissingExtraError: pygame-ce is not installed.
        ValueError: The rate is negative.
    """

    def __init__(self, title: str = "Patchwork", frames_per_second: float = 0) -> None:
        if frames_per_second < 0:
            raise ValueError(f"frames_per_second must be 0 (never wait) or more, not {frames_per_second}")
        self._pygame = _pygame()
        self._title = title
        self._frames_per_second = frames_per_second
        self._clock = self._pygame.time.Clock()
        self._screen: Any = None
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether a window is on the screen now."""
        return self._screen is not None

    def show(self, frame: Frame) -> bool:
        """Shows a frame, and closes the window if its user has asked for that; returns whether it is open.

        Raises:
            ValueError: The frame is not a uint8 array ``(height, width, 3)``.
        """
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != "uint8":
            raise ValueError(f"a frame is a uint8 array (height, width, 3), not {frame.dtype} {frame.shape}")
        if self._closed:
            return False
        self._open((frame.shape[1], frame.shape[0]))
        self._pygame.surfarray.blit_array(self._screen, frame.swapaxes(0, 1))
        self._pygame.display.flip()
        if self._frames_per_second:
            self._clock.tick(self._frames_per_second)
        return self.poll()

    def poll(self) -> bool:
        """Handles waiting events, as every window must now and then; returns whether it is still open."""
        if self._screen is not None:
            events = self._pygame.event.get()
            if any(event.type == self._pygame.QUIT for event in events):
                self.close()
        return self.is_open

    def close(self) -> None:
        """Closes the window for good. Closing it again does nothing."""
        if self._screen is not None:
            self._pygame.display.quit()
        self._screen = None
        self._closed = True

    def _open(self, size: tuple[int, int]) -> None:
        if self._screen is None:
            self._pygame.display.init()
            self._pygame.display.set_caption(self._title)
        if self._screen is None or self._screen.get_size() != size:
            self._screen = self._pygame.display.set_mode(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
