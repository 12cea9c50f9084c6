"""Formatting of names, values and numbers in messages."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from patchwork_env.errors import UnknownOptionError

_LONGEST_NAME = 60


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``; None if no name is similar."""
    close = difflib.get_close_matches(name[:_LONGEST_NAME], list(known), 1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, or else all of them."""
    known = tuple(known)
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else f"allowed are {', '.join(map(repr, known))}"


def short_repr(value: Any, most: int = _LONGEST_NAME) -> str:
    """Return the repr of a value on one line, truncated to ``most`` characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


def quoted(word: object) -> str:
    """Return a path or another word, quoted for a shell."""
    return shlex.quote(str(word))


def counted(number: int, what: str) -> str:
    """Return a number with its noun in the singular or plural: ``1 game``, ``2,000 games``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows as lines of text; columns in ``left`` are aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def unknown_option(owner: str, name: str, known: Iterable[str]) -> UnknownOptionError:
    """Return the error about an unknown option, in the words of Python's own, which libraries parse."""
    hint = did_you_mean(name, known)
    return UnknownOptionError(f"{owner} got an unexpected keyword argument {short_repr(name)}; {hint}")
