"""Greedy play: a placement on the highest level, and there with the most contact.

Contact is the number of unit edges that a placement shares with tiles of its level. Ties go to the lower
action. In free order, the highest digit left is chosen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import U1, lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import LegalSet
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import NO_DIGIT, States
from patchwork_env.nmbr9.tables import FOOTPRINTS, HEIGHTS

_U = np.uint64

Integers = npt.NDArray[np.int64]


@kernel
def choose_actions(states: States, actions: Integers) -> None:
    """Write the greedy action of every game; none may be over."""
    for i in range(len(states)):
        actions[i] = choose_action(states, i)


@kernel(allocates=True)
def choose_action(states: States, i: int) -> int:
    """Return the greedy action of one game that is not over."""
    maps = np.empty((engine.NUM_MAPS, TABLE_SIZE), np.uint64)
    engine.legal(states, i, maps)
    digit = engine.digit_to_place(states, i)
    if digit == NO_DIGIT:
        return highest_digit(maps)
    painted = np.empty((engine.MAX_LEVELS + 1, engine.NUM_ROWS), np.uint64)
    number = engine.paint(states, i, states[i]["current_player"], painted)
    listed = np.empty((3, engine.MAX_LEGAL_ACTIONS), np.int64)
    actions, levels, contacts = listed[0], listed[1], listed[2]
    best = 0
    for k in range(1, list_placements(painted, number, digit, maps, actions, levels, contacts)):
        higher = levels[k] - levels[best]
        if higher > 0 or (higher == 0 and contacts[k] > contacts[best]):
            best = k
    return int(actions[best])


@kernel
def highest_digit(maps: LegalSet) -> int:
    """Return the action that chooses the highest digit of a legal set."""
    digit = NUM_DIGITS - 1
    while maps[engine.CHOICE_MAP, 0] >> _U(digit) & U1 == 0:
        digit -= 1
    return FIRST_CHOICE + digit


@kernel
def list_placements(
    painted: engine.Levels,
    number: int,
    digit: int,
    maps: LegalSet,
    actions: Integers,
    levels: Integers,
    contacts: Integers,
) -> int:
    """List the legal placements of a digit on a table of ``number`` levels; return their number."""
    count = 0
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        for row in range(TABLE_SIZE):
            word = maps[orientation, row]
            while word:
                column = lowest_bit(word)
                word &= word - U1
                level = engine.level_at(painted, number, piece, row, column)
                actions[count] = orientation * NUM_ANCHORS + row * TABLE_SIZE + column
                levels[count] = level
                contacts[count] = contact(painted, level, piece, row, column)
                count += 1
    return count


@kernel
def contact(painted: engine.Levels, level: int, piece: int, row: int, column: int) -> int:
    """Return the number of unit edges that a placement shares with tiles of a level."""
    edges = 0
    for k in range(HEIGHTS[piece]):
        cells, cover = FOOTPRINTS[piece, k] << _U(column), painted[level, row + k]
        edges += popcount(cells & (cover << U1)) + popcount(cells & (cover >> U1))
        edges += popcount(cells & painted[level, row + k - 1]) + popcount(cells & painted[level, row + k + 1])
    return edges
