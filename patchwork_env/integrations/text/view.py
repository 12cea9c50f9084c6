"""Parts of the text views of all games: legal moves with their words, groups, and drawings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from patchwork_env.core.polyomino import Cells, extent

TURNED = 2  # the distance that another orientation counts as, in cells
_BETWEEN_SHAPES = 3


class LegalMove(NamedTuple):
    """A legal move."""

    action: int
    word: str  # in the game's notation
    group: str  # such as ``"patch 17"``
    orientation: int | None = None  # None if it places no piece
    row: str | None = None  # of the top-left corner of the piece's bounding box, as the notation writes it
    column: str | None = None
    level: int | None = None  # of a tile of NMBR 9


class Group(NamedTuple):
    """Legal moves of one kind or piece; empty for a piece on offer that cannot be taken."""

    name: str  # such as ``"advance"`` or ``"patch 17"``
    about: str  # what the moves do, or why there are none
    choices: tuple[LegalMove, ...]
    typical: int = 0  # the index of an example

    @property
    def example(self) -> LegalMove | None:
        """A typical move; None without moves."""
        return self.choices[self.typical] if self.choices else None


@dataclass(frozen=True)
class View:
    """The functions and patterns that put one game in words."""

    rules: Callable[[Any], str]  # the rules in short, with how to write moves
    situation: Callable[[Any, int], Iterable[str]]  # what the picture does not show, in phrases
    picture: Callable[[Any, int], str]  # the boards as a player sees them, drawn with characters
    groups: Callable[[Any], tuple[Group, ...]]
    piece: str  # what a piece is called before its number
    pieces: str  # the names of the pieces
    details: str  # what may be asked for of placements
    filters: Callable[[Any], dict[str, range | str]]  # the values of these details that a position allows
    orientations: Callable[[str], tuple[Cells, ...]]  # of a piece, all of them; empty if there is none
    move: re.Pattern[str]  # of moves, as words and as phrases, in lower case with single spaces
    to_word: Callable[[re.Match[str]], str]  # the word that a match means
    why_not: Callable[[Any, str], str]  # why a word of the right form is no legal move
    distance: Callable[[str, LegalMove], float]  # from the move that a word means; infinite for another piece
    forms: str  # examples of how moves may be written


def lowest(shapes: tuple[Cells, ...], orientation: str) -> str:
    """Return the lowest orientation with the same shape, which is the legal one; unknown ones as given."""
    if not orientation.isdecimal() or int(orientation) >= len(shapes):
        return orientation
    return str(shapes.index(shapes[int(orientation)]))


def draw(shapes: tuple[Cells, ...]) -> list[str]:
    """Draw different shapes side by side below their orientations: ``#`` for a cell, else ``.``."""
    columns = [
        [f"orientation {o}", *_rows(shapes[o])] for o in range(len(shapes)) if shapes[o] not in shapes[:o]
    ]
    width = max((len(column[0]) for column in columns), default=0) + _BETWEEN_SHAPES
    lines = zip_longest(*columns, fillvalue="")
    return ["".join(part.ljust(width) for part in line).rstrip() for line in lines]


def _rows(cells: Cells) -> list[str]:
    height, width = extent(cells)
    return [
        "".join("#" if (row, column) in cells else "." for column in range(width)) for row in range(height)
    ]


def listed(things: Iterable[object]) -> str:
    """Join things with commas; ``"none"`` if there are none."""
    return ", ".join(map(str, things)) or "none"
