"""Queries and the checks of their fields; see ``docs/reference/protocol.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from patchwork_env.agents.options import BUDGETS, LEVELS, MOST_SIMULATIONS
from patchwork_env.agents.specs import with_budget
from patchwork_env.core.checks import check_between, check_one_of
from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import Check, FieldError, check_fields, unknown_field
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.core.storage import parse_hexadecimal
from patchwork_env.games import rules_of
from patchwork_env.service import positions
from patchwork_env.service.fields import anything, between, lines, move, seconds, seed, spec, text, text_of

T = TypeVar("T")

MOST_SECONDS = 100_000
_LONGEST_ID = 256
_MOST_PRIORITY = 10**9

identity = text_of(_LONGEST_ID)
times = seconds(MOST_SECONDS, least=0.001)
effort = between(1, MOST_SIMULATIONS)


def level(value: Any, what: str) -> str:
    """Check the name of a budget."""
    return str(check_one_of(value, LEVELS, what))


def moves(value: Any, what: str) -> list[str | int]:
    """Check a list of words of the notation, or of actions."""
    return [move(entry, f"an entry of {what}") for entry in _listed(value, what)]


def plies(value: Any, what: str) -> list[int]:
    """Check a list of different numbers of moves."""
    found = [check_between(entry, 0, 10**6, f"an entry of {what}") for entry in _listed(value, what)]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{what} must name at least one ply, and none twice, not {short_repr(value)}")
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
    "state": text,
    "moves": moves,
    "plies": plies,
}
_AGENTS: dict[str, Check] = {
    "agent": spec,
    "level": level,
    "nodes": effort,
    "seconds": times,
    "simulations": effort,
    "priority": between(-_MOST_PRIORITY, _MOST_PRIORITY),
    "time_limit": times,
}
_FOR_PROGRAMS: dict[str, Check] = dict.fromkeys(("legal_moves", "legal_actions"), anything)
"""Fields for programs without rules of their own."""

NEEDED: dict[str, dict[str, Check]] = {
    "position": {},
    "legal_moves": {},
    "choose": {},
    "analyse": {},
    "terminate": {"terminate_id": identity},
    "terminate_all": {},
    "query_version": {},
    "query_agents": {"game": text},
    "query_components": {"game": text},
}
"""The required fields of each method, besides ``id`` and ``method``."""
ALLOWED: dict[str, dict[str, Check]] = {
    "position": _POSITIONS,
    "legal_moves": _POSITIONS,
    "choose": {**_POSITIONS, **_AGENTS, "seed": seed, **_FOR_PROGRAMS},
    "analyse": {**_POSITIONS, **_AGENTS, "lines": lines, "report_every": times},
    "terminate": {"plies": plies},
    "terminate_all": {"plies": plies},
}
"""The optional fields of each method."""


class Query(NamedTuple):
    """A valid query."""

    id: str
    method: str
    fields: dict[str, Any]  # without those that are null
    unknown: dict[str, str]  # a warning for each unknown field


def read_id(message: Mapping[str, Any]) -> str:
    """Return the id of a query."""
    given = check_fields({"id": message.get("id")}, {"id": identity})
    return str(given["id"])


def check_query(message: Mapping[str, Any]) -> Query:
    """Return the query of a message; ValueError if a field is not valid."""
    method = check_fields({"method": message.get("method")}, {"method": text})["method"]
    if method not in NEEDED:
        raise FieldError(f"there is no method {short_repr(method)}; {did_you_mean(method, NEEDED)}", "method")
    needed, allowed = NEEDED[method], ALLOWED.get(method, {})
    given = {name: value for name, value in message.items() if name not in ("id", "method")}
    known = {name: value for name, value in given.items() if name in needed or name in allowed}
    names = ("id", "method", *needed, *allowed)
    unknown = {name: unknown_field(name, names) for name in given if name not in known}
    return Query(read_id(message), method, check_fields(known, needed, allowed), unknown)


def game_of(fields: Mapping[str, Any]) -> BaseGame:
    """Return the game of a query, with all its moves."""
    game = _beginning_of(fields)
    for number, entry in enumerate(fields.get("moves", ()), 1):
        try:
            game.play(positions.action_of(game, entry))
        except ValueError as error:
            raise FieldError(f"entry {number} of moves: {error}", "moves") from None
    return game


def _beginning_of(fields: Mapping[str, Any]) -> BaseGame:
    given = [name for name in ("notation", "state", "options") if name in fields]
    if len(given) > 1:
        raise FieldError(f"the message has {' and '.join(map(repr, given))}; give one of them", given[1])
    if "game" not in fields and "notation" not in fields:
        raise FieldError("the message names no game: it needs 'notation' or 'game'", "game")
    name = for_field("game", positions.known_game, fields["game"]) if "game" in fields else None
    if "notation" in fields:
        game = for_field("notation", positions.read_game, fields["notation"])
        found = rules_of(game.state).name
        if name not in (None, found):
            raise FieldError(f"the notation is that of a game of {found}, not of {name}", "game")
        return game
    assert name is not None
    if "state" in fields:
        return for_field(
            "state", lambda state: rules_of(name).game.from_bytes(parse_hexadecimal(state)), fields["state"]
        )
    known = dict.fromkeys(positions.options_of(name), anything)
    options = fields.get("options", {})
    return for_field("options", lambda: positions.new_game(name, check_fields(options, {}, known)))


def for_field(field: str, read: Callable[..., T], *arguments: Any) -> T:
    """Return ``read(*arguments)``; its ValueErrors become those of the field."""
    try:
        return read(*arguments)
    except ValueError as error:
        raise FieldError(str(error), field) from None


def positions_asked(game: BaseGame, fields: Mapping[str, Any]) -> dict[int, BaseGame]:
    """Return the positions that a query asks for, by ply; the last one if it names no plies."""
    asked = fields.get("plies", [game.num_moves])
    if max(asked) > game.num_moves:
        raise FieldError(
            f"there is no ply {max(asked)} in plies; the game has {game.num_moves} moves", "plies"
        )
    found = [*(before.clone() for before, _ in game._replay()), game]
    return {ply: found[ply] for ply in asked}


def agent_of(fields: Mapping[str, Any], default: str) -> str:
    """Return the spec of the agent for a query, with the budget that the query gives."""
    budgets = {name: fields[name] for name in BUDGETS if name in fields}
    if len(budgets) > 1:
        words = " and ".join(map(repr, budgets))
        raise FieldError(f"the message has {words}; give one of these budgets", list(budgets)[-1])
    return for_field("agent", partial(with_budget, **budgets), fields.get("agent", default))
