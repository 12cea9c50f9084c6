"""The rules of NMBR 9, compiled: ``legal``, ``is_legal``, ``apply``, ``score``.

Kernels take ``(states, i)``, an array of records and an index, and change record ``i`` in place. They trust
their arguments; :class:`~patchwork_env.nmbr9.game.Game` and the environments check them. The module
:mod:`~patchwork_env.nmbr9.decks` deals the cards.

A table is painted from the list of its tiles: one array of 64-bit words for each level, a word for each row.
Legal placements are found in bulk. A cell of a level is free if it is covered on the level below and not on
this one. The anchors (top-left corners) at which an oriented tile does not fit are the OR, over its cells, of
the words of all cells that are not free, shifted by the cell's row and column. The anchors at which it shares
an edge with a tile of the level are the same OR of the words of all cells next to covered ones. Two kinds of
placements are then removed one by one: those on a single tile, which are few (see ``INSIDE``), and those that
spread the tiles over more than ``MAX_SPREAD`` rows or columns.

Some placement is always left. Within 63 rows and columns around the tiles on the table itself, the next tile
has at least 60x60 anchors. Each of those tiles, at most 39, blocks at most 7x7 of them: some anchors are free
and some are blocked. Where a free anchor is next to a blocked one, the tile touches another one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import LANES, add_fitting
from patchwork_env.nmbr9 import tables
from patchwork_env.nmbr9.actions import (
    FIRST_CHOICE,
    LONGEST_SIDE,
    MAX_SPREAD,
    NUM_ACTIONS,
    NUM_ANCHORS,
    NUM_TURNS,
    TABLE_SIZE,
)
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, States

NUM_MAPS = NUM_TURNS + 1
"""The number of maps in a legal set: one per orientation, and one for the choice of a digit."""
CHOICE_MAP = NUM_TURNS
MAX_LEVELS = MAX_CARDS // 2
"""The highest number of levels of a table: each but the highest level has at least two tiles."""
NUM_ROWS = TABLE_SIZE + LONGEST_SIDE
"""The number of rows of a painted level: those of all cells that a tile may cover, and one more."""

MAX_LEGAL_ACTIONS = 5343
"""An upper bound on the legal actions of a state. A placement on the table itself overlaps no tile there and
shares an edge with one; any other has its first cell above a cell of a tile. For each tile there are at most
137 such places, those of a 5 at another 5, and at most 39 tiles are on the table."""

_U = np.uint64
_U0, _U1 = _U(0), _U(1)
_ALL = ~_U0

LegalSet = npt.NDArray[np.uint64]
"""Shape ``(NUM_MAPS, TABLE_SIZE)``: per orientation the anchors of each row. Row 0 of the last map holds the
digits that may be chosen. As a whole it is a bitset over the actions."""
Levels = npt.NDArray[np.uint64]
"""Shape ``(MAX_LEVELS + 1, NUM_ROWS)``: per level the covered cells of each row."""


@kernel(inline=True)
def num_players(states: States, i: int) -> int:
    """Return the number of players, 1-4."""
    return int(states[i]["num_players"])


# --- the table ---------------------------------------------------------------------------------


@kernel
def is_over(states: States, i: int) -> bool:
    """Whether every player has placed all tiles."""
    return bool(states[i]["round"] == states[i]["num_rounds"])


@kernel
def num_placed(states: States, i: int, player: int) -> int:
    """Return the number of tiles on a player's table."""
    has_acted = player < states[i]["current_player"]
    return int(states[i]["round"]) + int(has_acted and states[i]["chosen"][player] == NO_DIGIT)


@kernel
def digit_to_place(states: States, i: int) -> int:
    """Return the digit of the tile to place in a game that is not over, or ``NO_DIGIT`` before a choice."""
    if states[i]["order"] == FREE:
        return int(states[i]["chosen"][states[i]["current_player"]])
    return int(states[i]["deck"][states[i]["round"]])


