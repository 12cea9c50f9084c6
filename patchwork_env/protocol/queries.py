"""Queries and the checks of their fields; see ``docs/reference/protocol.md``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from patchwork_env.core.checks import as_number, check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import Check, check_fields
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.games import rules_of
from patchwork_env.service import positions
from patchwork_env.service.fields import anything, lines, move, seed, spec, text, text_of

MOST_SECONDS = 100_000
_LONGEST_ID = 256

identity = text_of(_LONGEST_ID)


def seconds(value: Any, what: str) -> float:
    """Check a number of seconds."""
    number = as_number(value, what, above=0)
    if number > MOST_SECONDS:
        raise ValueError(f"{what} is {short_repr(value)}; it must be at most {MOST_SECONDS:,}")
    return number


def moves(value: Any, what: str) -> list[str | int]:
    """Check a list of words of the notation, or of actions."""
    return [move(entry, f"an entry of {what}") for entry in _listed(value, what)]


def plies(value: Any, what: str) -> list[int]:
    """Check a list of different numbers of moves."""
    found = [check_between(entry, 0, 10**6, f"an entry of {what}") for entry in _listed(value, what)]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{what} must list at least one ply, each once, not {short_repr(value)}")
    return found


def options(value: Any, what: str) -> dict[str, Any]:
    """Check an object, whose fields the game checks."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object, not {short_repr(value)}")
    return value


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list, not {short_repr(value)}")
    return value


_POSITIONS: dict[str, Check] = {
    "game": text,
    "options": options,
    "notation": text,
    "moves": moves,
    "plies": plies,
}
_AGENTS: dict[str, Check] = {"agent": spec, "time_limit": seconds}
_FOR_PROGRAMS: dict[str, Check] = dict.fromkeys(("legal_moves", "legal_actions"), anything)
"""Fields for programs without rules of their own."""

NEEDED: dict[str, dict[str, Check]] = {
    "position": {},
    "legal_moves": {},
    "choose": {},
    "analyse": {},
    "terminate": {},
    "query_version": {},
    "query_agents": {"game": text},
    "query_components": {"game": text},
}
"""The required fields of each method, besides ``id`` and ``method``."""
ALLOWED: dict[str, dict[str, Check]] = {
    "position": _POSITIONS,
    "legal_moves": _POSITIONS,
    "choose": {**_POSITIONS, **_AGENTS, "seed": seed, **_FOR_PROGRAMS},
    "analyse": {**_POSITIONS, **_AGENTS, "lines": lines, "report_every": seconds},
    "terminate": {"terminate_id": identity},
}
"""The optional fields of each method."""


class Query(NamedTuple):
    """A valid query."""

    id: str
    method: str
    fields: dict[str, Any]  # without those that are null


def read_id(message: Mapping[str, Any]) -> str:
    """Return the id of a query."""
    given = check_fields({"id": message.get("id")}, {"id": identity})
    return str(given["id"])


def read_query(message: Mapping[str, Any]) -> Query:
    """Return the query of a message; ValueError if a field is not valid."""
    method = check_fields({"method": message.get("method")}, {"method": text})["method"]
    if method not in NEEDED:
        raise ValueError(f"there is no method {short_repr(method)}; {did_you_mean(method, NEEDED)}")
    needed = {"id": identity, "method": text, **NEEDED[method]}
    fields = check_fields(message, needed, ALLOWED.get(method))
    return Query(fields.pop("id"), fields.pop("method"), fields)


def game_of(fields: Mapping[str, Any]) -> BaseGame:
    """Return the game of a query, with all its moves."""
    game = _beginning_of(fields)
    for number, entry in enumerate(fields.get("moves", ()), 1):
        try:
            game.play(positions.action_of(game, entry))
        except ValueError as error:
            raise ValueError(f"entry {number} of moves: {error}") from None
    return game


def _beginning_of(fields: Mapping[str, Any]) -> BaseGame:
    if "notation" in fields:
        if "options" in fields:
            raise ValueError("the message has 'notation' and 'options'; give one of them")
        game = positions.read_game(fields["notation"])
        found = rules_of(game.state).name
        if positions.known_game(fields.get("game", found)) != found:
            raise ValueError(f"the notation is that of a game of {found}, not of {fields['game']}")
        return game
    if "game" not in fields:
        raise ValueError("the message names no game: it needs 'notation' or 'game'")
    return positions.new_game(fields["game"], fields.get("options", {}))


def positions_asked(game: BaseGame, fields: Mapping[str, Any]) -> dict[int, BaseGame]:
    """Return the positions that a query asks for, by ply; the last one if it names no plies."""
    asked = fields.get("plies", [game.num_moves])
    if max(asked) > game.num_moves:
        raise ValueError(f"there is no ply {max(asked)} in plies; the game has {game.num_moves} moves")
    found = [*(before.clone() for before, _ in game._replay()), game]
    return {ply: found[ply] for ply in asked}
