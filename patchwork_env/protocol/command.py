"""Answers queries about games, one line of JSON each, on the standard input and output; see docs/engine.md.

patchwork-env engine
patchwork-env engine --agent champion:strong --threads 2
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stdout
from typing import IO

from patchwork_env.core.checks import check_between
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.names import short_repr
from patchwork_env.protocol.engine import Engine
from patchwork_env.protocol.loop import Writer, serve
from patchwork_env.service.ending import leave, run_until_signal
from patchwork_env.service.players import Players

DEFAULT_THREADS = 4
_MOST_THREADS = 64
_NOBODY_READS = 1


def main(arguments: list[str] | None = None, program: str = "patchwork-env engine") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    players = Players([*([options.agent] if options.agent else []), *options.allow], "--allow")
    if options.agent:
        with redirect_stdout(sys.stderr), players.lent(options.agent):
            pass
    queries, answers = own_streams()

    def make(send: Writer) -> Engine:
        return Engine(players, send, options.agent, options.threads)

    def answer() -> int:
        return 0 if serve(queries, answers, make, drop=options.quit_without_waiting) else _NOBODY_READS

    return leave(run_until_signal(answer))


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The standard input and output, which nobody else can read or write any more.

    What libraries print goes to the standard error stream, and what they read is empty; so it is for the
    programs that this process starts.
    """
    try:
        os.fstat(0), os.fstat(1)
        queries, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    except OSError as error:
        raise OSError(f"the standard input and output must be open: {error.strerror}") from None
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing if sys.stderr is None else 2, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return queries, answers


def _threads(text: str) -> int:
    try:
        return check_between(int(text), 1, _MOST_THREADS, "the number of threads")
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{short_repr(text)} is no number of threads; allowed are 1 to {_MOST_THREADS}"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "Answers queries about games, one line of JSON each, on the standard input and output, "
        "until the input ends.",
    )
    parser.add_argument(
        "--agent",
        metavar="SPEC",
        help="the agent that answers queries which name none (default: the champion of each game)",
    )
    parser.add_argument(
        "--allow",
        metavar="SPEC",
        nargs="+",
        default=[],
        help="agents that queries may name although they run code: module:name, or program:COMMAND",
    )
    parser.add_argument(
        "--threads",
        type=_threads,
        metavar="N",
        default=DEFAULT_THREADS,
        help=f"how many positions are thought about at the same time (default: {DEFAULT_THREADS})",
    )
    parser.add_argument(
        "--quit-without-waiting",
        action="store_true",
        help="when the input ends, end what is left instead of finishing it",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
