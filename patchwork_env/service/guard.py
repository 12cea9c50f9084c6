"""The guard that checks every request to the servers on the user's machine.

Every page in the user's browser can send requests to a server on the loopback interface, even under the
page's own host name if that resolves to 127.0.0.1 (DNS rebinding). So a request must name this server as its
host. A message must have the ``Origin`` of a page of this server, and a content type that no form can send.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from patchwork_env.core.messages import encoded, error_of
from patchwork_env.core.names import short_repr

LOOPBACK = ("127.0.0.1", "localhost")  # the names of the loopback interface
JSON = "application/json"
_POLICY_VIOLATION = 1008  # a code of WebSockets


class RequestGuard:
    """Lets requests for this server and from its own pages through to an application.

    Args:
        app: The application.
        hosts: The hosts that a request may name, with their ports; None for any.
        headers: The headers of every answer, unless the application sets them.
        allows_programs: Whether messages may lack an ``Origin`` and the type of JSON, as programs send them.
        most_bytes: The most bytes of a message, whose length must be given; None if the application checks.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] | None,
        *,
        headers: Mapping[str, str] | None = None,
        allows_programs: bool = False,
        most_bytes: int | None = None,
    ) -> None:
        self._app, self._hosts, self._headers = app, hosts, headers or {}
        self._allows_programs, self._most_bytes = allows_programs, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        refused = self._why_refused(scope) if scope["type"] in ("http", "websocket") else None
        if refused and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": refused[1]})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = refusal(*refused) if refused else self._app
        await answer(scope, receive, send_with_headers)

    def _why_refused(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal; None if the request may pass."""
        headers = Headers(scope=scope)
        host, origin = (", ".join(headers.getlist(name)) for name in ("host", "origin"))
        if self._hosts is not None and host not in self._hosts:
            return 403, f"this server is {' or '.join(sorted(self._hosts))}, not {short_repr(host)}"
        method = scope.get("method", "GET")
        may_lack_origin = self._allows_programs or method in ("GET", "HEAD")  # browsers send none with these
        if origin not in (f"http://{host}", f"https://{host}") and (
            "origin" in headers or not may_lack_origin
        ):
            return 403, f"messages must come from the page of {host}: Origin is {short_repr(origin)}"
        kind = headers.get("content-type")
        is_json = (kind or "").partition(";")[0].strip() == JSON
        if method == "POST" and not is_json and not self._allows_programs:
            return 415, f"Content-Type is {short_repr(kind)}; it must be {JSON}"
        if not scope["path"].isprintable():  # older versions of StaticFiles fail on such paths
            return 404, f"there is no {short_repr(scope['path'])}"
        return None if self._most_bytes is None else self._too_long(headers, self._most_bytes)

    def _too_long(self, headers: Headers, most: int) -> tuple[int, str] | None:
        if "transfer-encoding" in headers:
            return 411, "a message must have a Content-Length"
        length = headers.get("content-length", "").lstrip("0")[: len(str(most)) + 1]
        if length.isdecimal() and int(length) > most:
            return 413, f"the message has more than {most:,} bytes"
        return None


class JsonResponse(Response):
    """An answer in ASCII JSON, which may hold lone surrogates from a message."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return encoded(content)


def refusal(status: int, message: str) -> JsonResponse:
    """Return the answer to a request that is refused."""
    return JsonResponse(error_of(message), status)
