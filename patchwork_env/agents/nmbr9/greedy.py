"""The action that looks best now: the highest level, and there the most contact.

Contact is the number of unit edges that a placement shares with tiles of its level. Ties go to the lower
action. In free order the highest digit left is chosen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import U1, lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import (
    CHOICE_MAP,
    MAX_LEGAL_ACTIONS,
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

_U = np.uint64

Integers = npt.NDArray[np.int64]


@kernel
def choose_actions(states: States, actions: Integers) -> None:
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
        return highest_digit(maps)
    painted = np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64)
    number = paint(states, i, states[i]["current_player"], painted)
    actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
    levels, contacts = np.empty(MAX_LEGAL_ACTIONS, np.int64), np.empty(MAX_LEGAL_ACTIONS, np.int64)
    best = 0
    for k in range(1, list_placements(painted, number, digit, maps, actions, levels, contacts)):
        higher = levels[k] - levels[best]
        if higher > 0 or (higher == 0 and contacts[k] > contacts[best]):
            best = k
    return int(actions[best])


@kernel
def highest_digit(maps: LegalSet) -> int:
    """The choice of the highest digit of a legal set."""
    digit = NUM_DIGITS - 1
    while maps[CHOICE_MAP, 0] >> _U(digit) & U1 == 0:
        digit -= 1
    return FIRST_CHOICE + digit


@kernel
def list_placements(
    painted: Levels,
    number: int,
    digit: int,
    maps: LegalSet,
    actions: Integers,
    levels: Integers,
    contacts: Integers,
) -> int:
    """Lists the legal placements of a digit on a table of ``number`` levels; returns how many there are."""
    count = 0
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        for row in range(TABLE_SIZE):
            word = maps[orientation, row]
            while word:
                column = lowest_bit(word)
                word &= word - U1
                level = level_at(painted, number, piece, row, column)
                actions[count] = orientation * NUM_ANCHORS + row * TABLE_SIZE + column
                levels[count] = level
                contacts[count] = contact(painted, level, piece, row, column)
                count += 1
    return count


@kernel
def contact(painted: Levels, level: int, piece: int, row: int, column: int) -> int:
    """The number of unit edges that a placement shares with tiles of a level."""
    edges = 0
    for k in range(HEIGHTS[piece]):
        cells, cover = FOOTPRINTS[piece, k] << _U(column), painted[level, row + k]
        edges += popcount(cells & (cover << U1)) + popcount(cells & (cover >> U1))
        edges += popcount(cells & painted[level, row + k - 1]) + popcount(cells & painted[level, row + k + 1])
    return edges
