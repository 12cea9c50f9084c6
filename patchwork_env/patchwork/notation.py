"""Text notation of moves and games, compact enough for a mail and readable by eye.

A move is one word: ``+`` advances; ``12/3@d5`` buys patch 12 and places it in orientation 3 with the top-left
corner of its bounding box in column d, row 5; ``*d5`` places a special patch. Columns are a-i from the left,
rows 1-9 from the top. A game is a line with the set-up, then the moves::

    patchwork/1 variant=revised first=0 circle=25,14,...,0
    25/0@a1 + 3/2@h8 ...

A game that started from a stored state has ``patchwork/1 state=<hexadecimal bytes>`` as its first line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL, buy_action, placement, special_action
from patchwork_env.patchwork.components import QUILT_SIZE

FORMAT = "patchwork/1"
_COLUMNS = "abcdefghi"
_BUY = re.compile(r"([0-9]+)/([0-7])@([a-i])([1-9])")
_SPECIAL = re.compile(r"\*([a-i])([1-9])")


def move_text(action: int, offered: Sequence[int]) -> str:
    """The word of a legal action when the patches ``offered`` may be bought."""
    if action == ADVANCE:
        return "+"
    if action >= FIRST_SPECIAL:
        return "*" + _cell_text(*divmod(action - FIRST_SPECIAL, QUILT_SIZE))
    slot, orientation, row, column = placement(action)
    return f"{offered[slot]}/{orientation}@{_cell_text(row, column)}"


def parse_move(text: str, offered: Sequence[int]) -> int:
    """The action of a word, the inverse of :func:`move_text`; it may still be illegal.

    Raises:
        ValueError: The word is no move, or buys a patch that is not offered.
    """
    if text == "+":
        return ADVANCE
    if match := _SPECIAL.fullmatch(text):
        return special_action(*_parse_cell(*match.groups()))
    if match := _BUY.fullmatch(text):
        patch = int(match[1])
        if patch not in offered:
            raise ValueError(f"{text!r} buys patch {patch}; the offered patches are {list(offered)}")
        return buy_action(list(offered).index(patch), int(match[2]), *_parse_cell(match[3], match[4]))
    raise ValueError(f"{text!r} is not a move; moves look like '+', '12/3@d5' or '*d5'")


def _cell_text(row: int, column: int) -> str:
    return f"{_COLUMNS[column]}{row + 1}"


def _parse_cell(column: str, row: str) -> tuple[int, int]:
    return int(row) - 1, _COLUMNS.index(column)


def game_text(set_up: dict[str, str], words: Sequence[str]) -> str:
    """A game from the fields of its set-up (variant, first and circle, or just state) and its moves."""
    fields = [f"{name}={value}" for name, value in set_up.items()]
    return " ".join([FORMAT, *fields]) + "\n" + " ".join(words) + "\n"


def parse_game(text: str) -> tuple[dict[str, str], list[str]]:
    """The fields of a game's set-up and its words, the inverse of :func:`game_text`.

    Raises:
        ValueError: The set-up is not complete, or has anything else in it.
    """
    first_line, _, moves = text.strip().partition("\n")
    name, *fields = first_line.split() or [""]
    if name != FORMAT:
        raise ValueError(f"the notation of a game starts with {FORMAT!r}, not with {name[:40]!r}")
    set_up = dict(field.partition("=")[::2] for field in fields)
    if len(set_up) < len(fields) or set(set_up) not in ({"variant", "first", "circle"}, {"state"}):
        raise ValueError(
            f"the set-up has the fields {fields}; it needs variant, first, circle, or just state"
        )
    return set_up, moves.split()


def parse_number(text: str) -> int:
    """A whole number of decimal digits.

    Raises:
        ValueError: It is something else.
    """
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} in the set-up is not a number")
    return int(text)


def parse_hexadecimal(text: str) -> bytes:
    """The bytes of a stored state.

    Raises:
        ValueError: They are not written as pairs of hexadecimal digits.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"the state {text[:40]!r} of the set-up is not hexadecimal") from None
