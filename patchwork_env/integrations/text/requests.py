"""What a player may ask without moving: texts such as ``placements of patch 17 orientation 3``."""

from __future__ import annotations

import re
from typing import Any

from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.integrations.text.answers import read_answer
from patchwork_env.integrations.text.moves import (
    describe,
    moves_text,
    placements_text,
    rules,
    shapes_text,
    view_of,
)

REQUESTS = {
    "rules": "the rules, and how moves are written",
    "position": "the position",
    "moves": "the kinds of legal moves, with their numbers",
    "placements": "legal placements, such as 'placements of {piece} 7', with any of {details}",
    "shapes": "the shape of any piece in all its orientations, such as 'shapes of {piece} 7'",
}
"""The first words of requests, each with a phrase about what it gives, for a game's own words to fill."""

_FILTERS = ("orientation", "level", "row", "column")
_GROUPS = ("patch", "tile", "special")
_FILLING = ("of", "in", "at", "on", "for", "and", "the", "all")
_DETAIL = "|".join((*_FILTERS, "page", *_GROUPS, *_FILLING))
_REQUEST = re.compile(rf"(?:{'|'.join(REQUESTS)})(?:[ ,]+(?:{_DETAIL})\b[^.!?:\"'()]*)?")


def is_request(text: str) -> bool:
    """Whether a text asks for something instead of moving: behind a mark, or in its last sentence."""
    return bool(_requested(text))


def _requested(text: object) -> str:
    """The request that a text makes, plain; empty if it makes none."""
    if not isinstance(text, str):
        return ""
    answer = read_answer(text, _REQUEST, re.Match.group)
    return answer.word or "" if answer.is_marked or answer.is_last else ""


def requests_text(game: BaseGame) -> str:
    """A line for each request that may be made in a game, for a prompt."""
    return "\n".join(f"- {name}: {_phrase(game, name)}" for name in REQUESTS)


def _phrase(game: BaseGame, name: str) -> str:
    view = view_of(game)
    return REQUESTS[name].format(piece=view.piece, details=view.details)


def ask(game: BaseGame, text: str, player: int | None = None) -> str:
    """The answer to a request, which begins with one of :data:`REQUESTS`; ValueError says what there is."""
    asked = _requested(text) or " ".join(str(text).lower().split())
    kind, _, rest = asked.partition(" ")
    if kind not in REQUESTS:
        raise ValueError(f"there is no request {short_repr(text)}; {did_you_mean(kind, REQUESTS)}")
    details = _details(rest)
    if kind == "placements":
        return placements_text(game, **details)
    if kind == "shapes" and set(details) == {"group"}:
        return shapes_text(game, details["group"])
    if details or kind == "shapes":
        raise ValueError(f"{short_repr(asked)} is not understood; {kind!r} gives {_phrase(game, kind)}")
    if kind == "position":
        return describe(game, player)
    return rules(game) if kind == "rules" else moves_text(game)


def _details(text: str) -> dict[str, Any]:
    """The arguments of :func:`placements_text` in a request."""
    words = [word for word in re.split(r"[ ,;]+", text) if word and word not in _FILLING]
    details: dict[str, Any] = {}
    while words:
        name, value = words.pop(0), words.pop(0) if words else ""
        if name in _GROUPS:
            details["group"] = f"{name} {value or 'patch'}"
        elif name in _FILTERS and value:
            details[name] = value
        elif name == "page" and re.fullmatch("[0-9]{1,6}", value):
            details[name] = int(value)
        else:
            raise ValueError(
                f"{short_repr(f'{name} {value}'.strip())} is not understood; after 'placements' may come "
                "'of patch 17', 'of tile 7', 'orientation 3', 'row 2', 'column d', 'level 1', 'page 2'"
            )
    return details
