"""Requests to stop that take effect where nothing is half done.

The system sends signals to the main thread. In any other one, nothing of this does anything.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ECHO_SECONDS = 1.0
"""Schedulers and shells often send a signal twice; what comes within this time is no second request."""
_DELICATE = {"importlib", "llvmlite", "numba"}
"""Packages that an exception out of nowhere breaks: finalizers find what was half made, or swallow it."""
_AGAIN_SECONDS = 0.02
"""Until a signal is sent once more that came while one of them was at work."""


class Interruption(BaseException):
    """The process was asked to stop.

    Attributes:
        signal: Number of the signal.
        at_once: Whether something that was to be completed is half done, for the process was asked twice.
    """

    def __init__(self, number: int, at_once: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number
        self.at_once = at_once


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise :class:`Interruption`; only the first one counts.

    One that comes during an import or a compilation takes effect behind it.
    """
    with _signals_go_to(_Interrupting()):
        yield


@contextmanager
def signals_wait(notice: str = "") -> Iterator[Waiting]:
    """Signals that come within the block take effect behind it; a second one, some time later, at once.

    The block can look whether one waits.

    Args:
        notice: What to say on the standard error when the first one comes.
    """
    waiting = Waiting(notice)
    try:
        with _signals_go_to(waiting.note):
            yield waiting
    except Interruption:
        _ignore_signals()
        raise
    if waiting.number is not None:
        _interrupt(waiting.number)


class Waiting:
    """Requests that wait for the end of a block.

    Attributes:
        number: Of the first signal; None if there was none.
    """

    def __init__(self, notice: str) -> None:
        self.number: int | None = None
        self._notice = notice
        self._first = 0.0

    def note(self, number: int, _frame: FrameType | None = None) -> None:
        """Handles a signal."""
        if self.number is None:
            self.number, self._first = number, time.monotonic()
            if self._notice:
                # The handler may have interrupted a print, which cannot begin another one.
                text = f"\n{signal.Signals(number).name}: {self._notice}\n"
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
        elif time.monotonic() - self._first > _ECHO_SECONDS:
            _interrupt(number, at_once=True)


class _Interrupting:
    """Handles signals by an interruption, as soon as no delicate package is at work within the block."""

    def __init__(self) -> None:
        self._around = _delicate_frames(sys._getframe())  # the block itself may be run by an import
        self._again: threading.Timer | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._again is not None:
            self._again.cancel()
        if _delicate_frames(frame) == self._around:
            _interrupt(number)
        thread = threading.main_thread().ident
        self._again = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (thread, number))
        self._again.daemon = True
        self._again.start()


def _delicate_frames(frame: FrameType | None) -> int:
    """How many frames of delicate packages there are among a frame and those that called it."""
    count = 0
    while frame is not None:
        count += frame.f_globals.get("__name__", "").partition(".")[0] in _DELICATE
        frame = frame.f_back
    return count


def _interrupt(number: int, at_once: bool = False) -> NoReturn:
    _ignore_signals()
    raise Interruption(number, at_once)


def _ignore_signals() -> None:
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)  # another one must not disturb saving


@contextmanager
def _signals_go_to(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(name, handler) for name in _SIGNALS}
    try:
        yield
    finally:
        for name, old in before.items():
            signal.signal(name, old)
