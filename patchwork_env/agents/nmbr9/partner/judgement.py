"""How placements are judged: by eye, or with experience, which is the champion's learned value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.expansion import LIKELY, Expansion, expand
from patchwork_env.agents.nmbr9.greedy import contact
from patchwork_env.agents.nmbr9.partner.decision import Thoughts, decide
from patchwork_env.agents.nmbr9.partner.levels import Eye, Habits
from patchwork_env.agents.nmbr9.value import Weights
from patchwork_env.core.bits import lowest_bit
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
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

_U, _U1 = np.uint64, np.uint64(1)


class Sight(NamedTuple):
    """What one thread needs to see a table.

    Attributes:
        maps: The legal set.
        levels: The levels of the table.
    """

    maps: LegalSet
    levels: Levels


def new_sight() -> Sight:
    """Buffers for one thread."""
    return Sight(np.empty((NUM_MAPS, TABLE_SIZE), np.uint64), np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64))


@kernel
def choose_by_eye(
    states: States,
    habits: Habits,
    eye: Eye,
    sight: Sight,
    thoughts: Thoughts,
    streams: Streams,
    actions: npt.NDArray[np.int64],
) -> None:
    """Writes the actions of games, none of which is over."""
    for i in range(len(states)):
        legal(states, i, sight.maps)
        if digit_to_place(states, i) == NO_DIGIT:
            actions[i] = _highest_digit(sight.maps)
        else:
            actions[i] = decide(thoughts, _look(states, i, eye, sight, thoughts), habits, streams)


@kernel
def choose_by_experience(
    states: States,
    habits: Habits,
    weights: Weights,
    expansion: Expansion,
    thoughts: Thoughts,
    streams: Streams,
    actions: npt.NDArray[np.int64],
) -> None:
    """Writes the actions of games, none of which is over, by the value."""
    for i in range(len(states)):
        if digit_to_place(states, i) == NO_DIGIT:
            legal(states, i, expansion.maps)
            actions[i] = _highest_digit(expansion.maps)
            continue
        count = expand(states, i, LIKELY, weights, expansion)
        for k in range(count):
            thoughts.actions[k], thoughts.levels[k] = expansion.actions[k], expansion.levels[k]
            thoughts.worths[k] = expansion.values[k]
        actions[i] = decide(thoughts, count, habits, streams)


@kernel
def _highest_digit(maps: LegalSet) -> int:
    """The choice of the highest digit, which people take while they can build high with it."""
    digit = NUM_DIGITS - 1
    while maps[CHOICE_MAP, 0] >> _U(digit) & _U1 == 0:
        digit -= 1
    return FIRST_CHOICE + digit


@kernel
def _look(states: States, i: int, eye: Eye, sight: Sight, thoughts: Thoughts) -> int:
    """Judges all placements of a legal set by eye; returns their number."""
    digit, count = digit_to_place(states, i), 0
    number = paint(states, i, states[i]["current_player"], sight.levels)
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        for row in range(TABLE_SIZE):
            word = sight.maps[orientation, row]
            while word:
                column = lowest_bit(word)
                word &= word - _U1
                level = level_at(sight.levels, number, piece, row, column)
                edges = contact(sight.levels, level, piece, row, column)
                thoughts.actions[count] = orientation * NUM_ANCHORS + row * TABLE_SIZE + column
                thoughts.levels[count] = level
                thoughts.worths[count] = level * (eye.height + eye.points * digit) + eye.snugness * edges
                count += 1
    return count
