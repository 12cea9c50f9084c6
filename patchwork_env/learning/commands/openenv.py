"""Serve a game as text to language models that learn, by the protocol of OpenEnv.

Episodes use WebSockets, several sessions at once. The server prints its address when ready; Ctrl-C ends it.

patchwork-env openenv
patchwork-env openenv --game nmbr9 --set players=2 --set penalty=0.2 --port 8100
"""

from __future__ import annotations

import argparse
import socket
from contextlib import suppress
from typing import Any

from patchwork_env.core.checks import check_between
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.documents import parse_json
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.service.positions import GAMES

HOST = "127.0.0.1"
PORT = 8054
_OPPONENT_HELP = (
    "an agent that clients may play against; the first is the default (default: greedy). Can be given "
    "several times; agents on the page of 'patchwork-env play' are always allowed"
)
_SET_HELP = (
    "a default of the settings of episodes: seat, rewards, requests, mistakes, penalty, or an option of the "
    "game such as players=2"
)
_IDLE_HELP = "the time without a message after which the game of a session ends (default: 1800)"


def main(arguments: list[str] | None = None, program: str = "patchwork-env openenv") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("--game", choices=GAMES, default=PATCHWORK, help="the game (default: patchwork)")
    option("--opponent", metavar="SPEC", action="append", default=[], help=_OPPONENT_HELP)
    option("--set", metavar="NAME=VALUE", type=_setting, action="append", default=[], help=_SET_HELP)
    option("--host", default=HOST, help=f"where to listen (default: {HOST})")
    option("--port", type=int, default=PORT, metavar="N", help=f"(default: {PORT}; 0: any free)")
    option("--sessions", type=int, default=64, metavar="N", help="at once (default: 64)")
    option("--idle-seconds", type=float, default=1800, metavar="S", help=_IDLE_HELP)
    return run_command(parser, _run, arguments, program, "openenv")


def _run(options: argparse.Namespace) -> int:
    port = check_between(options.port, 0, 65535, "the port")
    names = [name for name, _ in options.set]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"--set gives {short_repr(twice[0])} twice; give it once")

    from patchwork_env.integrations.openenv import create_app
    from patchwork_env.integrations.openenv.environment import MOST_BYTES
    from patchwork_env.service.guard import LOOPBACK

    import uvicorn  # isort: skip - if it is missing, the import above says so

    with socket.create_server((options.host, port)) as listening:
        port = listening.getsockname()[1]
        app = create_app(
            options.game,
            opponents=options.opponent,
            sessions=options.sessions,
            idle_seconds=options.idle_seconds,
            hosts=[f"{name}:{port}" for name in LOOPBACK] if options.host in LOOPBACK else None,
            **dict(options.set),
        )
        config = uvicorn.Config(app, log_level="warning", ws_max_size=MOST_BYTES, timeout_graceful_shutdown=1)
        print(f"http://{options.host}:{port}", flush=True)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listening])
    return 0


def _setting(text: str) -> tuple[str, Any]:
    """Return a setting ``name=value``, whose value is JSON, or else a str."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{short_repr(text)} is not a setting such as 'penalty=0.2'")
    try:
        return name, parse_json(value, name)
    except ValueError:
        return name, value
