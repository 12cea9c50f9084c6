"""The server of the page: files, and answers to the messages of ``server_backend.js``.

Every message holds the whole game in notation, so the server stores nothing. Answers are JSON, or for long
ones lines of JSON that report progress; ``docs/reference/positions.md`` explains their fields.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import mimetypes
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from patchwork_env.core.messages import check_fields, encoded, error_of, read_message
from patchwork_env.games import PATCHWORK
from patchwork_env.play.assembly import allowed_by, assembled
from patchwork_env.service import fields, positions
from patchwork_env.service.guard import LOOPBACK, JsonResponse, RequestGuard, refusal
from patchwork_env.service.thinking import Event, Thinking

PAGE = Path(__file__).parent / "page"
LINES = "application/x-ndjson"  # the type of streams, which have a JSON text in each line
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
}
"""The types of the page's files; some systems define others."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
}
"""The headers of every answer. The policy of the page also allows its inline scripts and styles."""

Message = Mapping[str, Any]
Answer = Callable[[Message], Any]
Stream = Callable[[Message], AsyncIterator[Event]]


def create_app(thinking: Thinking, port: int, page: Path = PAGE) -> ASGIApp:
    """Return the application of the page on a port."""
    for ending, kind in TYPES.items():
        mimetypes.add_type(kind, ending)
    zipped = [Middleware(GZipMiddleware)]  # not for streams, whose lines must not wait for each other
    answers: dict[str, Answer] = {"open": open_game, "play": play, "agents": thinking.agents}
    streams = {"choose": thinking.choose, "analyse": thinking.analyse}
    routes = [
        *(_route(name, partial(_answer, answer), zipped) for name, answer in answers.items()),
        *(_route(name, partial(_stream, stream)) for name, stream in streams.items()),
    ]
    files = [
        *(Route(path, partial(_index, page)) for path in ("/", "/index.html")),
        Mount("/", StaticFiles(directory=page)),
    ]
    app = Starlette(
        routes=[Mount("/api", routes=routes), Mount("/", routes=files, middleware=zipped)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )
    hosts = {f"{name}:{port}" for name in LOOPBACK} | (set(LOOPBACK) if port == 80 else set())
    return RequestGuard(app, hosts, headers=HEADERS)


async def _index(page: Path, request: Request) -> Response:
    """Return the page as one file, assembled at every request."""
    html = await run_in_threadpool(assembled, page)
    headers = {
        "ETag": f'"{sha256(html.encode()).hexdigest()}"',
        "Content-Security-Policy": allowed_by(HEADERS["Content-Security-Policy"], html),
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return HTMLResponse(html, headers=headers)


def _route(
    name: str, endpoint: Callable[[Request], Awaitable[Response]], middleware: Sequence[Middleware] = ()
) -> Route:
    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ValueError as error:
            return refusal(400, str(error))

    return Route(f"/{name}", guarded, methods=["POST"], middleware=middleware)


async def _answer(answer: Answer, request: Request) -> Response:
    message = await _message(request)
    return JsonResponse(await run_in_threadpool(answer, message))


async def _stream(stream: Stream, request: Request) -> Response:
    message = await _message(request)
    events = await run_in_threadpool(stream, message)
    return StreamingResponse((_line(event) async for event in events), media_type=LINES)


def _line(event: Event) -> bytes:
    """Return an event as a line of a stream, or an error if JSON cannot hold its numbers."""
    try:
        return encoded(event) + b"\n"
    except ValueError as error:
        return encoded(error_of(f"the answer cannot be encoded: {error}")) + b"\n"


async def _message(request: Request) -> dict[str, Any]:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > fields.MOST_BYTES:
                raise HTTPException(413, f"the message has more than {fields.MOST_BYTES:,} bytes")
    except ClientDisconnect:
        raise ValueError("the message ends early") from None
    return read_message(bytes(body))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reasons = {404: f"there is no {request.url.path[:100]!r}", 405: f"{request.method} is not allowed here"}
    return refusal(error.status_code, reasons.get(error.status_code, error.detail))


async def _failed(request: Request, error: Exception) -> Response:
    """Answer a request that raised an unexpected error; uvicorn reports it, too."""
    return refusal(500, f"the server failed: {type(error).__name__}: {error}")


# --- immediate answers; the server stores nothing of a message ---------------------------------------------


def open_game(message: Message) -> dict[str, Any]:
    """Open the game of ``notation``, or a new one of ``game``; return its notation and all its positions."""
    if "notation" in message:
        game, _ = fields.read_game_and(message, {})
    else:
        options = dict(message)
        name = check_fields({"game": options.pop("game", None)}, {"game": fields.text})["game"]
        game = positions.new_game(name, options)
    return {"notation": game.notation(), "positions": positions.positions_of(game)}


def play(message: Message) -> dict[str, Any]:
    """Play ``move``, a word or an action, in the game of ``notation``; return the position after it."""
    game, given = fields.read_game_and(message, {"move": fields.move})
    position = positions.play(game, positions.action_of(game, given["move"]))
    return {"notation": game.notation(), "position": position}


_SECONDS_TO_END = 1  # the time that open streams have to end
_HEAD_START = 0.5
"""The most seconds that the address waits for the kernels of the first requests."""
_MOST_REQUESTS = 64


class PageServer(uvicorn.Server):
    """Prints the address of the page as soon as it answers; ends all streams at shutdown."""

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
                server_header=False,
                proxy_headers=False,
                limit_concurrency=_MOST_REQUESTS,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )
        self._thinking, self._listening, self._options = thinking, listening, options
        self._address = f"http://{host}:{port}/"
        self.has_address = threading.Event()
        """Set after the address was printed."""

    def serve_until_asked(self) -> int:
        """Serve until a signal; return the exit code."""
        self.run([self._listening])
        return 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and print the address."""
        options, address = self._options, self._address
        game = options.game or PATCHWORK
        warming_up = _in_background(partial(self._thinking.warm_up, game))
        await super().startup(sockets)
        await asyncio.to_thread(warming_up.join, _HEAD_START)
        lines = [address]
        if presets := _presets(options):
            address += presets
            lines.append(f"with your options: {address}")
        print(*lines, "Ctrl-C ends it", sep="\n", flush=True)
        self.has_address.set()
        if options.browser:
            _in_background(partial(webbrowser.open, address))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, and then the server."""
        # No client waits for requests that end now.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._thinking.streams.stop()
        await super().shutdown(sockets)


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _presets(options: argparse.Namespace) -> str:
    given = {"game": options.game, "opponent": options.opponent}
    words = urlencode({name: value for name, value in given.items() if value}, safe=":=,/")
    return f"?{words}" if words else ""
