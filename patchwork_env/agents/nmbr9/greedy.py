"""The action that looks best now: the highest level, and there the most contact.

Contact is the number of unit edges that a placement shares with tiles of its level. Ties go to the lower
action. In free order the highest digit left is chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.engine import (
    CHOICE_MAP,
    MAX_LEVELS,
    NUM_MAPS,
    NUM_ROWS,
    LegalSet,
    Levels,
    digit_to_place,
    legal,
    level_at,
    paint,
)
from patchwork_env.nmbr9.state import NO_DIGIT, States
from patchwork_env.nmbr9.tables import FOOTPRINTS, HEIGHTS

MOST_PLACEMENTS = 4096
"""The most placements of a tile; a table of 40 tiles in a line has fewer."""
_U, _U1 = np.uint64, np.uint64(1)


class Placements(NamedTuple):
    """The placements of a tile, int64 ``(MOST_PLACEMENTS,)`` each.

    Attributes:
        actions: The actions, ascending.
        levels: The level of each.
        contacts: The contact of each with tiles of its level.
    """

    actions: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    contacts: npt.NDArray[np.int64]


@kernel
def choose_actions(states: States, actions: npt.NDArray[np.int64]) -> None:
    """Writes the greedy action of every game, none of which may be over."""
    for i in range(len(states)):
        actions[i] = choose_action(states, i)


@kernel(allocates=True)
def choose_action(states: States, i: int) -> int:
    """The greedy action of one game that is not over."""
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    legal(states, i, maps)
    digit = digit_to_place(states, i)
    if digit == NO_DIGIT:
        return FIRST_CHOICE + popcount(_below_highest(maps[CHOICE_MAP, 0]))
    levels = np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64)
    number = paint(states, i, states[i]["current_player"], levels)
    found = Placements(
        np.empty(MOST_PLACEMENTS, np.int64),
        np.empty(MOST_PLACEMENTS, np.int64),
        np.empty(MOST_PLACEMENTS, np.int64),
    )
    best = 0
    for k in range(1, list_placements(levels, number, digit, maps, found)):
        higher = found.levels[k] - found.levels[best]
        if higher > 0 or (higher == 0 and found.contacts[k] > found.contacts[best]):
            best = k
    return int(found.actions[best])


@kernel
def list_placements(levels: Levels, number: int, digit: int, maps: LegalSet, found: Placements) -> int:
    """Lists the legal placements of a digit on a painted table with ``number`` levels; returns how many."""
    count = 0
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        for row in range(TABLE_SIZE):
            word = maps[orientation, row]
            while word:
                column = lowest_bit(word)
                word &= word - _U1
                level = level_at(levels, number, piece, row, column)
                found.actions[count] = orientation * NUM_ANCHORS + row * TABLE_SIZE + column
                found.levels[count] = level
                found.contacts[count] = contact(levels, level, piece, row, column)
                count += 1
    return count


@kernel
def contact(levels: Levels, level: int, piece: int, row: int, column: int) -> int:
    """The number of unit edges that a placement shares with tiles of a level."""
    edges = 0
    for k in range(HEIGHTS[piece]):
        cells, cover = FOOTPRINTS[piece, k] << _U(column), levels[level, row + k]
        edges += popcount(cells & (cover << _U1)) + popcount(cells & (cover >> _U1))
        edges += popcount(cells & levels[level, row + k - 1]) + popcount(cells & levels[level, row + k + 1])
    return edges


@kernel
def _below_highest(word: np.uint64) -> np.uint64:
    """All bits below the highest one of a word that is not zero."""
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> _U(shift)
    return word >> _U1
