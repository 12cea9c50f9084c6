"""What every placement leads to, evaluated one by one.

Tables after one placement differ little from each other: only the windows around the tile change, and only on
its level and the one above fits other tiles differently.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.records import copy
from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.agents.nmbr9.greedy import contact
from patchwork_env.agents.nmbr9.value import fits, relief
from patchwork_env.agents.nmbr9.value.fits import Record
from patchwork_env.agents.nmbr9.value.network import (
    Memory,
    Weights,
    add_windows,
    new_memory,
    read_table,
    subtract_windows,
    value_of,
)
from patchwork_env.core.bits import lowest_bit
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.engine import (
    MAX_LEVELS,
    NUM_MAPS,
    LegalSet,
    digit_to_place,
    legal,
    level_at,
    num_placed,
)
from patchwork_env.nmbr9.state import States
from patchwork_env.nmbr9.tables import FOOTPRINTS, HEIGHTS, SIZES, WIDTHS

LIKELY = 16
"""Placements on each level that are likely enough: values are learned from play among so many."""
_MOST_ACTIONS = 4096
"""That are looked at in one position; a table of 40 tiles in a line has fewer placements."""
_MOST_CONTACT = 40
"""No tile has a longer outline."""

_U, _U1 = np.uint64, np.uint64(1)


class Expansion(NamedTuple):
    """The successors of a position, and memory of one thread to evaluate them.

    Attributes:
        actions: int64, ascending; as many entries count as :func:`expand` says.
        values: float32, the points that each action brings, and those expected of the tiles to come.
    """

    actions: npt.NDArray[np.int64]
    values: Floats
    levels: npt.NDArray[np.int64]
    contacts: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.int64]
    maps: LegalSet
    memory: Memory


def new_expansion() -> Expansion:
    """Memory for one thread."""
    return Expansion(
        np.empty(_MOST_ACTIONS, np.int64),
        np.empty(_MOST_ACTIONS, np.float32),
        np.empty(_MOST_ACTIONS, np.int64),
        np.empty(_MOST_ACTIONS, np.int64),
        np.empty((MAX_LEVELS + 1, _MOST_CONTACT + 1), np.int64),
        np.empty((NUM_MAPS, TABLE_SIZE), np.uint64),
        new_memory(),
    )


@kernel
def expand(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluates the placements of the current player in a game that goes on.

    Args:
        states: Records.
        i: The index of the record; its tile is known.
        width: About how many placements of each level are evaluated: those with the most contact, and all
            that have as much.
        weights: The weights of the value.
        expansion: Receives actions and values.

    Returns:
        How many they are.
    """
    memory = expansion.memory[0]
    player = int(states[i]["current_player"])
    placed = num_placed(states, i, player)
    digit = digit_to_place(states, i)
    left = int(states[i]["num_rounds"]) - placed - 1
    number, windows = read_table(states, i, player, memory)
    legal(states, i, expansion.maps)
    count = _list_likely(memory, number, digit, width, expansion)
    copy(memory["base_relief"], weights[0]["relief_bias"])
    add_windows(memory["base_relief"], weights[0]["windows"], memory["rows"], windows)
    for level in range(number + 1):
        copy(memory["base_fits"][level], memory["fits"][level])
    memory["remaining"][digit] -= 1
    for k in range(count):
        level = expansion.levels[k]
        value = float(digit * level)
        if left > 0:
            value += _evaluate_successor(
                expansion.actions[k], level, digit, placed, number, left, weights[0], memory
            )
        expansion.values[k] = value
    return count


@kernel
def best_action(expansion: Expansion, count: int) -> int:
    """Index of the action of most value among the first ``count``; the first of them on equal terms."""
    best, most = 0, -math.inf
    for k in range(count):
        if expansion.values[k] > most:
            best, most = k, expansion.values[k]
    return best


@kernel
def _list_likely(memory: Record, number: int, digit: int, width: int, expansion: Expansion) -> int:
    """Lists of each level the legal actions with the most contact; returns their number."""
    count = _list_all(memory["levels"], number, digit, expansion)
    histogram, contacts, levels = expansion.histogram, expansion.contacts, expansion.levels
    histogram[: number + 1] = 0
    for k in range(count):
        histogram[levels[k], contacts[k]] += 1
    for level in range(number + 1):  # the least contact moves to entry 0
        least, sum_of = _MOST_CONTACT, histogram[level, _MOST_CONTACT]
        while least > 0 and sum_of < width:
            least -= 1
            sum_of += histogram[level, least]
        histogram[level, 0] = least
    kept = 0
    for k in range(count):
        if contacts[k] >= histogram[levels[k], 0]:
            expansion.actions[kept], levels[kept] = expansion.actions[k], levels[k]
            kept += 1
    return kept


@kernel
def _list_all(table: npt.NDArray[np.uint64], number: int, digit: int, expansion: Expansion) -> int:
    """Lists the legal actions with their levels and contacts; returns their number."""
    count = 0
    for orientation in range(NUM_TURNS):
        piece = NUM_TURNS * digit + orientation
        for row in range(TABLE_SIZE):
            word = expansion.maps[orientation, row]
            while word:
                column = lowest_bit(word)
                word &= word - _U1
                level = level_at(table, number, piece, row, column)
                expansion.actions[count] = orientation * NUM_ANCHORS + row * TABLE_SIZE + column
                expansion.levels[count] = level
                expansion.contacts[count] = contact(table, level, piece, row, column)
                count += 1
    return count


@kernel
def _evaluate_successor(
    action: int,
    level: int,
    digit: int,
    placed: int,
    number: int,
    left: int,
    weights: Record,
    memory: Record,
) -> float:
    """The value of the table after an action; the memory is left as it was."""
    piece = NUM_TURNS * digit + action // NUM_ANCHORS
    row, column = action % NUM_ANCHORS // TABLE_SIZE, action % TABLE_SIZE
    levels, changed = memory["levels"], memory["fits"]
    if level == number:
        levels[number + 1] = _U(0)
        memory["tiles_on"][number + 1] = memory["area"][number + 1] = 0
    for k in range(HEIGHTS[piece]):
        levels[level, row + k] |= FOOTPRINTS[piece, k] << _U(column)
    memory["piece"][placed], memory["level"][placed] = piece, level
    memory["row"][placed], memory["column"][placed] = row, column
    memory["tiles_on"][level] += 1
    memory["area"][level] += SIZES[digit]
    new_number = max(number, level + 1)
    for above in range(max(level, 1), level + 2):
        fits.count_fits(levels, above, placed + 1, memory, memory["remaining"], changed[above])
    gone, come = relief.list_changes(
        levels, row, column, HEIGHTS[piece], WIDTHS[piece], memory["grid"], memory["old"], memory["new"]
    )
    copy(memory["relief"], memory["base_relief"])
    subtract_windows(memory["relief"], weights["windows"], memory["old"], gone)
    add_windows(memory["relief"], weights["windows"], memory["new"], come)
    value = value_of(new_number, left, weights, memory)
    for k in range(HEIGHTS[piece]):
        levels[level, row + k] &= ~(FOOTPRINTS[piece, k] << _U(column))
    memory["tiles_on"][level] -= 1
    memory["area"][level] -= SIZES[digit]
    for above in range(max(level, 1), min(level + 1, number) + 1):
        copy(changed[above], memory["base_fits"][above])
    return value
