"""Progress reports on stderr: a line about compilation, a :class:`StatusLine` or a :class:`Bar`."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import perf_counter

QUIET = "PATCHWORK_ENV_QUIET"
"""The environment variable that suppresses the line about compilation, unless it is empty or 0."""

_SECONDS_BEFORE_NOTICE = 3.0
_PAUSE = 30.0  # seconds between two lines if stderr is not a terminal
_FRAME = 0.1  # seconds between two states of a line on a terminal

Listener = Callable[[str], None]
_LOCK = threading.Lock()
_LISTENERS: list[Listener] = []


# --- compilation ------------------------------------------------------------------------------------------


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Within the block, call a listener with a message whenever the compilation of a kernel begins.

    The listener runs in the thread that compiles and must call no kernel. It replaces the line on stderr.
    """
    with _LOCK:
        _LISTENERS.append(listener)
    try:
        yield
    finally:
        with _LOCK:
            _LISTENERS.remove(listener)


class Compilation:
    """Reports compilations to all listeners, or once on stderr after 3 seconds of compilation.

    Compilations are nested: kernels are compiled during that of their caller. Numba lets only one thread
    compile at a time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._seconds = self._began = 0.0
        self._has_noticed = False

    def begin(self, kernel: str) -> None:
        """Report that the compilation of a kernel begins; ``kernel`` is its full name."""
        now = perf_counter()
        if self._depth == 0:
            self._began = now
        message = f"compiling {kernel.removeprefix('patchwork_env.')}, which is kept for later starts"
        with _LOCK:
            listeners = tuple(_LISTENERS)
        for listener in listeners:
            listener(message)
        seconds = self._seconds + now - self._began
        is_quiet = self._has_noticed or os.environ.get(QUIET, "") not in ("", "0")
        if seconds > _SECONDS_BEFORE_NOTICE and not (listeners or is_quiet):
            self._has_noticed = True
            _write(
                f"patchwork_env is {message}; others may follow "
                f"(`patchwork-env compile` compiles all beforehand, {QUIET}=1 hides this line)\n"
            )
        self._depth += 1  # last, since `end` is not called after an interrupt in this method

    def end(self) -> None:
        """Report that the compilation that began last has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += perf_counter() - self._began


# --- lines ------------------------------------------------------------------------------------------------


class StatusLine:
    """A line on stderr that changes in place on a terminal.

    In files, pipes and notebooks it is a plain line, after 3 seconds and then every 30 seconds.
    """

    def __init__(self) -> None:
        self._width = 0
        self._due = perf_counter() + (0.0 if _is_terminal() else _SECONDS_BEFORE_NOTICE)

    def show(self, text: str) -> None:
        """Show a text, unless the line has changed too recently."""
        now = perf_counter()
        if now < self._due:
            return
        if _is_terminal():
            text = text[: shutil.get_terminal_size().columns - 1]
            _write(f"\r{text:<{self._width}}")
            self._width, self._due = len(text), now + _FRAME
        else:
            _write(f"{text}\n")
            self._due = now + _PAUSE

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._width:
            _write(f"\r{'':<{self._width}}\r")
            self._width = 0


class Bar:
    """A :class:`StatusLine` with the share that is done and the time that is left.

    The line is ``LABEL: 40%, 8 of 20 UNIT, …, NOTE``. ``done`` is the number of units that were done before.
    """

    def __init__(self, total: int, unit: str, *, label: str = "", done: int = 0) -> None:
        self.done, self.note = done, ""
        self._total, self._unit, self._label = total, unit, label
        self._before, self._began = done, perf_counter()
        self._line = StatusLine()

    def __enter__(self) -> Bar:
        self.update(0)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def update(self, number: int = 1) -> None:
        """Add a number of units that are done."""
        self.done += number
        self._line.show(str(self))

    def print(self, text: str) -> None:
        """Print a text to stdout, above the line."""
        self._line.clear()
        print(text, flush=True)

    def close(self) -> None:
        """Remove the line from the terminal."""
        self._line.clear()

    def __str__(self) -> str:
        seconds = perf_counter() - self._began
        rate = (self.done - self._before) / max(seconds, 1e-9)
        label = f"{self._label}: " if self._label else ""
        share = min(self.done / max(self._total, 1), 1.0)  # the last iteration may do more than the total
        text = f"{label}{share:.0%}, {self.done:,} of {self._total:,} {self._unit}"
        if rate > 0:
            left = max(self._total - self.done, 0) / rate
            text += f", {rate:,.1f} a second, {_clock(seconds)} gone, {_clock(left)} left"
        return f"{text}, {self.note}" if self.note else text


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _write(text: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError):  # a closed terminal must not end a run before it is saved
            print(text, end="", file=sys.stderr, flush=True)
