"""Readers of options: each makes a value from the text that a spec gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Reader = Callable[[str], Any]
"""Makes the value of an option from its text; the ValueError that it raises says what is allowed."""


def boolean(text: str) -> bool:
    """Reads ``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def seconds(text: str) -> float:
    """Reads a time in seconds."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise ValueError("a number above 0, such as 0.5")
    return float(text)


def integer(lowest: int, highest: int = 10**6) -> Reader:
    """A reader of integers of ``lowest ... highest``."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise ValueError(f"an integer of {lowest} to {highest}")
        return int(text)

    return read


def one_of(*words: str) -> Reader:
    """A reader that accepts only the words given."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return text

    return read