@kernel
def supply(states: States, i: int, player: int, counts: npt.NDArray[np.int64]) -> None:
    """Count the tiles of each digit, ``(10,)``, that a player in free order may still choose."""
    counts[:] = 0
    for k in range(states[i]["num_cards"]):
        counts[states[i]["deck"][k]] += 1
    for t in range(num_placed(states, i, player)):
        counts[states[i]["piece"][player, t] // NUM_TURNS] -= 1


@kernel
def paint(states: States, i: int, player: int, levels: Levels) -> int:
    """Paint a player's table, and an empty level above it; return the table's number of levels."""
    number = 0
    for t in range(num_placed(states, i, player)):
        number = max(number, 1 + int(states[i]["level"][player, t]))
    levels[: number + 1] = _U0
    for t in range(num_placed(states, i, player)):
        piece = states[i]["piece"][player, t]
        level, row = states[i]["level"][player, t], np.int64(states[i]["row"][player, t])
        column = _U(states[i]["column"][player, t])
        for k in range(tables.HEIGHTS[piece]):
            levels[level, row + k] |= tables.FOOTPRINTS[piece, k] << column
    return number


@kernel
def bounds(states: States, i: int, player: int, number: int) -> tuple[int, int, int, int]:
    """Return the first row, first column, height and width of a table's first ``number`` tiles."""
    top, left, bottom, right = 2 * TABLE_SIZE, 2 * TABLE_SIZE, 0, 0
    for t in range(number):
        piece = states[i]["piece"][player, t]
        row, column = int(states[i]["row"][player, t]), int(states[i]["column"][player, t])
        top, left = min(top, row), min(left, column)
        bottom, right = max(bottom, row + tables.HEIGHTS[piece]), max(right, column + tables.WIDTHS[piece])
    return top, left, bottom - top, right - left


@kernel
def _is_supporting(states: States, i: int, player: int, level: int) -> bool:
    """Whether a level has the two tiles on which a tile above it must rest."""
    number = 0
    for t in range(num_placed(states, i, player)):
        number += states[i]["level"][player, t] == level
    return number > 1


# --- legal actions ----------------------------------------------------------------------------------------


@kernel(allocates=True)
def legal(states: States, i: int, maps: LegalSet) -> int:
    """Write the legal actions of the current player and return their number."""
    maps[:, :] = _U0
    if is_over(states, i):
        return 0
    digit = digit_to_place(states, i)
    if digit == NO_DIGIT:
        return _write_choices(states, i, maps)
    player = states[i]["current_player"]
    if num_placed(states, i, player) == 0:
        return _write_first_placements(digit, maps)
    top, left, height, _ = bounds(states, i, player, num_placed(states, i, player))
    num_rows = LANES * (
        (height + LONGEST_SIDE + LANES) // LANES
    )  # whole vectors; rows too far off have no anchors
    first = max(min(top - LONGEST_SIDE, TABLE_SIZE - num_rows), 0)
    end = min(first + num_rows, TABLE_SIZE)
    levels = np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64)
    number = paint(states, i, player, levels)
    for level in range(number + _is_supporting(states, i, player, number - 1)):
        _write_placements(levels, level, digit, first, end, maps)
        if level > 0:
            _remove_single_supports(states, i, player, level, digit, maps)
    if min(top, left) < LONGEST_SIDE:
        _remove_too_far(top, left, digit, maps)
    count = 0
    for orientation in range(NUM_TURNS):
        for row in range(first, end):
            count += popcount(maps[orientation, row])
    return count


@kernel(allocates=True)
def _write_choices(states: States, i: int, maps: LegalSet) -> int:
    counts = np.empty(NUM_DIGITS, np.int64)
    supply(states, i, states[i]["current_player"], counts)
    for digit in range(NUM_DIGITS):
        if counts[digit] > 0:
            maps[CHOICE_MAP, 0] |= _U1 << _U(digit)
    return popcount(maps[CHOICE_MAP, 0])


@kernel
def _write_first_placements(digit: int, maps: LegalSet) -> int:
    """Write the middle as the only place of the first tile; any other would make the same table."""
    count = 0
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        if tables.IS_DISTINCT[piece]:
            maps[orientation, tables.FIRST_INDEX[tables.HEIGHTS[piece]]] = _U1 << _U(
                tables.FIRST_INDEX[tables.WIDTHS[piece]]
            )
            count += 1
    return count


@kernel(allocates=True)
def _write_placements(levels: Levels, level: int, digit: int, first: int, end: int, maps: LegalSet) -> None:
    """Add the anchors in rows ``first ... end - 1`` at which a tile fits and touches a tile of the level."""
    blocked, near = np.empty(NUM_ROWS, np.uint64), np.empty(NUM_ROWS, np.uint64)
    last = end + LONGEST_SIDE - 1
    _write_cells(
        levels[level, first : last + 1],
        level > 0,
        levels[max(level - 1, 0), first:last],
        blocked[first:last],
        near[first:last],
    )
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        if tables.IS_DISTINCT[piece]:
            rows, columns = tables.CELL_ROWS[piece], tables.CELL_COLUMNS[piece]
            for row in range(first, end, LANES):
                add_fitting(maps[orientation], row, near, blocked, row, rows, columns, tables.SIZES[digit])


