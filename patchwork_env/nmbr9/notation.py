"""Text notation of moves, games and positions, short and readable.

A move is one word: ``7/3@-2,5`` places tile 7 in orientation 3 with the top-left corner of its bounding box
two rows above and five columns right of that of the first tile on the table, which itself is ``4/0@0,0``. In
free order ``=7`` chooses a tile before it is placed. A game is a line with the set-up, then the moves of all
players by turns::

    nmbr9/1 players=1 order=unknown rounds=20 deck=4,7,...
    4/0@0,0 7/3@-2,5 ...

A game that started from a stored state has ``nmbr9/1 state=<hexadecimal bytes>`` as its first line. A
position is also one line. It has the player to move, the digits chosen in free order, and the tiles on each
player's table in the order of placing, with ``-`` for none::

    nmbr9/1 players=2 order=unknown rounds=20 deck=4,7,... player=1 chosen=-,- tables=4/0@0,0;7/3@-2,5|4/1@0,0
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.core.storage import numbers_text, parse_number, parse_numbers
from patchwork_env.nmbr9 import actions, engine
from patchwork_env.nmbr9.components import NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.rules import RULES, replay, set_up
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, States
from patchwork_env.nmbr9.tables import middle

SET_UPS = (
    ("players", "order", "rounds", "deck"),
    ("players", "order", "rounds", "deck", "player", "chosen", "tables"),
    ("state",),
)
"""The fields of the first line: of a new game, of any position, or of a stored state."""
_PLACE = re.compile(r"([0-9])/([0-3])@(0|-?[1-9][0-9]?),(0|-?[1-9][0-9]?)")
_CHOOSE = re.compile(r"=([0-9])")

Corner = tuple[int, int]  # the row and column of the top-left corner of a tile's bounding box


def move_text(action: int, digit: int | None, first: Corner | None) -> str:
    """Return the word of a legal action.

    ``digit`` is that of the tile to be placed, None if one is to be chosen; ``first`` is the corner of the
    first tile on the table, or None.
    """
    if action >= actions.FIRST_CHOICE:
        return f"={action - actions.FIRST_CHOICE}"
    orientation, row, column = actions.placement(action)
    top, left = first or (row, column)
    return tile_text(actions.NUM_TURNS * (digit or 0) + orientation, row - top, column - left)


def parse_move(text: str, digit: int | None, first: Corner | None) -> int:
    """Return the action of a word, the inverse of :func:`move_text`; it may still be illegal."""
    if match := _CHOOSE.fullmatch(text):
        return actions.choose_action(int(match[1]))
    piece, down, right = parse_tile(text)
    if digit is None or piece // actions.NUM_TURNS != digit:
        now = "one is to be chosen" if digit is None else f"the tile to be placed is {digit}"
        raise ValueError(f"{text!r} places tile {piece // actions.NUM_TURNS}; {now}")
    top, left = first or middle(piece)
    row, column = top + down, left + right
    if not (0 <= row < actions.TABLE_SIZE and 0 <= column < actions.TABLE_SIZE):
        raise ValueError(f"{text!r} is beyond the table")
    return actions.place_action(piece % actions.NUM_TURNS, row, column)


def tile_text(piece: int, down: int, right: int) -> str:
    """Return the word for a piece ``down`` rows below and ``right`` columns right of the first tile."""
    return f"{piece // actions.NUM_TURNS}/{piece % actions.NUM_TURNS}@{down},{right}"


def parse_tile(text: str) -> tuple[int, int, int]:
    """Return the piece, rows and columns of a word of :func:`tile_text`; numbers are at most 99."""
    match = _PLACE.fullmatch(text)
    if not match:
        examples = "'7/3@-2,5' or, in free order, '=7'"
        raise ValueError(f"{short_repr(text)} is not a move; moves look like {examples}")
    digit, orientation, down, right = map(int, match.groups())
    return actions.NUM_TURNS * digit + orientation, down, right


# --- set-ups and positions --------------------------------------------------------------------------------

_NOTHING = "-"
_FIRST = 100  # the row and column of the first tile on each table; only differences from them matter


def write_set_up(states: States) -> dict[str, str]:
    """Return the set-up fields of the game of the first record."""
    record = states[0]
    return {
        "players": str(record["num_players"]),
        "order": ORDERS[record["order"]],
        "rounds": str(record["num_rounds"]),
        "deck": numbers_text(record["deck"][: record["num_cards"]].tolist()),
    }


def read_set_up(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a game from the fields of :func:`write_set_up`."""
    return {
        "deck": parse_numbers(fields["deck"]),
        "players": parse_number(fields["players"]),
        "order": fields["order"],
        "deck_size": parse_number(fields["rounds"]),
    }


def write_position(states: States) -> dict[str, str]:
    """Return the fields that describe the first record."""
    record = states[0]
    players = range(record["num_players"])
    chosen = [int(record["chosen"][player]) for player in players]
    return write_set_up(states) | {
        "player": str(record["current_player"]),
        "chosen": ",".join(_NOTHING if digit == NO_DIGIT else str(digit) for digit in chosen),
        "tables": "|".join(_write_table(states, player) for player in players),
    }


def _write_table(states: States, player: int) -> str:
    tiles = range(engine.num_placed(states, 0, player))
    pieces, rows, columns = (states[name][0, player].tolist() for name in ("piece", "row", "column"))
    words = [tile_text(pieces[t], rows[t] - rows[0], columns[t] - columns[0]) for t in tiles]
    return ";".join(words) or _NOTHING


def read_position(fields: Mapping[str, str]) -> States:
    """Return an array of one record for the fields of a position; the inverse of :func:`write_position`."""
    options = read_set_up(fields)
    players = options["players"]
    states = set_up({**RULES.options, **options}, {}).initial_state
    tables = [[] if table == _NOTHING else table.split(";") for table in fields["tables"].split("|")]
    chosen = fields["chosen"].split(",")
    if not len(tables) == len(chosen) == players:
        raise ValueError(f"{players} players have {len(tables)} tables and {len(chosen)} chosen digits")
    if options["order"] != ORDERS[FREE] and any(digit != _NOTHING for digit in chosen):
        raise ValueError(
            f"no player can have chosen {short_repr(fields['chosen'])}: the order is {options['order']}"
        )
    states["current_player"] = check_between(parse_number(fields["player"]), 0, players - 1, "player")
    for player, words in enumerate(tables):
        if len(words) > options["deck_size"]:
            raise ValueError(f"player {player} has {len(words)} tiles in {options['deck_size']} rounds")
    states["round"] = len(tables[-1])  # the last player has placed no tile in an incomplete round
    for player, digit in enumerate(chosen):
        if digit != _NOTHING:
            number = check_between(parse_number(digit), 0, NUM_DIGITS - 1, "a chosen digit")
            states["chosen"][0, player] = number
    for player, words in enumerate(tables):
        _read_table(words, states, player)
    replayed = replay(states)
    if (replayed["chosen"] != states["chosen"]).any():
        raise ValueError(f"the players cannot have chosen {short_repr(fields['chosen'])} now")
    return replayed


def _read_table(words: Sequence[str], states: States, player: int) -> None:
    placed = engine.num_placed(states, 0, player)
    if len(words) != placed:
        raise ValueError(f"player {player} has {len(words)} tiles; it must have {placed} now")
    for t, word in enumerate(words):
        piece, down, right = parse_tile(word)
        states["piece"][0, player, t] = piece
        states["row"][0, player, t], states["column"][0, player, t] = _FIRST + down, _FIRST + right
