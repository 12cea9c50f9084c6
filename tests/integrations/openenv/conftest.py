"""Servers of both games, each in a thread on a free port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("openenv")

import uvicorn

from patchwork_env.integrations import openenv

SESSIONS = 4


@pytest.fixture(scope="session", params=["patchwork", "nmbr9"])
def game(request: pytest.FixtureRequest) -> str:
    """The name of a game."""
    return str(request.param)


@pytest.fixture(scope="session")
def address(game: str) -> Iterator[str]:
    """The address of a server of the game, whose opponent is random."""
    app = openenv.create_app(
        game,
        opponents=["random", "tests.play.odd_agents:raises"][: 1 + (game == "patchwork")],
        sessions=SESSIONS,
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
