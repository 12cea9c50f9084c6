"""Who may ask for what: every request passes here before anything else sees it.

The server listens on the loopback interface alone, but every page in the user's browser can reach it there,
also under a name of its own that it lets point to 127.0.0.1 (DNS rebinding). So a request must name this
server as its host, and a message must come from this server's page, as browsers say in ``Origin``, and have a
type that no form can send.
"""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from patchwork_env.core.messages import encoded, error_of
from patchwork_env.core.names import short_repr

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
"""The headers of every answer; the page's own policy allows what stands in its HTML, too."""
NAMES = ("127.0.0.1", "localhost")  # the names of the loopback interface under which the page may be opened
JSON = "application/json"


class RequestGuard:
    """Lets a request through to an application if it comes from the page, and adds :data:`HEADERS`."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._why_refused(scope) or self._app
        await answer(scope, receive, send_with_headers)

    def _why_refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host, origin = (", ".join(headers.getlist(name)) for name in ("host", "origin"))
        if host not in self._hosts:
            return refusal(403, f"this server is {self._named()}, not {short_repr(host)}")
        may_lack_origin = scope["method"] in ("GET", "HEAD")  # where browsers name none
        if origin not in self._origins and ("origin" in headers or not may_lack_origin):
            return refusal(
                403, f"messages must come from the page of {self._named()}: Origin is {short_repr(origin)}"
            )
        if scope["method"] == "POST" and headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return refusal(
                415, f"Content-Type is {short_repr(headers.get('content-type'))}; it must be {JSON}"
            )
        if not scope["path"].isprintable():
            return refusal(404, f"there is no {short_repr(scope['path'])}")  # older StaticFiles stumble
        return None

    def _named(self) -> str:
        return " or ".join(sorted(self._hosts))


class JsonResponse(Response):
    """An answer in JSON with ASCII alone, which can also hold halves of characters from a message."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return encoded(content)


def refusal(status: int, message: str) -> JsonResponse:
    """The answer to a request that is refused."""
    return JsonResponse(error_of(message), status)
