"""What passes before OpenEnv's server sees it: no message that is too long, and none from pages of others."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2**18  # the longest message
_TOO_LONG = 1009
_AGAINST_THE_RULES = 1008


class RequestGuard:
    """Lets through what programs send, and pages of this server.

    Browsers let any page open a WebSocket to any server, and name the page's host in ``Origin``. Where the
    server's ``names`` are known, others are refused, so that no page can give it a name of its own.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] | None = None) -> None:
        self._app, self._names = app, None if names is None else frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif self._is_foreign(scope):
            await _refuse(scope, receive, send, 403, "this server is for programs and its own pages")
        elif _length(scope) > MOST_BYTES:
            await _refuse(scope, receive, send, 413, f"a message has at most {MOST_BYTES} bytes")
        else:
            await self._app(scope, _Limited(receive, send), send)

    def _is_foreign(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._names is not None and host not in self._names:
            return True
        return origin is not None and urlsplit(origin).netloc != host


class _Limited:
    """Receives what a client sends, until it is too much: then the server hears that the client has left."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._received = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "websocket.receive":
            self._received = len((message.get("text") or "").encode()) + len(message.get("bytes") or b"")
        elif message["type"] == "http.request":
            self._received += len(message.get("body", b""))
        if self._received <= MOST_BYTES:
            return message
        if message["type"] == "http.request":
            return {"type": "http.disconnect"}
        await self._send({"type": "websocket.close", "code": _TOO_LONG, "reason": "the message is too long"})
        return {"type": "websocket.disconnect", "code": _TOO_LONG}


def _length(scope: Scope) -> int:
    """The length that a request announces, as far as it is a number."""
    digits = Headers(scope=scope).get("content-length", "0")[: len(str(MOST_BYTES)) + 1]
    return int(digits) if digits.isdecimal() else 0


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _AGAINST_THE_RULES, "reason": why})
    else:
        await PlainTextResponse(f"{why}\n", status)(scope, receive, send)
