"""Answers as JSON, and errors as the page reads them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from patchwork_env.protocol.messages import encoded, error_of


class JsonResponse(Response):
    """An answer in JSON with ASCII alone, which can also hold halves of characters from a message."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return encoded(content)


def refusal(status: int, message: str) -> JsonResponse:
    """The answer to a request that is refused."""
    return JsonResponse(error_of(message), status)
