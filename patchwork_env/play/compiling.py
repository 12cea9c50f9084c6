"""Tells the page and the terminal what is being compiled, which happens once after an installation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from patchwork_env.core.progress import Progress, listen
from patchwork_env.play.streams import Event


@contextmanager
def telling(announce: Callable[[Event], None], may_show: Callable[[], bool]) -> Iterator[None]:
    """Within the block, every compilation is announced, and shown on the terminal where that may be."""
    is_shown = False

    def note(progress: Progress) -> None:
        nonlocal is_shown
        _, count, expected = progress
        text = f"compiling {count} of about {expected}"
        announce({"progress": text, "key": "compiling", "count": count, "expected": expected})
        if may_show():
            _show(f"\r{text}, once after an installation")
            is_shown = True

    try:
        with listen(note):
            yield
    finally:
        if is_shown:
            _show("\n")


def _show(text: str) -> None:
    """Writes to the terminal, as it is; nothing elsewhere."""
    with suppress(AttributeError, OSError, ValueError):  # there is no such stream, or it was closed
        if sys.stderr.isatty():
            print(text, end="", file=sys.stderr, flush=True)
