"""Rows of the tables of ``docs/wrappers.md``: a wrapper, whether it works, and the proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

YES, NO, ODD = "yes", "no", "not useful"
"""It works; it refuses the environment; it takes it, and does what nobody wants."""

GAMES: dict[str, dict[str, Any]] = {"Patchwork": {}, "Nmbr9": {"players": 2, "deck_size": 3}}
"""The games that wrappers are tried on, with options."""


PICTURED = ("Nmbr9",)
"""The game whose pictures are tried: drawing one takes as long as thousands of moves."""


class Row(NamedTuple):
    """One wrapper in the table of its library.

    ``check`` tries it on one of ``games``, unless it is not tried; ``needs`` names modules that it imports.
    """

    name: str
    verdict: str
    note: str
    check: Callable[[str], None] | None = None
    needs: tuple[str, ...] = ()
    games: tuple[str, ...] = tuple(GAMES)

    def __repr__(self) -> str:
        return self.name

    def text(self) -> str:
        """The line of the table."""
        return f"| `{self.name}` | {self.verdict} | {self.note} |"


def choose(mask: Any, rng: np.random.Generator) -> int:
    """A random legal action, or 0 where nothing is legal and the action does not count."""
    legal = np.flatnonzero(np.asarray(mask))
    return int(rng.choice(legal)) if len(legal) else 0
