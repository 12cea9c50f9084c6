"""A client of the page's application in this process."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from patchwork_env.play.server import create_app
from patchwork_env.service.agents import AgentPool
from patchwork_env.service.thinking import Streams, Thinking

PORT = 8053
HOST = f"127.0.0.1:{PORT}"
HEADERS = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"}


@dataclass
class Answer:
    """An answer of the application."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """The lines of a stream without progress reports."""
        events = [json.loads(line) for line in self.body.splitlines()]
        return [event for event in events if "progress" not in event]


class Exchange:
    """A request with its answer so far; ``leave`` closes the connection."""

    def __init__(self, app, method, path, body, headers):
        self._chunks = [body[k : k + 40_000] for k in range(0, len(body), 40_000)] or [b""]
        self._left = asyncio.Event()
        self.parts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("utf-8", "surrogatepass"),
            "root_path": "",
            "query_string": b"",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", PORT),
        }
        self._app = app

    async def run(self):
        await self._app(self._scope, self._receive, self.parts.put)

    def leave(self):
        self._left.set()

    async def _receive(self):
        if self._chunks:
            body = self._chunks.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._chunks)}
        await self._left.wait()
        return {"type": "http.disconnect"}


class Client:
    """A client with an application of its own; ``trusted`` are specs as of the command line."""

    def __init__(self, *trusted, patience=60.0, port=PORT):
        self.streams = Streams(patience=patience, queue=0.1)
        self.app = create_app(Thinking(AgentPool(trusted), self.streams), port)

    def ask(self, path, message=None, *, method="POST", headers=None):
        """Return the answer to a message; bytes are sent unchanged, and headers of None left out."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {name: value for name, value in {**HEADERS, **(headers or {})}.items() if value is not None}
        return asyncio.run(self._ask(Exchange(self.app, method, path, body, given)))

    def get(self, path, **headers):
        """Return a file of the page."""
        return self.ask(path, b"", method="GET", headers={"origin": None, "content-type": None, **headers})

    async def _ask(self, exchange):
        await exchange.run()
        start = exchange.parts.get_nowait()
        parts = [exchange.parts.get_nowait() for _ in range(exchange.parts.qsize())]
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(part.get("body", b"") for part in parts))


@pytest.fixture(scope="module")
def one_client():
    """A client for all tests of a module."""
    return Client()
