"""Names, values and numbers in messages; those about unknown names give the nearest known one."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from patchwork_env.errors import UnknownOptionError

_LONGEST_NAME = 60  # longer names are cut in messages and not compared with known ones


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like ``name``; None if none is like it."""
    close = difflib.get_close_matches(name[:_LONGEST_NAME], list(known), 1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or else all of them."""
    known = tuple(known)
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else f"allowed are {', '.join(map(repr, known))}"


def short_repr(value: Any, most: int = _LONGEST_NAME) -> str:
    """Return a value as messages show it: on one line, truncated to ``most`` characters."""
    try:
        text = " ".join(repr(value).split())
    except (RecursionError, ValueError):  # too deep, or an integer of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


def quoted(word: object) -> str:
    """Return a path or another word as a shell takes it in a command."""
    return shlex.quote(str(word))


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, in the plural where it must be: ``1 game``, ``2,000 games``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Rows as lines of text, with the columns listed in ``left`` flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def unknown_option(owner: str, name: str, known: Iterable[str]) -> UnknownOptionError:
    """Return the error about an unknown option, in Python's words, which other libraries read."""
    hint = did_you_mean(name, known)
    return UnknownOptionError(f"{owner} got an unexpected keyword argument {short_repr(name)}; {hint}")
