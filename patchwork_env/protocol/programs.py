"""Programs that read and write lines, each in a process group of its own."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO, NoReturn

from patchwork_env.core.documents import one_line
from patchwork_env.core.messages import MOST_BYTES
from patchwork_env.core.names import short_repr
from patchwork_env.errors import OpponentError

PATIENCE = 1.0  # seconds until a program that must end gets SIGTERM, and as many again until SIGKILL
_LAST_LINES = 10  # the lines of the standard error stream that are kept
_MOST_OF_A_LINE = 200


class Program:
    """A running program, with threads that write its input and read its output and its errors.

    ``receive`` is called in a thread with every line that the program writes, and with None at the end. It
    must hold no reference to the owner of this object, so that the owner can be garbage-collected.
    """

    def __init__(self, words: Sequence[str], receive: Callable[[bytes | None], None]) -> None:
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise OpponentError(f"program {short_repr(words[0])} cannot be started: {error}") from None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=_LAST_LINES)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        _start(_write_lines, process.stdin, self._to_write.get)
        _start(_read_lines, process.stdout, receive)
        self._reads_errors = _start(_keep_lines, process.stderr, self._errors)
        _running.add(self)

    @property
    def is_own(self) -> bool:
        """Whether this process has started the program; a fork of it has not."""
        return os.getpid() == self._owner

    def write(self, line: bytes) -> None:
        """Send a line, without waiting until the program reads it."""
        self._to_write.put(line + b"\n")

    def end(self, patience: float = PATIENCE) -> None:
        """End the program and all processes that it started; in a fork do nothing.

        Its input is closed first. After ``patience`` seconds its process group gets SIGTERM, and after
        as many again SIGKILL.
        """
        if not self.is_own:
            return
        with self._lock:
            self._to_write.put(None)
            if not self._ends_within(patience):
                self._signal("SIGTERM")
                self._ends_within(patience)
            self._signal("SIGKILL")  # also for processes that the program left behind
            self._process.wait()

    def how_it_ended(self) -> str:
        """Return in words how the program ended."""
        if not self._ends_within(PATIENCE):
            return "closed its output"
        code = self._process.returncode
        return f"ended with exit code {code}" if code >= 0 else f"was ended by {_signal_name(-code)}"

    def last_errors(self) -> str:
        """Return the last lines of the standard error stream as one line; empty if there are none."""
        self._reads_errors.join(0.1)  # the last lines may still arrive
        return one_line(" | ".join(self._errors.copy()), _LAST_LINES * _MOST_OF_A_LINE)

    def _ends_within(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def _signal(self, name: str) -> None:
        with suppress(ProcessLookupError, PermissionError):  # the group has ended
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, getattr(signal, name))
            else:
                self._process.kill()


_running: weakref.WeakSet[Program] = weakref.WeakSet()


def end_all() -> None:
    """End all programs, before a process ends without cleaning up."""
    for program in list(_running):
        program.end(0.1)


def _start(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _write_lines(stream: IO[bytes], following: Callable[[], bytes | None]) -> None:
    """Write lines until the next one is None, or the reader is gone."""
    with suppress(OSError), stream:
        while (line := following()) is not None:
            stream.write(line)
            stream.flush()


def _read_lines(stream: IO[bytes], receive: Callable[[bytes | None], None]) -> None:
    """Call ``receive`` with every line, truncated if it is too long, and with None at the end."""
    with suppress(OSError), stream:
        while line := stream.readline(MOST_BYTES):
            receive(line)
    receive(None)


def _keep_lines(stream: IO[bytes], kept: deque[str]) -> None:
    with suppress(OSError), stream:
        while line := stream.readline(MOST_BYTES):
            if text := one_line(line.decode(errors="replace"), _MOST_OF_A_LINE):
                kept.append(text)


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class _Terminated(BaseException):
    """SIGTERM was received."""


def run_until_signal(work: Callable[[], int], interrupted: int = INTERRUPTED) -> int:
    """Return the exit code of work that Ctrl-C or SIGTERM may end; ``interrupted`` is that of Ctrl-C."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return work()
    except KeyboardInterrupt:
        return interrupted
    except _Terminated:
        return TERMINATED


def leave(code: int) -> int:
    """End all programs, and the process itself if threads are still running; return the code.

    Such threads cannot be ended, and an interpreter that ends before them crashes.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    end_all()
    if threading.active_count() > 1:
        os._exit(code)
    return code


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _Terminated
