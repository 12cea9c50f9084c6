"""The client of programs that answer lines of JSON."""

from __future__ import annotations

import shlex
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from itertools import count
from queue import Empty, Queue
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

from patchwork_env.core.checks import as_texts
from patchwork_env.core.messages import MOST_BYTES, encoded, read_message
from patchwork_env.core.names import short_repr
from patchwork_env.errors import OpponentError
from patchwork_env.protocol.programs import PATIENCE, Program

Answer = dict[str, Any]

_SHOWN = 100  # characters of a wrong answer in messages


def split_command(command: str | Sequence[str], platform: str = sys.platform) -> list[str]:
    """Return the words of a command, split as shells do; ValueError for an invalid command.

    On Windows a backslash separates folders and escapes nothing.
    """
    try:
        if isinstance(command, str):
            reader = shlex.shlex(command, posix=True)
            reader.whitespace_split, reader.commenters = True, ""
            reader.escape = "" if platform == "win32" else "\\"
            words = list(reader)
        else:
            words = list(as_texts(command, "a command"))
    except ValueError as error:
        raise ValueError(f"the command is {short_repr(command)}: {error}") from None
    if not words or not words[0] or any("\0" in word for word in words):
        raise ValueError(f"the command is {short_repr(command)}; it must name a program")
    return words


class Client:
    """A program that answers queries; ``with`` ends it.

    For example::

        with Client("patchwork-env engine") as client:
            print(client.ask("choose", game="patchwork", options={"seed": 7}, agent="greedy")["move"])

    Several threads may use one client at once. The program ends when the client is garbage-collected.

    Args:
        command: A list of words, or a str that is split as shells do.
        name: The name of the program in messages.

    Raises:
        ValueError: The command names no program.
        OpponentError: The program cannot be started.
    """

    def __init__(self, command: str | Sequence[str], name: str | None = None) -> None:
        words = split_command(command)
        self.name = words[0] if name is None else name
        self._numbers = count(1)
        self._inbox = _Inbox()
        self._program = Program(words, self._inbox.receive)
        self._end = weakref.finalize(self, self._program.end)

    @property
    def is_own(self) -> bool:
        """Whether this process started the program; a fork must start its own."""
        return self._program.is_own

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, patience: float = PATIENCE) -> None:
        """End the program: see :meth:`~patchwork_env.protocol.programs.Program.end`."""
        if self._end.detach():
            self._inbox.fail("was closed")
            self._program.end(patience)

    def ask(self, method: str, timeout: float | None = None, **fields: Any) -> Answer:
        """Return the last answer to a query about at most one position.

        OpponentError if the answer is an error, the program has ended or wrote an invalid answer, or
        ``timeout`` seconds have passed.
        """
        *_, last = self.answers(self.send(method, **fields), timeout)
        return last

    def send(self, method: str, **fields: Any) -> str:
        """Send a query; return its id for :meth:`answers`. ValueError if the query is too long."""
        number = str(next(self._numbers))
        line = encoded({"id": number, "method": method, **fields})
        if len(line) >= MOST_BYTES:
            raise ValueError(f"the query has {len(line):,} bytes; it must have less than {MOST_BYTES:,}")
        plies = fields.get("plies")
        self._inbox.expect(number, len(plies) if plies and isinstance(plies, list) else 1)
        self._program.write(line)
        return number

    def answers(self, number: str, timeout: float | None = None) -> Iterator[Answer]:
        """Yield the answers to a query, once, as they arrive: partial ones, and the last of each position.

        ``timeout`` is the most seconds until the last answer. Errors are those of :meth:`ask`; a second call
        is a KeyError.
        """
        end = None if timeout is None else monotonic() + timeout
        asked = self._inbox.asked[number]
        left = asked.positions
        try:
            while left:
                answer = self._next(asked, end, timeout)
                yield answer
                left -= bool(answer.get("done", True))
        finally:
            self._inbox.forget(number)

    def terminate(self, number: str | None = None) -> None:
        """End a query early, or all queries; their last answers hold the results so far."""
        self._inbox.forget(self.send("terminate", terminate_id=number))

    def _next(self, asked: _Asked, end: float | None, timeout: float | None) -> Answer:
        left = None if end is None else min(max(end - monotonic(), 0), threading.TIMEOUT_MAX)
        try:
            answer = asked.answers.get(timeout=left)
        except Empty:
            raise self._error(f"gave no answer within {timeout:g} seconds") from None
        if answer is None:
            raise self._error(self._inbox.failure or self._program.how_it_ended())
        if "error" in answer:
            raise self._error(_error_in(answer))
        return answer

    def _error(self, what: str) -> OpponentError:
        errors = self._program.last_errors()
        return OpponentError(
            f"program {short_repr(self.name)} {what}" + (f"; its last errors: {errors}" if errors else "")
        )


class _Asked(NamedTuple):
    """A query that was sent: the number of its positions, and its answers; None ends the answers."""

    positions: int
    answers: Queue[Answer | None]


class _Inbox:
    """The answers of a program by query."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked: dict[str, _Asked] = {}
        self.failure: str | None = None  # why no more answers arrive; empty if the program has ended

    def expect(self, number: str, positions: int) -> None:
        with self._lock:
            self.asked[number] = _Asked(positions, Queue())
            if self.failure is not None:
                self.asked[number].answers.put(None)

    def forget(self, number: str) -> None:
        with self._lock:
            self.asked.pop(number, None)

    def receive(self, line: bytes | None) -> None:
        """Add a line to the answers of its query; None if the program has ended."""
        if line is None:
            self.fail("")
        elif line.strip():
            try:
                self._dispatch(read_message(line))
            except ValueError as error:
                self.fail(f"answered {short_repr(line.decode(errors='replace'), _SHOWN)}: {error}")

    def fail(self, reason: str) -> None:
        """End the answers of all queries; the first reason counts."""
        with self._lock:
            if self.failure is None:
                self.failure = reason
            for asked in self.asked.values():
                asked.answers.put(None)

    def _dispatch(self, answer: Answer) -> None:
        number = answer.get("id")
        if number is None and "error" in answer:
            self.fail(_error_in(answer))
        elif isinstance(number, str) and (asked := self.asked.get(number)):
            asked.answers.put(answer)


def _error_in(answer: Answer) -> str:
    return f"answered with an error: {short_repr(answer['error'], 500)}"
