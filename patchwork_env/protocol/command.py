"""Answers queries about games, a line of JSON each, on the standard input and output; see docs/use/engine.md.

patchwork-env engine
patchwork-env engine --agent champion:strong --threads 2
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import IO

from patchwork_env.core.checks import check_between
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.messages import MOST_BYTES, encoded, error_of
from patchwork_env.protocol.engine import Answer, Engine
from patchwork_env.protocol.programs import leave, run_until_signal
from patchwork_env.service.agents import AgentPool

DEFAULT_THREADS = 4
_MOST_THREADS = 64
_READER_GONE = 1


def main(arguments: list[str] | None = None, program: str = "patchwork-env engine") -> int:
    """Run the command; return the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    threads = check_between(options.threads, 1, _MOST_THREADS, "the number of threads")
    players = AgentPool([*([options.agent] if options.agent else []), *options.allow], "--allow")
    if options.agent:
        with redirect_stdout(sys.stderr), players.borrow(options.agent):
            pass
    queries, answers = own_streams()

    def make(send: Writer) -> Engine:
        return Engine(players, send, options.agent, threads)

    def answer() -> int:
        return 0 if serve(queries, answers, make) else _READER_GONE

    return leave(run_until_signal(answer))


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return the standard input and output, which libraries and child processes can no longer use.

    Their output goes to the standard error stream, and their input is empty.
    """
    try:
        os.fstat(1)  # a copy of the input would take the number of a closed output
        queries, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    except OSError as error:
        raise OSError(f"the standard input and output must be open: {error.strerror}") from None
    with open(os.devnull, "r+b", 0) as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno() if sys.stderr is None else 2, 1)
    sys.stdout = sys.stderr
    return queries, answers


class Writer:
    """Writes answers as lines. When the reader is gone, it calls ``when_gone``, and drops further answers."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self.is_gone = False
        self.when_gone: Callable[[], None] = lambda: None

    def __call__(self, answer: Answer) -> None:
        """Write an answer, or an error if JSON cannot hold the answer."""
        try:
            line = encoded(answer)
        except ValueError as error:
            kept = {name: answer[name] for name in ("id", "ply") if name in answer}
            line = encoded({**kept, **error_of(f"the answer cannot be encoded: {error}")})
        with self._lock:
            if self.is_gone:
                return
            try:
                self._stream.write(line + b"\n")
                self._stream.flush()
            except (OSError, ValueError):  # a dead pipe, or a closed stream
                self.is_gone = True
                self.when_gone()


def serve(queries: IO[bytes], answers: IO[bytes], make: Callable[[Writer], Engine]) -> bool:
    """Answer queries until their stream ends, and then the remaining ones.

    Return whether the reader of the answers stayed to the end.
    """
    over = threading.Event()
    write = Writer(answers)
    engine = make(write)

    def stop() -> None:
        over.set()
        threading.Thread(target=engine.terminate).start()  # a task that is answering holds its lock

    write.when_gone = stop

    def read() -> None:
        try:
            for line in lines_of(queries):
                if line is None:
                    write(error_of(f"the line has more than {MOST_BYTES:,} bytes"))
                elif line.strip():
                    engine.handle(line)
                if write.is_gone:
                    break
        except (OSError, ValueError):  # the stream was closed
            pass
        finally:
            over.set()

    threading.Thread(target=read, name="queries", daemon=True).start()
    over.wait()
    if not write.is_gone:
        engine.wait()
    engine.close()
    return not write.is_gone


def lines_of(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of a stream; None for a line that is too long, which is skipped in parts."""
    while line := stream.readline(MOST_BYTES + 1):
        if len(line) <= MOST_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MOST_BYTES)
        yield None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "Answers queries about games, one line of JSON each, on the standard input and output, "
        "until the input ends."
    )
    parser.add_argument(
        "--agent",
        metavar="SPEC",
        help="the agent for queries that name no agent (default: the champion of each game)",
    )
    parser.add_argument(
        "--allow",
        metavar="SPEC",
        nargs="+",
        default=[],
        help="agents that run code and that queries may name: module:name, or program:COMMAND",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        default=DEFAULT_THREADS,
        help=f"the most positions at the same time (default: {DEFAULT_THREADS})",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