@kernel
def _write_cells(
    cover: npt.NDArray[np.uint64],
    has_below: bool,
    below: npt.NDArray[np.uint64],
    blocked: npt.NDArray[np.uint64],
    near: npt.NDArray[np.uint64],
) -> None:
    """Write the cells of some rows of a level that are not free, and those that are next to its tiles.

    There are no tiles before these rows, and ``cover`` has one row more. On an empty level every cell counts
    as next to tiles. Words have no bits for cells beyond the last column; on the table itself these are free,
    since all tiles end before the last column.
    """
    covered = _U0
    for k in range(len(near)):
        covered |= cover[k]
        blocked[k] = cover[k] | (~below[k] if has_below else _U0)
        near[k] = (cover[k] << _U1) | (cover[k] >> _U1) | cover[k + 1]
    for k in range(1, len(near)):
        near[k] |= cover[k - 1]
    if covered == 0:
        near[:] = _ALL


@kernel
def _remove_single_supports(
    states: States, i: int, player: int, level: int, digit: int, maps: LegalSet
) -> None:
    """Remove placements on ``level`` that rest on a single tile; the maps must have no higher levels yet."""
    for t in range(num_placed(states, i, player)):
        if states[i]["level"][player, t] == level - 1:
            below = states[i]["piece"][player, t]
            row, column = np.int64(states[i]["row"][player, t]), np.int64(states[i]["column"][player, t])
            for orientation in range(NUM_TURNS):
                places = tables.INSIDE[NUM_TURNS * digit + orientation, below]
                while places:
                    down, right = divmod(lowest_bit(places), LONGEST_SIDE)
                    maps[orientation, row + down] &= ~(_U1 << _U(column + right))
                    places &= places - _U1


@kernel
def _remove_too_far(top: int, left: int, digit: int, maps: LegalSet) -> None:
    """Remove placements with which the tiles would spread too far; see :func:`_is_too_far`."""
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        maps[orientation, min(top + MAX_SPREAD + 1 - tables.HEIGHTS[piece], TABLE_SIZE) :] = _U0
        for row in range(TABLE_SIZE):
            maps[orientation, row] &= _ALL >> _U(max(tables.WIDTHS[piece] - left, 0))


@kernel
def _is_too_far(states: States, i: int, player: int, piece: int, row: int, column: int) -> bool:
    """Whether the tiles would spread over more than ``MAX_SPREAD`` rows or columns.

    Only placements after the tiles can: the window has no anchors that are too far before them.
    """
    bottom, right = row + tables.HEIGHTS[piece], column + tables.WIDTHS[piece]
    if max(bottom, right) <= MAX_SPREAD:
        return False
    top, left, _, _ = bounds(states, i, player, num_placed(states, i, player))
    return bool(max(bottom - top, right - left) > MAX_SPREAD)


@kernel(allocates=True)
def is_legal(states: States, i: int, action: int) -> bool:
    """Whether the current player may play ``action``, any integer."""
    if action < 0 or action >= NUM_ACTIONS or is_over(states, i):
        return False
    digit = digit_to_place(states, i)
    player = states[i]["current_player"]
    if digit == NO_DIGIT or action >= FIRST_CHOICE:
        counts = np.empty(NUM_DIGITS, np.int64)
        supply(states, i, player, counts)
        return digit == NO_DIGIT and action >= FIRST_CHOICE and counts[action - FIRST_CHOICE] > 0
    piece = NUM_TURNS * digit + action // NUM_ANCHORS
    row, column = action % NUM_ANCHORS // TABLE_SIZE, action % TABLE_SIZE
    if not tables.IS_DISTINCT[piece]:
        return False
    if num_placed(states, i, player) == 0:
        return bool(
            row == tables.FIRST_INDEX[tables.HEIGHTS[piece]]
            and column == tables.FIRST_INDEX[tables.WIDTHS[piece]]
        )
    if _is_too_far(states, i, player, piece, row, column):
        return False
    levels = np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64)
    number = paint(states, i, player, levels)
    level = level_at(levels, number, piece, row, column)
    if level < 0 or (level < number and not _touches(levels, level, piece, row, column)):
        return False
    return level == 0 or not _rests_on_one(states, i, player, level, piece, row, column)


