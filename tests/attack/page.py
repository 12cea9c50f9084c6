"""Mutated requests to the page's server: nothing but the page, and only to the page."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from numpy.random import Generator

from tests.attack.mutations import ODD_TEXTS, mutate_text
from tests.attack.sound import pick

BATCH = 60


@cache
def _client() -> Any:
    from tests.play.client import Client

    return Client()


def requests(random: Generator) -> int:
    """Requests with other methods, paths and headers: nothing but the page, and only to the page."""
    from patchwork_env.play.server import PAGE
    from tests.play.client import HEADERS

    files = {path.read_bytes() for path in PAGE.rglob("*") if path.is_file()}
    paths = ("/", "/js/main.js", "/index.html", "/api/open", "/js/../../command.py", "/%2e%2e/server.py")
    body = json.dumps({"game": "patchwork", "seed": 1}).encode()
    for _ in range(BATCH):
        path = mutate_text(pick(random, paths), random, pick(random, paths))
        headers = dict(HEADERS)
        name = pick(random, headers)
        foreign = pick(
            random,
            (*ODD_TEXTS, "http://evil.example", "evil.example:8053", mutate_text(headers[name], random)),
        )
        headers[name] = foreign.encode("latin-1", "replace").decode("latin-1")
        method = pick(random, ("GET", "POST", "HEAD", "PUT", "OPTIONS", "\0"))
        answer = _client().ask(path, body if method == "POST" else b"", method=method, headers=headers)
        assert answer.status < 500, f"status {answer.status}: {answer.body[:200]!r}"
        if headers[name] != HEADERS[name]:
            assert method != "POST" or name == "content-type" or answer.status == 403
            assert name != "host" or answer.status == 403
        if answer.status == 200 and method == "GET":
            assert answer.body in files, f"{path!r} gave {answer.body[:100]!r}"
    return BATCH


ATTACKS = {"page_requests": requests}
NEEDS = dict.fromkeys(ATTACKS, "starlette")
