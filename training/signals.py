"""Requests to stop that take effect where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption(BaseException):
    """The process was asked to stop.

    Attributes:
        signal: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise :class:`Interruption`; only the first one counts."""
    with _signals_go_to(_interrupt):
        yield


@contextmanager
def signals_wait() -> Iterator[None]:
    """Signals that come within the block take effect behind it."""
    pending: list[int] = []
    with _signals_go_to(lambda number, _frame: pending.append(number)):
        yield
    if pending:
        _interrupt(pending[0])


def _interrupt(number: int, _frame: FrameType | None = None) -> None:
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)  # another one must not disturb saving
    raise Interruption(number)


@contextmanager
def _signals_go_to(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    before = {name: signal.signal(name, handler) for name in _SIGNALS}
    try:
        yield
    finally:
        for name, old in before.items():
            signal.signal(name, old)
