"""Text notation of moves and games, compact enough for a mail and readable by eye.

A move is one word: ``7/3@-2,5`` places tile 7 in orientation 3 with the top-left corner of its bounding box
two rows above and five columns right of that of the first tile on the table, which itself is ``4/0@0,0``. In
free order ``=7`` chooses a tile before it is placed. A game is a line with the set-up, then the moves of all
players by turns::

    nmbr9/1 players=1 order=unknown rounds=20 deck=4,7,...
    4/0@0,0 7/3@-2,5 ...

A game that started from a stored state has ``nmbr9/1 state=<hexadecimal bytes>`` as its first line.

A position is one line as well, and may be the first line of a game too. It says who is to move, which digits
the players have chosen in free order, and which tiles lie on each player's table, in the order in which they
were placed, with ``-`` for none::

    nmbr9/1 players=2 order=unknown rounds=20 deck=4,7,... player=1 chosen=-,- tables=4/0@0,0;7/3@-2,5|4/1@0,0
"""

from __future__ import annotations

import re

from patchwork_env.core.names import short_repr
from patchwork_env.nmbr9.actions import (
    FIRST_CHOICE,
    NUM_TURNS,
    TABLE_SIZE,
    choose_action,
    place_action,
    placement,
)
from patchwork_env.nmbr9.tables import middle

SET_UPS = (
    ("players", "order", "rounds", "deck"),
    ("players", "order", "rounds", "deck", "player", "chosen", "tables"),
    ("state",),
)
"""The fields that the first line may have: those of a new game, of any position, or of a stored state."""
_PLACE = re.compile(r"([0-9])/([0-3])@(0|-?[1-9][0-9]?),(0|-?[1-9][0-9]?)")
_CHOOSE = re.compile(r"=([0-9])")

Corner = tuple[int, int]


def move_text(action: int, digit: int | None, first: Corner | None) -> str:
    """The word of a legal action.

    Args:
        action: The action.
        digit: The digit of the tile to be placed; None if a tile is to be chosen.
        first: The row and column of the first tile on the table; None as long as there is none.
    """
    if action >= FIRST_CHOICE:
        return f"={action - FIRST_CHOICE}"
    orientation, row, column = placement(action)
    top, left = first or (row, column)
    return tile_text(NUM_TURNS * (digit or 0) + orientation, row - top, column - left)


def parse_move(text: str, digit: int | None, first: Corner | None) -> int:
    """The action of a word, the inverse of :func:`move_text`; it may still be illegal.

    Args:
        text: The word.
        digit: The digit of the tile to be placed; None if a tile is to be chosen.
        first: The row and column of the first tile on the table; None as long as there is none.

    Raises:
        ValueError: The word is no move, places another tile, or lies beyond the table.
    """
    if match := _CHOOSE.fullmatch(text):
        return choose_action(int(match[1]))
    piece, down, right = parse_tile(text)
    if digit is None or piece // NUM_TURNS != digit:
        raise ValueError(f"{text!r} places tile {piece // NUM_TURNS}; the tile to be placed is {digit}")
    top, left = first or middle(piece)
    row, column = top + down, left + right
    if not (0 <= row < TABLE_SIZE and 0 <= column < TABLE_SIZE):
        raise ValueError(f"{text!r} lies beyond the table")
    return place_action(piece % NUM_TURNS, row, column)


def tile_text(piece: int, down: int, right: int) -> str:
    """The word for a piece that lies ``down`` rows below and ``right`` columns right of the first tile."""
    return f"{piece // NUM_TURNS}/{piece % NUM_TURNS}@{down},{right}"


def parse_tile(text: str) -> tuple[int, int, int]:
    """The piece, rows and columns of a word, the inverse of :func:`tile_text`; numbers are at most 99.

    Raises:
        ValueError: The word does not place a tile.
    """
    match = _PLACE.fullmatch(text)
    if not match:
        raise ValueError(
            f"{short_repr(text)} is not a move; moves look like '7/3@-2,5' or, in free order, '=7'"
        )
    digit, orientation, down, right = map(int, match.groups())
    return NUM_TURNS * digit + orientation, down, right
