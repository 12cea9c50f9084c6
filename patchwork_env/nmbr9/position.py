"""Positions as the fields of a line of text, which :mod:`~patchwork_env.nmbr9.notation` describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.core.storage import numbers_text, parse_number, parse_numbers
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.components import NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.notation import parse_tile, tile_text
from patchwork_env.nmbr9.rules import Variant, beginning
from patchwork_env.nmbr9.serialization import replay
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, States

_NOTHING = "-"
_FIRST = 100
"""The row and column that the first tile on a table gets; only differences from them matter."""


def write_set_up(states: States) -> dict[str, str]:
    """The fields of the set-up with which the game of the first record began."""
    record = states[0]
    return {
        "players": str(record["num_players"]),
        "order": ORDERS[record["order"]],
        "rounds": str(record["num_rounds"]),
        "deck": numbers_text(record["deck"][: record["num_cards"]].tolist()),
    }


def read_set_up(fields: Mapping[str, str]) -> dict[str, Any]:
    """The options of a game from the fields of :func:`write_set_up`.

    Raises:
        ValueError: A field has a value that it cannot have.
    """
    return {
        "deck": parse_numbers(fields["deck"]),
        "players": parse_number(fields["players"]),
        "order": fields["order"],
        "deck_size": parse_number(fields["rounds"]),
    }


def write_position(states: States) -> dict[str, str]:
    """The fields that describe the first record."""
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
    """An array of one record for the fields of a position; the inverse of :func:`write_position`.

    Raises:
        ValueError: A field has a value that it cannot have, or no moves lead to the position.
    """
    options = read_set_up(fields)
    players = options["players"]
    variant = Variant(options["order"], deck_size=options["deck_size"])
    states = beginning(variant, players, options["deck"])
    tables = [[] if table == _NOTHING else table.split(";") for table in fields["tables"].split("|")]
    chosen = fields["chosen"].split(",")
    if not len(tables) == len(chosen) == players:
        raise ValueError(f"{players} players have {len(tables)} tables and {len(chosen)} chosen digits")
    if variant.order != ORDERS[FREE] and any(digit != _NOTHING for digit in chosen):
        raise ValueError(
            f"nobody can have chosen {short_repr(fields['chosen'])}: the order is {variant.order}"
        )
    states["current_player"] = check_between(parse_number(fields["player"]), 0, players - 1, "player")
    states["round"] = len(tables[-1])  # whoever plays last has placed no tile in a round that goes on
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
    rounds, placed = int(states["num_rounds"][0]), engine.num_placed(states, 0, player)
    if len(words) > rounds:
        raise ValueError(f"player {player} has {len(words)} tiles in {rounds} rounds")
    if len(words) != placed:
        raise ValueError(f"player {player} has {len(words)} tiles, but must have {placed} now")
    for t, word in enumerate(words):
        piece, down, right = parse_tile(word)
        states["piece"][0, player, t] = piece
        states["row"][0, player, t], states["column"][0, player, t] = _FIRST + down, _FIRST + right
