"""How far things are, for those who wait: a line or a :class:`Bar` on the standard error stream."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import perf_counter
from typing import NamedTuple

QUIET = "PATCHWORK_ENV_QUIET"
"""The environment variable that keeps the line about compiling away, unless it is empty or 0."""

_SECONDS_BEFORE_NOTICE = 3.0
_LONGEST_PAUSE = 60.0  # the most seconds between two plain lines about how far something is
_FRAME = 0.1  # the seconds between two states of a line on a terminal


class Progress(NamedTuple):
    """One kernel of many that this process compiles."""

    kernel: str  # the full name of the one whose compilation begins
    number: int  # among all that were compiled since the process began, from 1

    def __str__(self) -> str:
        return f"compiling {self.kernel.removeprefix('patchwork_env.')}, which is kept for later starts"


Listener = Callable[[Progress], None]


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Calls a listener whenever the compilation of a kernel begins, in whichever thread.

    Compilation waits for it, so it only takes a note and calls no kernel. As long as somebody listens, the
    line on the standard error stream is left to the listener.
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
        self._count = self._depth = 0
        self._seconds = self._began = 0.0
        self._has_noticed = False

    def begin(self, kernel: str) -> None:
        """Notes that the compilation of a kernel begins."""
        now = perf_counter()
        if self._depth == 0:
            self._began = now
        self._count += 1
        progress = Progress(kernel, self._count)
        with _LOCK:
            listeners = tuple(_LISTENERS)
        for listener in listeners:
            listener(progress)
        seconds = self._seconds + now - self._began
        if seconds > _SECONDS_BEFORE_NOTICE and not (listeners or self._has_noticed):
            self._has_noticed = True
            _write_notice(progress)
        self._depth += 1  # last: a compilation that is interrupted before this never ends

    def end(self) -> None:
        """Notes that the compilation that began last has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += perf_counter() - self._began


_LOCK = threading.Lock()
_LISTENERS: list[Listener] = []


def _write_notice(progress: Progress) -> None:
    if os.environ.get(QUIET, "") in ("", "0"):
        _write(
            f"patchwork_env is {progress}; others may follow "
            f"(`patchwork-env compile` compiles all beforehand, {QUIET}=1 hides this line)\n"
        )


# --- how far something is ---------------------------------------------------------------------------------


class StatusLine:
    """A line on the standard error stream that changes as things go on.

    A terminal has it in one place. Files, pipes and notebooks get plain lines: the first after 3 seconds, and
    later ones ever more rarely, up to once a minute.
    """

    def __init__(self) -> None:
        self._width = 0
        self._pause = _SECONDS_BEFORE_NOTICE
        self._due = perf_counter() + (0.0 if _is_terminal() else _SECONDS_BEFORE_NOTICE)

    def show(self, text: str) -> None:
        """Shows a text, if there was none for long enough."""
        now = perf_counter()
        if now < self._due:
            return
        if _is_terminal():
            text = text[: shutil.get_terminal_size().columns - 1]
            _write(f"\r{text:<{self._width}}")
            self._width, self._due = len(text), now + _FRAME
        else:
            _write(f"{text}\n")
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._due = now + self._pause

    def clear(self) -> None:
        """Takes the line from the terminal, so that something else can be written there."""
        if self._width:
            _write(f"\r{'':<{self._width}}\r")
            self._width = 0


class Bar:
    """How much of something is done, and how long the rest may take, on a :class:`StatusLine`.

    The line says ``LABEL: 40%, 8 of 20 UNIT, …, NOTE``; ``done`` are those of the ``total`` that were done
    before.
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
        """Counts some more as done."""
        self.done += number
        self._line.show(str(self))

    def print(self, text: str) -> None:
        """Prints a text to the standard output, above the line."""
        self._line.clear()
        print(text, flush=True)

    def close(self) -> None:
        """Takes the line from the terminal."""
        self._line.clear()

    def __str__(self) -> str:
        seconds = perf_counter() - self._began
        rate = (self.done - self._before) / max(seconds, 1e-9)
        label = f"{self._label}: " if self._label else ""
        share = min(self.done / max(self._total, 1), 1.0)  # a last iteration may do more than is asked for
        text = f"{label}{share:.0%}, {self.done:,} of {self._total:,} {self._unit}"
        if rate > 0:
            left = max(self._total - self.done, 0) / rate
            text += f", {rate:,.1f} a second, {_clock(seconds)} gone, {_clock(left)} left"
        return f"{text}, {self.note}" if self.note else text


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no such stream, or it was closed
        return False


def _write(text: str) -> None:
    with suppress(AttributeError, OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)
