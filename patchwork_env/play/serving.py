"""The server of the page, from the first word on the terminal to the last answer."""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import uvicorn

from patchwork_env.games import PATCHWORK
from patchwork_env.play.server import create_app
from patchwork_env.service.thinking import Thinking

_SECONDS_TO_END = 1  # how long open streams may go on after the server was asked to end
_HEAD_START = 0.5
"""The most seconds that the page waits for what its first requests need, which may have to be compiled."""
_MOST_REQUESTS = 64


class PageServer(uvicorn.Server):
    """Tells the address of the page as soon as it answers, and ends all streams when it is asked to end."""

    def __init__(self, thinking: Thinking, listening: socket.socket, options: argparse.Namespace) -> None:
        host, port = listening.getsockname()
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
        self._thinking, self._listening, self._options = thinking, listening, options
        self._address = f"http://{host}:{port}/"
        self.has_address = threading.Event()
        """Set when the address stands on the terminal, on a line of its own."""

    def serve_until_asked(self) -> int:
        """Serves until a signal asks for the end; returns the exit code."""
        self.run([self._listening])
        return 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to serve, and then tells the address."""
        options, address = self._options, self._address
        game = options.game or PATCHWORK
        warming_up = _in_background(partial(self._thinking.warm_up, game))
        await super().startup(sockets)
        await asyncio.to_thread(warming_up.join, _HEAD_START)
        lines = [address]
        if presets := _presets(options):
            address += presets
            lines.append(f"with what you asked for: {address}")
        print(*lines, "Ctrl-C ends it", sep="\n", flush=True)
        self.has_address.set()
        if options.browser:
            _in_background(partial(webbrowser.open, address))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what is thought about, and then the server."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # nobody waits for what breaks off now
        self._thinking.threads.stop()
        await super().shutdown(sockets)


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _presets(options: argparse.Namespace) -> str:
    """The part of the page's address that says what to begin with."""
    given = {"game": options.game, "opponent": options.opponent}
    words = urlencode({name: value for name, value in given.items() if value}, safe=":=,/")
    return f"?{words}" if words else ""
