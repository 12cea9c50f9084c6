"""SIGINT and SIGTERM that take effect only where nothing is half done.

Python handles signals in the main thread; in any other thread, these functions do nothing.
"""

from __future__ import annotations

import _thread
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
"""Schedulers and shells often send a signal twice; within this time, the second one does not count."""
_DELICATE = {"h5py", "importlib", "llvmlite", "numba", "weakref"}
"""Packages that break, or swallow the exception, if one is raised at any moment while they work."""
_AGAIN_SECONDS = 0.02
"""Time until a signal is sent once more that came while such a package was at work."""


class Interruption(BaseException):
    """A signal, by its number, stops the process; after a second one ``at_once``, with work half done."""

    def __init__(self, number: int, at_once: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number
        self.at_once = at_once


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise :class:`Interruption`; only the first one counts.

    A signal that comes during an import or a compilation takes effect after it, even if that is the last
    thing in the block: then it goes to those who handle signals behind the block.
    """
    interrupting = _Interrupting()
    with _signals_go_to(interrupting):
        try:
            yield
        finally:
            put_off = interrupting.withdraw()
    if put_off is not None:
        signal.raise_signal(put_off)


@contextmanager
def signals_wait(notice: str = "") -> Iterator[None]:
    """A signal that comes within the block takes effect after it; a second one, a second later, at once.

    The first signal has the notice printed to the standard error.

    Raises:
        Interruption: A signal has come.
    """
    first: tuple[int, float] | None = None

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if first is None:
            first = number, time.monotonic()
            if notice:
                # The signal may have interrupted a print, within which print cannot be called again.
                text = f"\n{signal.Signals(number).name}: {notice}\n"
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
        elif time.monotonic() - first[1] > _ECHO_SECONDS:
            _interrupt(number, at_once=True)

    try:
        with _signals_go_to(handle):
            yield
    except Interruption:
        _ignore_signals()
        raise
    if first is not None:
        _interrupt(first[0])


class _Interrupting:
    """Handles a signal by raising an interruption as soon as no delicate package is at work in the block."""

    def __init__(self) -> None:
        self._around = _delicate_frames(sys._getframe())  # the block itself may be run by an import
        self._again: threading.Timer | None = None
        self._put_off: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._again is not None:
            self._again.cancel()
        if _delicate_frames(frame) == self._around:
            _interrupt(number)
        self._put_off = number
        self._again = threading.Timer(_AGAIN_SECONDS, _send_to_main_thread, (number,))
        self._again.daemon = True
        self._again.start()

    def withdraw(self) -> int | None:
        """Cancels and returns a signal that was put off."""
        if self._again is None or self._put_off is None:
            return None
        self._again.cancel()
        self._again.join()  # waits for one that is just being sent
        is_first = signal.getsignal(self._put_off) is self  # after an interruption, signals are ignored
        return self._put_off if is_first else None


def _send_to_main_thread(number: int) -> None:
    thread = threading.main_thread().ident
    if thread is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:  # Windows, where a signal wakes no thread that waits
        _thread.interrupt_main(signal.Signals(number))


def _delicate_frames(frame: FrameType | None) -> int:
    """How many of a frame and its callers are of delicate packages."""
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
