"""Tells the page and the standard error stream what is being compiled, once after an installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from patchwork_env.core.progress import Progress, StatusLine, listen
from patchwork_env.play.streams import Event


@contextmanager
def telling(announce: Callable[[Event], None], may_show: Callable[[], bool]) -> Iterator[None]:
    """Within the block, every compilation is announced, and shown where that may be."""
    line = StatusLine()

    def note(progress: Progress) -> None:
        _, count, expected = progress
        text = f"compiling {count} of about {expected}"
        announce({"progress": text, "key": "compiling", "count": count, "expected": expected})
        if may_show():
            line.show(f"{text}, once after an installation")

    try:
        with listen(note):
            yield
    finally:
        line.clear()
