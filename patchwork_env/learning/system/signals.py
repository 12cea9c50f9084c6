"""SIGINT and SIGTERM that take effect only where nothing is half done.

Python handles signals in the main thread; in any other thread, these functions do nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ECHO_SECONDS = 1.0
"""Schedulers and shells often send a signal twice; within this time, the second one does not count."""


class Interruption(BaseException):
    """A signal, by its number, stops the process; after a second one ``at_once``, with work half done."""

    def __init__(self, number: int, at_once: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number
        self.at_once = at_once


@dataclass
class _Request:
    """A signal that has come, when it came last, and whether it has taken effect."""

    number: int
    time: float
    is_met: bool = False


_request: _Request | None = None


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise :class:`Interruption` from :func:`stop_if_asked`.

    A second signal, a second later, raises it at once. One that has not taken effect when the block ends goes
    to those who handle signals behind it.
    """
    global _request
    if not _in_main_thread():
        yield
        return
    before = {name: signal.signal(name, _note) for name in _SIGNALS}
    try:
        yield
    finally:
        for name, old in before.items():
            signal.signal(name, old)
        last, _request = _request, None
    if last is not None and not last.is_met:
        signal.raise_signal(last.number)


def stop_if_asked() -> None:
    """Raises :class:`Interruption` if a signal has come: to be called often, where nothing is half done."""
    if _request is not None and not _request.is_met and _in_main_thread():
        _request.is_met = True
        for name in _SIGNALS:
            signal.signal(name, signal.SIG_IGN)  # another one must not disturb saving
        raise Interruption(_request.number)


def _note(number: int, _frame: FrameType | None) -> None:
    global _request
    if _request is None:
        _request = _Request(number, time.monotonic())
        # The signal may have interrupted a print, within which print cannot be called again.
        text = (
            f"\n{signal.Signals(number).name}: stops when nothing is half done; once more to stop at once\n"
        )
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
    elif time.monotonic() - _request.time > _ECHO_SECONDS:
        _request = _Request(number, time.monotonic(), is_met=True)
        raise Interruption(number, at_once=True)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
