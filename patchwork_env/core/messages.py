"""Messages between programs: objects of JSON with validated fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from patchwork_env.core.documents import one_line, parse_json
from patchwork_env.core.names import did_you_mean, short_repr
from patchwork_env.errors import OpponentError

MOST_BYTES = 2**20
"""The longest query or answer; the longest game takes less than a hundredth of it."""
_LONGEST_ERROR = 500
_READABLE = (ValueError, OSError, ImportError, OpponentError)  # errors whose messages need no type

Check = Callable[[Any, str], Any]  # ``check(value, name)`` returns the value, or raises ValueError


def read_message(body: bytes) -> dict[str, Any]:
    """Return the object in the bytes of a message; ValueError if they are not an object of JSON in UTF-8."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the message is not in UTF-8: {error.reason} at byte {error.start}") from None
    message = parse_json(text, "the message")
    if not isinstance(message, dict):
        raise ValueError(f"a message must be an object, not {short_repr(message)}")
    return message


def check_fields(
    message: Mapping[str, Any], needed: Mapping[str, Check], allowed: Mapping[str, Check] | None = None
) -> dict[str, Any]:
    """Validate and return the fields of a message that are not null.

    ValueError if one is missing, unknown, or has a value that is not allowed.
    """
    checks = {**needed, **(allowed or {})}
    for name in message:
        if name not in checks:
            raise ValueError(
                f"the message has an unknown field {short_repr(name)}; {did_you_mean(name, checks)}"
            )
    for name in needed:
        if message.get(name) is None:
            raise ValueError(f"the message lacks {name!r}; it needs {', '.join(map(repr, needed))}")
    return {name: checks[name](value, name) for name, value in message.items() if value is not None}


def error_of(message: str) -> dict[str, str]:
    """Return the answer of servers to a failed query: its ``error``, one line of at most 500 characters."""
    return {"error": one_line(message, _LONGEST_ERROR)}


def reason_of(error: BaseException) -> str:
    """Return the message of an error, with its type if the message alone may be unclear."""
    return str(error) if isinstance(error, _READABLE) and str(error) else f"{type(error).__name__}: {error}"


def encoded(content: Any) -> bytes:
    """Return compact JSON in ASCII, which can also encode lone surrogates; all numbers must be finite."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