@kernel(allocates=True)
def level_of(states: States, i: int, action: int) -> int:
    """Return the level of a legal placement of the current player."""
    levels = np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64)
    number = paint(states, i, states[i]["current_player"], levels)
    piece = NUM_TURNS * digit_to_place(states, i) + action // NUM_ANCHORS
    return level_at(levels, number, piece, action % NUM_ANCHORS // TABLE_SIZE, action % TABLE_SIZE)


@kernel
def level_at(levels: Levels, number: int, piece: int, row: int, column: int) -> int:
    """Return the level on which all cells of a placement are free, or -1 if they are not equally high."""
    for level in range(number):
        any_covered, all_covered = False, True
        for k in range(tables.HEIGHTS[piece]):
            # Cells beyond the last column are on the table, so they are not covered.
            cells = tables.FOOTPRINTS[piece, k]
            covered = (levels[level, row + k] >> _U(column)) & cells
            any_covered = any_covered or covered != 0
            all_covered = all_covered and covered == cells
        if not any_covered:
            return level
        if not all_covered:
            return -1
    return number


@kernel
def _touches(levels: Levels, level: int, piece: int, row: int, column: int) -> bool:
    """Whether a placement shares an edge with a tile of the level."""
    for k in range(tables.HEIGHTS[piece]):
        cells = tables.FOOTPRINTS[piece, k] << _U(column)
        cover = levels[level, row + k]
        near = (cover << _U1) | (cover >> _U1) | levels[level, row + k - 1] | levels[level, row + k + 1]
        if cells & near != 0:
            return True
    return False


@kernel
def _rests_on_one(states: States, i: int, player: int, level: int, piece: int, row: int, column: int) -> bool:
    """Whether a placement rests on a single tile."""
    for t in range(num_placed(states, i, player)):
        if states[i]["level"][player, t] == level - 1:
            down = row - np.int64(states[i]["row"][player, t])
            right = column - np.int64(states[i]["column"][player, t])
            if 0 <= down < LONGEST_SIDE and 0 <= right < LONGEST_SIDE:
                places = tables.INSIDE[piece, states[i]["piece"][player, t]]
                if (places >> _U(LONGEST_SIDE * down + right)) & _U1 != 0:
                    return True
    return False


# --- playing ----------------------------------------------------------------------------------------------


@kernel
def apply(states: States, i: int, action: int) -> None:
    """Play a legal action of the current player."""
    player = int(states[i]["current_player"])
    next_player = (player + 1) % int(states[i]["num_players"])
    if action >= FIRST_CHOICE:
        states[i]["chosen"][player] = action - FIRST_CHOICE
        states[i]["current_player"] = next_player
        return
    t = num_placed(states, i, player)
    level = level_of(states, i, action)
    states[i]["piece"][player, t] = NUM_TURNS * digit_to_place(states, i) + action // NUM_ANCHORS
    states[i]["level"][player, t] = level
    states[i]["row"][player, t] = action % NUM_ANCHORS // TABLE_SIZE
    states[i]["column"][player, t] = action % TABLE_SIZE
    states[i]["chosen"][player] = NO_DIGIT
    states[i]["current_player"] = next_player
    states[i]["round"] += next_player == 0
    center(states, i, player)


@kernel
def center(states: States, i: int, player: int) -> None:
    """Shift a table back to the middle."""
    number = num_placed(states, i, player)
    top, left, height, width = bounds(states, i, player, number)
    down, right = tables.FIRST_INDEX[height] - top, tables.FIRST_INDEX[width] - left
    if down != 0 or right != 0:
        for t in range(number):
            states[i]["row"][player, t] += down
            states[i]["column"][player, t] += right


# --- counting up ------------------------------------------------------------------------------------------


@kernel
def points(states: States, i: int, player: int, number: int) -> int:
    """Return the sum of digit times level over a player's first ``number`` tiles."""
    total = 0
    for t in range(number):
        digit = int(states[i]["piece"][player, t]) // NUM_TURNS
        total += digit * int(states[i]["level"][player, t])
    return total


@kernel
def score(states: States, i: int, player: int) -> int:
    """Return the sum of digit times level over a player's tiles; at any time of the game."""
    return points(states, i, player, num_placed(states, i, player))


@kernel
def visible_score(states: States, i: int, observer: int, player: int) -> int:
    """Return a player's score as an observer sees it: others without the placements of this round."""
    if player == observer:
        return score(states, i, player)
    return points(states, i, player, int(states[i]["round"]))
