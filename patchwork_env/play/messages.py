"""The messages of the page: JSON of a known shape, checked before anything is done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from patchwork_env.agents.specs import MAX_SPEC_LENGTH
from patchwork_env.core.checks import as_integer, check_between, check_seed
from patchwork_env.core.documents import one_line, parse_json
from patchwork_env.core.names import hint, shorten
from patchwork_env.errors import OpponentError, TableEdgeError

MOST_BYTES = 2**16
"""The longest message; the longest game has less than a tenth of it."""
MOST_LINES = 50
"""The most lines that an analysis may be asked for."""
_LONGEST_ERROR = 500
_FOR_PEOPLE = (ValueError, OSError, ImportError, OpponentError, TableEdgeError)
"""Errors whose messages say all."""

Check = Callable[[Any, str], Any]
"""Returns a value if it is allowed, else raises ValueError with its name."""


def read_message(body: bytes) -> dict[str, Any]:
    """The object that the body of a request holds.

    Raises:
        ValueError: It is no text in UTF-8, no JSON, too deep, has a key twice, or is no object.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the message is no text in UTF-8: {error.reason} at byte {error.start}") from None
    message = parse_json(text, "the message")
    if not isinstance(message, dict):
        raise ValueError(f"a message is an object, not {shorten(message)}")
    return message


def check_fields(
    message: Mapping[str, Any], needed: Mapping[str, Check], allowed: Mapping[str, Check] | None = None
) -> dict[str, Any]:
    """The fields of a message that are given and not null, each checked.

    Args:
        message: The message.
        needed: The fields that it must have.
        allowed: The fields that it may have besides.

    Raises:
        ValueError: A field is missing, unknown, or has a value that is not allowed.
    """
    checks = {**needed, **(allowed or {})}
    for name in message:
        if name not in checks:
            raise ValueError(f"the message has an unknown field {shorten(name)}; {hint(name, checks)}")
    for name in needed:
        if message.get(name) is None:
            raise ValueError(f"the message lacks {name!r}; it needs {', '.join(map(repr, needed))}")
    return {name: checks[name](value, name) for name, value in message.items() if value is not None}


def error_of(message: str) -> dict[str, str]:
    """An error as the page reads it, on one line and not too long."""
    return {"error": one_line(message, _LONGEST_ERROR)}


def reason_of(error: BaseException) -> str:
    """What an error says, with its kind where it is none that is meant for people."""
    return str(error) if isinstance(error, _FOR_PEOPLE) and str(error) else f"{type(error).__name__}: {error}"


def text(value: Any, what: str) -> str:
    """A text of any length."""
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a text, not {shorten(value)}")
    return value


def spec(value: Any, what: str) -> str:
    """A text that may be the spec of an agent."""
    if len(text(value, what)) > MAX_SPEC_LENGTH:
        raise ValueError(f"{what} has {len(value)} characters; allowed are at most {MAX_SPEC_LENGTH}")
    return str(value)


def move(value: Any, what: str) -> str | int:
    """A word of the notation, or an action."""
    return value if isinstance(value, str) else as_integer(value, what)


def seed(value: Any, what: str) -> int:
    """The seed of random numbers."""
    return check_seed(value)


def lines(value: Any, what: str) -> int:
    """The number of lines of an analysis."""
    return check_between(value, 1, MOST_LINES, what)


def anything(value: Any, what: str) -> Any:
    """Any value; what it is for checks it."""
    return value
