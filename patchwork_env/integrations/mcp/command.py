"""Serves both games to language models that use tools, by the Model Context Protocol (MCP).

patchwork-env mcp
patchwork-env mcp --opponent my_module:my_agent
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.protocol.programs import leave

_WAITING = "waiting for an MCP client; clients usually start this command themselves"


def main(arguments: list[str] | None = None, program: str = "patchwork-env mcp") -> int:
    """Run the command; return the exit code."""
    return run_command(_parser(), _run, arguments, program, "mcp")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.integrations.mcp.server import serve  # needs an extra

    if sys.stdin.isatty():
        print(_WAITING, file=sys.stderr, flush=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C cannot wake the thread that reads stdin
    asyncio.run(serve(options.opponent))
    return leave(0)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "Serves both games over stdin and stdout by the Model Context Protocol (MCP), to clients "
        "that start this command. It ends with its client."
    )
    parser.add_argument(
        "--opponent",
        metavar="SPEC",
        action="append",
        default=[],
        help="an agent module:name that clients may name although it runs code; can be repeated",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
