"""Mutated messages and requests to the page's server: an answer that is sound, or the documented error."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from numpy.random import Generator

from patchwork_env import games
from patchwork_env.testing import check_position
from tests.attack.mutations import ODD_TEXTS, mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import SPECS, pick, require_message, started

BATCH = 60
ROUTES = ("components", "open", "play", "agents", "choose", "analyse")


@cache
def _client() -> Any:
    from tests.play.client import Client

    return Client()


def messages(random: Generator) -> int:
    """Messages of every route with odd, missing and exchanged fields, and with other bytes."""
    templates = [_template(route, random) for route in ROUTES for _ in range(2)]
    for _ in range(BATCH):
        route, message = pick(random, templates)
        _, other = pick(random, templates)
        body = json.dumps(_changed(message, other, random)).encode()
        if random.random() < 0.1:
            body = mutate_bytes(body, random)
        _require_answer(route, _client().ask(f"/api/{route}", body), random)
    return BATCH


def _changed(message: dict[str, Any], other: dict[str, Any], random: Generator) -> dict[str, Any]:
    """A message with other values: those of another message, or odd ones, or another notation."""
    kind = random.integers(4)
    if kind == 0:
        return mutate_tree(message, random)
    if kind == 1 and "notation" in message:
        return {**message, "notation": mutate_text(message["notation"], random, other.get("notation", ""))}
    shared = [key for key in message.keys() & other.keys() if key != "notation" or kind == 2]
    return message | {key: other[key] for key in sorted(shared)}


def _template(route: str, random: Generator) -> tuple[str, dict[str, Any]]:
    """A route with a message that is as it must be, or nearly."""
    rules = games.rules_of(pick(random, (games.PATCHWORK, games.NMBR9)))
    game = started(rules, random)
    legal = game.legal_actions().tolist()
    move = pick(random, legal or [0])
    asked = {"notation": game.notation(), "agent": pick(random, SPECS)}
    options = (
        {"seed": 3, "variant": "2014", "first_player": 1, "circle": None}
        if rules.name == games.PATCHWORK
        else {"seed": 3, "players": 2, "order": "free", "deck": None}
    )
    return route, {
        "components": {"game": rules.name},
        "agents": {"game": rules.name},
        "open": pick(random, ({"game": rules.name, **options}, {"notation": game.notation()})),
        "play": {
            "notation": game.notation(),
            "move": pick(random, (move, "+" if game.is_over else game.move_text(move))),
        },
        "choose": {**asked, "seed": 3},
        "analyse": {**asked, "lines": 3},
    }[route]


def _require_answer(route: str, answer: Any, random: Generator) -> None:
    assert answer.status in (200, 400, 413), f"status {answer.status}: {answer.body[:200]!r}"
    if answer.status != 200:
        require_message(ValueError(answer.json["error"]))
    elif route in ("choose", "analyse"):
        _require_events(route, answer.events)
    elif route == "open":
        _require_game(answer.json["notation"], answer.json["positions"][-1], random)
    elif route == "play":
        _require_game(answer.json["notation"], answer.json["position"], random)


def _require_events(route: str, events: list[dict[str, Any]]) -> None:
    """A stream ends with what was asked for, or with an error."""
    last = events[-1]
    if "error" in last:
        require_message(ValueError(last["error"]))
    else:
        assert last["choice"]["word"] if route == "choose" else last["analysis"]["done"]


def _require_game(notation: str, position: dict[str, Any], random: Generator) -> None:
    """The position is that of a game that can be played on, and is told truly."""
    rules = games.rules_of(position["game"])
    game = rules.game.from_notation(notation)
    check_position(game)
    assert position["legal"] == game.legal_actions().tolist()
    assert position["scores"] == list(game.scores())
    assert position["ply"] == game.num_moves


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


ATTACKS = {"page_messages": messages, "page_requests": requests}
NEEDS = dict.fromkeys(ATTACKS, "starlette")
