"""Checks of the fields of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patchwork_env.agents.specs import MAX_SPEC_LENGTH
from patchwork_env.core.checks import as_integer, check_between, check_seed
from patchwork_env.core.messages import Check, check_fields
from patchwork_env.core.names import short_repr
from patchwork_env.service import positions

MOST_BYTES = 2**16  # the longest message; the longest game has less than a tenth of it
MOST_LINES = 50
DEFAULT_LINES = 5


def text(value: Any, what: str) -> str:
    """Check a str of any length."""
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a string, not {short_repr(value)}")
    return value


def text_of(most: int) -> Check:
    """Return the check of a str of at most ``most`` characters."""

    def check(value: Any, what: str) -> str:
        if len(text(value, what)) > most:
            raise ValueError(f"{what} has {len(value)} characters; allowed are at most {most}")
        return str(value)

    return check


spec = text_of(MAX_SPEC_LENGTH)


def lines(value: Any, what: str) -> int:
    """Check a number of lines of an analysis."""
    return check_between(value, 1, MOST_LINES, what)


def move(value: Any, what: str) -> str | int:
    """Check a word of the notation, or an action."""
    return value if isinstance(value, str) else as_integer(value, what)


def seed(value: Any, what: str) -> int:
    """Check a seed."""
    return check_seed(value)


def anything(value: Any, what: str) -> Any:
    """Accept any value, which is checked where it is used."""
    return value


def read_game_and(
    message: Mapping[str, Any], needed: Mapping[str, Check], allowed: Mapping[str, Check] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return the game of a message's ``notation``, and its other fields."""
    given = check_fields(message, {"notation": text, **needed}, allowed)
    game = positions.read_game(given.pop("notation"))
    return game, given
