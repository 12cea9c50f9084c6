"""Opens a page in the browser to play, watch and analyse games, against agents or people.

patchwork-env play
patchwork-env play --game nmbr9 --opponent nmbr9_champion:fast --port 8100
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from patchwork_env.core.checks import check_between
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.progress import StatusLine, listen
from patchwork_env.games import PATCHWORK
from patchwork_env.protocol.programs import leave, run_until_signal
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.positions import GAMES
from patchwork_env.service.thinking import Event, Thinking

HOST = "127.0.0.1"
DEFAULT_PORT = 8053


def main(arguments: list[str] | None = None, program: str = "patchwork-env play") -> int:
    """Run the command; return the exit code."""
    return run_command(_parser(), _run, arguments, program, "play")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.play.server import PageServer

    players = AgentPool([options.opponent] if options.opponent else [])
    if options.opponent:
        options.game = _game_of(options, players)
    thinking = Thinking(players)
    with _listening_socket(options.port) as listening:
        server = PageServer(thinking, listening, options)
        if options.port is None and listening.getsockname()[1] != DEFAULT_PORT:
            print(f"port {DEFAULT_PORT} is in use, so the page has another one", file=sys.stderr)
        with report_compilations(thinking.streams.announce, may_show=server.has_address.is_set):
            code = run_until_signal(server.serve_until_asked, interrupted=0)
    return leave(code)


def _game_of(options: argparse.Namespace, players: AgentPool) -> str:
    """Return the first game of the page: the requested one, or else the first that the opponent plays."""
    with players.borrow(options.opponent) as agent:
        game: str = options.game or next((name for name in GAMES if name in agent.games), PATCHWORK)
        agent.check_game(game)
    return game


@contextmanager
def report_compilations(announce: Callable[[Event], None], may_show: Callable[[], bool]) -> Iterator[None]:
    """Report every compilation within the block to the page, and on stderr once ``may_show`` is true."""
    line = StatusLine()

    def note(message: str) -> None:
        announce({"progress": message, "key": "compiling"})
        if may_show():
            line.show(message)

    try:
        with listen(note):
            yield
    finally:
        line.clear()


def _listening_socket(port: int | None) -> socket.socket:
    """Return a socket on the loopback interface; without a port, the default one or any free one."""
    wanted = DEFAULT_PORT if port is None else check_between(port, 0, 65535, "the port")
    try:
        return socket.create_server((HOST, wanted))
    except OSError as error:
        if port is None:
            return socket.create_server((HOST, 0))
        raise OSError(f"port {port} cannot be used: {error.strerror}; try another --port") from None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser("Opens a page in the browser to play and analyse on. Ctrl-C ends it.")
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
        help=f"the port of the page (default: {DEFAULT_PORT}, or a free one if that is in use)",
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address, and open nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
