"""Text notation of moves, games and positions, short and readable.

A move is one word: ``+`` advances; ``12/3@d5`` buys patch 12 and places it in orientation 3 with the top-left
corner of its bounding box in column d, row 5; ``*d5`` places a special patch. Columns are a-i from the left,
rows 1-9 from the top. A game is a line with the set-up, then the moves::

    patchwork/1 variant=revised first=0 circle=25,14,...,0
    25/0@a1 + 3/2@h8 ...

A game that started from a stored state has ``patchwork/1 state=<hexadecimal bytes>`` as its first line. A
position is also one line, with fields named after properties of ``Game`` and ``-`` for no player. Quilts are
written row by row, with ``#`` for a covered cell and a number for that many empty cells::

    patchwork/1 variant=revised player=1 pending_special=0 positions=3,0 buttons=4,5 incomes=0,0 bonus_owner=-
    first_finisher=- quilts=##7/#8/9/9/9/9/9/9/9,9/9/9/9/9/9/9/9/9 circle=25,14,...,0
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from patchwork_env.core.checks import check_between
from patchwork_env.core.names import short_repr
from patchwork_env.core.storage import numbers_text, parse_number, parse_numbers
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL, buy_action, placement, special_action
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    NUM_PLAYERS,
    QUILT_SIZE,
    VARIANTS,
)
from patchwork_env.patchwork.rules import check_player, check_variant
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import FULL_WORD, SECOND_WORD_ROW

SET_UPS = (
    ("variant", "first", "circle"),
    (
        *("variant", "player", "pending_special", "positions", "buttons", "incomes"),
        *("bonus_owner", "first_finisher", "quilts", "circle"),
    ),
    ("state",),
)
"""The fields of the first line: of a new game, of any position, or of a stored state."""
COLUMNS = "abcdefghi"
"""The columns of a quilt from the left; its rows are 1-9 from the top."""
_BUY = re.compile(r"([0-9]{1,9})/([0-7])@([a-i])([1-9])")
_SPECIAL = re.compile(r"\*([a-i])([1-9])")


def move_text(action: int, offered: Sequence[int]) -> str:
    """Return the word of a legal action; ``offered`` are the patches that may be bought."""
    if action == ADVANCE:
        return "+"
    if action >= FIRST_SPECIAL:
        return "*" + _cell_text(*divmod(action - FIRST_SPECIAL, QUILT_SIZE))
    slot, orientation, row, column = placement(action)
    return f"{offered[slot]}/{orientation}@{_cell_text(row, column)}"


def parse_move(text: str, offered: Sequence[int]) -> int:
    """Return the action of a word, the inverse of :func:`move_text`; it may still be illegal."""
    if text == "+":
        return ADVANCE
    if match := _SPECIAL.fullmatch(text):
        return special_action(*_parse_cell(*match.groups()))
    if match := _BUY.fullmatch(text):
        patch = int(match[1])
        if patch not in offered:
            raise ValueError(f"{text!r} buys patch {patch}; the offered patches are {list(offered)}")
        return buy_action(list(offered).index(patch), int(match[2]), *_parse_cell(match[3], match[4]))
    raise ValueError(f"{short_repr(text)} is not a move; moves look like '+', '12/3@d5' or '*d5'")


def quilt_text(bits: int) -> str:
    """Return a quilt as text; ``bits`` has a one at ``9 * row + column`` for each covered cell."""
    cells = "".join("#" if bits >> cell & 1 else "." for cell in range(NUM_CELLS))
    rows = (cells[start : start + QUILT_SIZE] for start in range(0, NUM_CELLS, QUILT_SIZE))
    return "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)


def parse_quilt(text: str) -> int:
    """Return the bits of a quilt; the inverse of :func:`quilt_text`."""
    rows = [re.sub("[1-9]", lambda empty: "." * int(empty[0]), row) for row in text.split("/")]
    for row, written in zip(rows, text.split("/"), strict=True):
        if not re.fullmatch("[.#]{9}", row):
            raise ValueError(f"the row {short_repr(written)} of a quilt is not nine cells, such as '##4#2'")
    if len(rows) != QUILT_SIZE:
        raise ValueError(f"a quilt has nine rows, not the {len(rows)} of {short_repr(text)}")
    return sum(1 << cell for cell, mark in enumerate("".join(rows)) if mark == "#")


def _cell_text(row: int, column: int) -> str:
    return f"{COLUMNS[column]}{row + 1}"


def _parse_cell(column: str, row: str) -> tuple[int, int]:
    return int(row) - 1, COLUMNS.index(column)


# --- set-ups and positions --------------------------------------------------------------------------------

_NOBODY = "-"
_PAIRS = {"positions": ("position", LAST_SPACE), "buttons": ("buttons", 2**15 - 1)}
_PAIRS |= {"incomes": ("income", 2**8 - 1)}
"""The fields of two numbers: their names in the record, and the highest numbers that it holds."""
_OWNERS = ("bonus_owner", "first_finisher")


def quilt_bits(states: States, player: int) -> int:
    """Return a quilt of the first record as an integer; bit ``9 * row + column`` is a covered cell."""
    upper, lower = states["quilt"][0, player].tolist()
    bits: int = upper | lower << SECOND_WORD_ROW * QUILT_SIZE
    return bits


def write_position(states: States) -> dict[str, str]:
    """Return the fields that describe the first record."""
    record = states[0]
    owners = {name: int(record[name]) for name in _OWNERS}
    quilts = (quilt_text(quilt_bits(states, player)) for player in range(NUM_PLAYERS))
    return {
        "variant": VARIANTS[record["variant"]],
        "player": str(record["current_player"]),
        "pending_special": str(record["pending_special"]),
        **{field: numbers_text(record[name].tolist()) for field, (name, _) in _PAIRS.items()},
        **{name: _NOBODY if owner == NOBODY else str(owner) for name, owner in owners.items()},
        "quilts": ",".join(quilts),
        "circle": numbers_text(record["circle"][: record["num_patches"]].tolist()),
    }


def read_position(fields: Mapping[str, str]) -> States:
    """Return an array of one unchecked record; the inverse of :func:`write_position`."""
    states = empty_states(1)
    states["variant"] = check_variant(fields["variant"])
    states["current_player"] = check_player(parse_number(fields["player"]))
    pending = check_between(parse_number(fields["pending_special"]), 0, 1, "pending_special")
    states["pending_special"] = pending
    for field, (name, most) in _PAIRS.items():
        numbers = parse_numbers(fields[field])
        if len(numbers) != NUM_PLAYERS or max(numbers) > most:
            raise ValueError(f"{field} is {short_repr(fields[field])}; it needs two numbers of 0 to {most}")
        states[name] = numbers
    for name in _OWNERS:
        states[name] = NOBODY if fields[name] == _NOBODY else check_player(parse_number(fields[name]))
    quilts = list(map(parse_quilt, fields["quilts"].split(",")))
    if len(quilts) != NUM_PLAYERS:
        raise ValueError(f"there are {len(quilts)} quilts; there must be two, with a comma between them")
    states["quilt"] = [(bits & int(FULL_WORD), bits >> SECOND_WORD_ROW * QUILT_SIZE) for bits in quilts]
    circle = parse_numbers(fields["circle"])
    if len(circle) > NUM_PATCHES or any(patch >= NUM_PATCHES for patch in circle):
        raise ValueError(f"the circle {short_repr(circle)} holds patches that do not exist")
    states["circle"][0, : len(circle)] = circle
    states["num_patches"] = len(circle)
    return states
