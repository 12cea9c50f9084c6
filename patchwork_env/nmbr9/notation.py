"""Text notation of moves and games, compact enough for a mail and readable by eye.

A move is one word: ``7/3@-2,5`` places tile 7 in orientation 3 with the top-left corner of its bounding box
two rows above and five columns right of that of the first tile on the table, which itself is ``4/0@0,0``. In
free order ``=7`` chooses a tile before it is placed. A game is a line with the set-up, then the moves of all
players by turns::

    nmbr9/1 players=1 order=unknown rounds=20 deck=4,7,...
    4/0@0,0 7/3@-2,5 ...

A game that started from a stored state has ``nmbr9/1 state=<hexadecimal bytes>`` as its first line.
"""

from __future__ import annotations

import re

from patchwork_env.nmbr9.actions import (
    FIRST_CHOICE,
    NUM_TURNS,
    TABLE_SIZE,
    choose_action,
    place_action,
    placement,
)
from patchwork_env.nmbr9.tables import middle

FORMAT = "nmbr9/1"
SET_UPS = ({"players", "order", "rounds", "deck"}, {"state"})
"""The fields of a game's first line."""
_PLACE = re.compile(r"([0-9])/([0-3])@(0|-?[1-9][0-9]?),(0|-?[1-9][0-9]?)")
_CHOOSE = re.compile(r"=([0-9])")

Corner = tuple[int, int]


def move_text(action: int, digit: int | None, first: Corner | None) -> str:
    """The word of a legal action.

    Args:
        action: The action.
        digit: The tile to be placed; None if one is to be chosen.
        first: Row and column of the first tile on the table; None as long as there is none.
    """
    if action >= FIRST_CHOICE:
        return f"={action - FIRST_CHOICE}"
    orientation, row, column = placement(action)
    top, left = first or (row, column)
    return f"{digit}/{orientation}@{row - top},{column - left}"


def parse_move(text: str, digit: int | None, first: Corner | None) -> int:
    """The action of a word, the inverse of :func:`move_text`; it may still be illegal.

    Args:
        text: The word.
        digit: See :func:`move_text`.
        first: See :func:`move_text`.

    Raises:
        ValueError: The word is no move, places another tile, or lies beyond the table.
    """
    if match := _CHOOSE.fullmatch(text):
        return choose_action(int(match[1]))
    match = _PLACE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a move; moves look like '7/3@-2,5' or, in free order, '=7'")
    if digit is None or int(match[1]) != digit:
        raise ValueError(f"{text!r} places tile {match[1]}; the tile to be placed is {digit}")
    orientation = int(match[2])
    top, left = first or middle(NUM_TURNS * digit + orientation)
    row, column = top + int(match[3]), left + int(match[4])
    if not (0 <= row < TABLE_SIZE and 0 <= column < TABLE_SIZE):
        raise ValueError(f"{text!r} lies beyond the table")
    return place_action(orientation, row, column)
