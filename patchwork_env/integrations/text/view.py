"""What the text views of all games are made of: legal moves with their words, groups, and drawings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from patchwork_env.core.polyomino import Cells, extent

_BETWEEN_SHAPES = 3


class Choice(NamedTuple):
    """A legal move.

    Attributes:
        action: The action.
        word: Its word in the game's notation, by which it is called.
        group: The name of the group that it belongs to, such as ``"patch 17"``.
        orientation: The orientation of the piece that it places; None if it places none.
        row: The row of the top-left corner of that piece's bounding box, as the notation writes it.
        column: The column of that corner, as the notation writes it.
        level: The level on which a tile of NMBR 9 will lie; None for anything else.
    """

    action: int
    word: str
    group: str
    orientation: int | None = None
    row: str | None = None
    column: str | None = None
    level: int | None = None


class Group(NamedTuple):
    """Legal moves that belong together, or what is on offer but cannot be taken.

    Attributes:
        name: What the moves are called together, such as ``"advance"`` or ``"patch 17"``.
        about: A phrase about them.
        choices: The moves; empty if it cannot be taken, and ``about`` then says why.
        typical: The index of the one that serves as an example.
    """

    name: str
    about: str
    choices: tuple[Choice, ...]
    typical: int = 0

    @property
    def example(self) -> Choice | None:
        """A move that makes sense, if there is any; None in an empty group."""
        return self.choices[self.typical] if self.choices else None


@dataclass(frozen=True)
class View:
    """How one game is told in words.

    Attributes:
        rules: The rules in short, with how to write moves.
        situation: What a player should know besides the picture of the game, in phrases.
        picture: The boards as a player sees them, drawn with characters.
        groups: The legal moves by groups, of which there are few.
        piece: What a piece is called before its number.
        pieces: The names of the pieces.
        details: What may be asked for of placements.
        shapes: The shapes of the piece of a name by orientation; empty if there is none.
        move: A pattern that finds moves, as words and as phrases, in a text in lower case with single spaces.
        to_word: The word that a match of this pattern means.
        why_not: Why a word, which is of the right form, is no legal move.
        distance: How far a choice is from the move that a word means; infinite for another piece.
        forms: Examples of how moves may be written.
    """

    rules: Callable[[Any], str]
    situation: Callable[[Any, int], Iterable[str]]
    picture: Callable[[Any, int], str]
    groups: Callable[[Any], tuple[Group, ...]]
    piece: str
    pieces: str
    details: str
    shapes: Callable[[str], dict[int, Cells]]
    move: re.Pattern[str]
    to_word: Callable[[re.Match[str]], str]
    why_not: Callable[[Any, str], str]
    distance: Callable[[str, Choice], float]
    forms: str


def draw(shapes: dict[int, Cells]) -> list[str]:
    """Shapes side by side, each below the name of its orientation: ``#`` for a cell, ``.`` beside it."""
    columns = [[f"orientation {orientation}", *_rows(cells)] for orientation, cells in shapes.items()]
    width = max((len(column[0]) for column in columns), default=0) + _BETWEEN_SHAPES
    lines = zip_longest(*columns, fillvalue="")
    return ["".join(part.ljust(width) for part in line).rstrip() for line in lines]


def _rows(cells: Cells) -> list[str]:
    height, width = extent(cells)
    return [
        "".join("#" if (row, column) in cells else "." for column in range(width)) for row in range(height)
    ]


def listed(things: Iterable[object]) -> str:
    """Things as a list in a sentence; ``"none"`` if there are none."""
    return ", ".join(map(str, things)) or "none"
