"""What is being compiled, for those who wait: numbers for whoever listens, and one line on a terminal."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

QUIET = "PATCHWORK_ENV_QUIET"
"""The environment variable that keeps the line from terminals, unless it is empty or 0."""

_LOGGER = logging.getLogger(__name__)
_PATIENCE = 1.0
"""The seconds of compiling after which a terminal is told."""


class Progress(NamedTuple):
    """One kernel of many that this process compiles.

    Attributes:
        kernel: The full name of the kernel whose compilation begins.
        number: Its number among all that were compiled since the process began, from 1.
        expected: About how many there will be once what was called can run. It grows if something else is
            called.
    """

    kernel: str
    number: int
    expected: int


Listener = Callable[[Progress], None]


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Calls a listener whenever the compilation of a kernel begins, in whichever thread.

    It is not called for kernels that are found on disk. Compilation waits for it in the meantime, so it only
    takes a note and calls no kernel. Its errors are logged and change nothing. As long as somebody listens,
    the line on the terminal is left to the listener.
    """
    with _LOCK:
        _LISTENERS.append(listener)
    try:
        yield
    finally:
        with _LOCK:
            _LISTENERS.remove(listener)


class Compilation:
    """Follows the compilation of kernels, of which Numba lets only one thread compile at a time.

    Kernels are compiled one within the other: what a kernel calls, while the kernel waits.
    """

    def __init__(self) -> None:
        self._count = self._expected = self._depth = 0
        self._seconds = self._began = 0.0
        self._is_told = False

    def begin(self, kernel: str, count_pending: Callable[[], int]) -> None:
        """Notes that the compilation of a kernel begins.

        Args:
            kernel: Its full name.
            count_pending: Counts the kernels that are compiled on its behalf, with itself.
        """
        now = perf_counter()
        if self._depth == 0:
            self._began = now
            self._expected = self._count + count_pending()
        self._count += 1
        self._expected = max(self._expected, self._count)
        progress = Progress(kernel, self._count, self._expected)
        with _LOCK:
            listeners = tuple(_LISTENERS)
        for listener in listeners:
            try:
                listener(progress)
            except Exception:
                _LOGGER.exception("a listener to the progress of compilation failed")
        if not (listeners or self._is_told) and self._seconds + now - self._began > _PATIENCE:
            self._is_told = True
            _tell_terminal()
        self._depth += 1  # last: a compilation that is interrupted before this never ends

    def end(self) -> None:
        """Notes that the compilation begun last has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += perf_counter() - self._began


_LOCK = threading.Lock()
_LISTENERS: list[Listener] = []


def _tell_terminal() -> None:
    """Writes a line to the standard error stream if a person may be reading it."""
    try:
        if sys.stderr.isatty() and os.environ.get(QUIET, "") in ("", "0"):
            text = "patchwork_env compiles its kernels, once after an installation: some seconds"
            print(f"{text} ({QUIET}=1 hides this line)", file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):  # no such stream, or a closed one
        return
