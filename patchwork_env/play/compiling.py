"""Tells the page and the terminal what is being compiled, which happens once after an installation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from patchwork_env.core.progress import Progress, listen
from patchwork_env.play.streams import Event


@contextmanager
def telling(announce: Callable[[Event], None]) -> Iterator[None]:
    """Within the block, every compilation is announced and shown on the terminal."""

    def note(progress: Progress) -> None:
        _, count, expected = progress
        text = f"compiling {count} of about {expected}"
        announce({"progress": text, "key": "compiling", "count": count, "expected": expected})
        _show(f"{text}, once after an installation", is_last=count == expected)

    with listen(note):
        yield


def _show(text: str, *, is_last: bool) -> None:
    """Writes over the last line of the terminal; nothing where nobody reads it."""
    with suppress(AttributeError, OSError, ValueError):  # there is no such stream, or it was closed
        if sys.stderr.isatty():
            print(f"\r{text}", end="\n" if is_last else "", file=sys.stderr, flush=True)
