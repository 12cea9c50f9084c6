"""Opens a page in the browser to play and analyse on, against any agent, against a person, or to watch.

patchwork-env play
patchwork-env play --game nmbr9 --opponent nmbr9_champion:fast --port 8100
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlencode

import uvicorn

from patchwork_env.core.checks import check_between
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import Progress, StatusLine, listen
from patchwork_env.games import PATCHWORK
from patchwork_env.play.server import create_app
from patchwork_env.service.ending import leave, run_until_signal
from patchwork_env.service.players import Players
from patchwork_env.service.positions import GAMES
from patchwork_env.service.streams import Event
from patchwork_env.service.thinking import Thinking

HOST = "127.0.0.1"
DEFAULT_PORT = 8053  # the port where none is given; if it is taken, another one is found
_SECONDS_TO_END = 1  # how long open streams may go on after the server was asked to end
_HEAD_START = 0.5
"""The most seconds that the page waits for what its first requests need, which may have to be compiled."""
_MOST_REQUESTS = 64


def main(arguments: list[str] | None = None, program: str = "patchwork-env play") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    players = Players([options.opponent] if options.opponent else [])
    if options.opponent:
        options.game = _game_of(options, players)
    thinking = Thinking(players)
    with _listening_socket(options.port) as listening:
        server = _Server(thinking, listening.getsockname()[1], options)
        with telling(thinking.threads.announce, may_show=server.has_address.is_set):
            code = run_until_signal(partial(_serve, server, listening), interrupted=0)
    return leave(code)


def _serve(server: uvicorn.Server, listening: socket.socket) -> int:
    server.run([listening])
    return 0


def _game_of(options: argparse.Namespace, players: Players) -> str:
    """The game to begin with: the one that was asked for, or else the first that the opponent plays."""
    with players.borrow(options.opponent) as agent:
        game: str = options.game or next((name for name in GAMES if name in agent.games), PATCHWORK)
        agent.check_game(game)
    return game


class _Server(uvicorn.Server):
    """Tells the address of the page as soon as it answers, and ends all streams when it is asked to end."""

    def __init__(self, thinking: Thinking, port: int, options: argparse.Namespace) -> None:
        super().__init__(
            uvicorn.Config(
                create_app(thinking, port),
                http="h11",
                ws="none",
                loop="asyncio",
                lifespan="off",
                interface="asgi3",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=_MOST_REQUESTS,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )
        self._thinking, self._address, self._options = thinking, f"http://{HOST}:{port}/", options
        self.has_address = threading.Event()
        """Set when the address stands on the terminal, on a line of its own."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        options, address = self._options, self._address
        game = options.game or PATCHWORK
        warming_up = _in_background(partial(self._thinking.warm_up, game))
        await super().startup(sockets)
        await asyncio.to_thread(warming_up.join, _HEAD_START)
        print(address, flush=True)
        if presets := _presets(options):
            address += presets
            print(f"with what you asked for: {address}", flush=True)
        self.has_address.set()
        if options.browser:
            _in_background(partial(webbrowser.open, address))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # nobody waits for what breaks off now
        self._thinking.threads.stop()
        await super().shutdown(sockets)


@contextmanager
def telling(announce: Callable[[Event], None], may_show: Callable[[], bool]) -> Iterator[None]:
    """Within the block, every compilation is announced to the page, and shown on stderr where that may be."""
    line = StatusLine()

    def note(progress: Progress) -> None:
        _, count, expected = progress
        text = f"compiling {count} of about {expected}"
        announce({"progress": text, "key": "compiling", "count": count, "expected": expected})
        if may_show():
            line.show(f"{text}, once after an installation")

    try:
        with listen(note):
            yield
    finally:
        line.clear()


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _presets(options: argparse.Namespace) -> str:
    """The part of the page's address that says what to begin with."""
    given = {"game": options.game, "opponent": options.opponent}
    words = urlencode({name: value for name, value in given.items() if value}, safe=":=,/")
    return f"?{words}" if words else ""


def _listening_socket(port: int | None) -> socket.socket:
    """A socket on the loopback interface; without a port on the usual one, or any if that is taken."""
    wanted = DEFAULT_PORT if port is None else check_between(port, 0, 65535, "the port")
    try:
        return socket.create_server((HOST, wanted))
    except OSError as error:
        if port is None:
            return socket.create_server((HOST, 0))
        raise OSError(f"port {port} cannot be used: {error.strerror}; try another --port") from None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "Opens a page in the browser to play and analyse on. Ctrl-C ends it.",
    )
    parser.add_argument("--game", choices=GAMES, help="the game to begin with (default: the page's)")
    parser.add_argument(
        "--opponent",
        metavar="SPEC",
        help="the agent to play against, as champion:fast, the path of a checkpoint, or module:name for an "
        "Agent or a function from a game to an action (default: chosen on the page)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"the port of the page (default: {DEFAULT_PORT}, or a free one if that is taken)",
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address, and open nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
