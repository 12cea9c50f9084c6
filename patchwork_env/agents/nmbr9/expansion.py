"""The tables that the placements of a position lead to, evaluated one by one.

Tables after one placement differ little from each other: only the windows around the tile change, and the
fits of other tiles change only on its level and the one above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled import copy
from patchwork_env.agents.nmbr9 import features, fits
from patchwork_env.agents.nmbr9.fits import Record, Tile
from patchwork_env.agents.nmbr9.greedy import list_placements
from patchwork_env.agents.nmbr9.value import (
    Buffer,
    Weights,
    add_windows,
    new_buffer,
    read_table,
    subtract_windows,
    value_of,
)
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats
from patchwork_env.nmbr9.actions import NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.engine import (
    MAX_LEGAL_ACTIONS,
    MAX_LEVELS,
    NUM_MAPS,
    LegalSet,
    Levels,
    digit_to_place,
    legal,
    num_placed,
    paint,
)
from patchwork_env.nmbr9.state import NO_DIGIT, States
from patchwork_env.nmbr9.tables import FOOTPRINTS, HEIGHTS, SIZES

LIKELY = 16
"""The number of placements on each level among which values are learned from play."""
MOST_CONTACT = 40
"""The most contact of a placement; no tile has a longer outline."""

_U, _U1 = np.uint64, np.uint64(1)


class Expansion(NamedTuple):
    """The successors of a position, as many as :func:`expand` returns, and the buffers of one thread."""

    actions: npt.NDArray[np.int64]  # ascending
    values: Floats  # the points of each action plus those expected of the tiles to come
    levels: npt.NDArray[np.int64]
    contacts: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.int64]  # by level and contact, the number of actions
    maps: LegalSet
    buffer: Buffer


def new_expansion() -> Expansion:
    """The successors of no position."""
    return Expansion(
        np.empty(MAX_LEGAL_ACTIONS, np.int64),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.int64),
        np.empty(MAX_LEGAL_ACTIONS, np.int64),
        np.empty((MAX_LEVELS + 1, MOST_CONTACT + 1), np.int64),
        np.empty((NUM_MAPS, TABLE_SIZE), np.uint64),
        new_buffer(),
    )


@kernel
def expand(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluates the placements of the current player, whose next tile is known; returns their number.

    Evaluated are those on each level with the most contact, ``width`` of them and all that tie with the last.
    """
    buffer = expansion.buffer[0]
    player = int(states[i]["current_player"])
    placed = num_placed(states, i, player)
    digit = digit_to_place(states, i)
    left = int(states[i]["num_rounds"]) - placed - 1
    number, windows = read_table(states, i, player, buffer)
    legal(states, i, expansion.maps)
    count = _list_likely(buffer, number, digit, width, expansion)
    copy(buffer["base_relief"], weights[0]["relief_bias"])
    add_windows(buffer["base_relief"], weights[0]["windows"], buffer["rows"], windows)
    for level in range(number + 1):
        copy(buffer["base_fits"][level], buffer["fits"][level])
    buffer["remaining"][digit] -= 1
    for k in range(count):
        tile = fits.tile_of(expansion.actions[k], digit, expansion.levels[k])
        value = float(digit * tile.level)
        if left > 0:
            value += _value_with(tile, placed, number, left, weights[0], buffer)
        expansion.values[k] = value
    return count


@kernel(allocates=True)
def write_solo_game(states: States, i: int, order: int, game: States) -> int:
    """Writes the current player's table as a game of one player; returns the number of its tiles."""
    player = int(states[i]["current_player"])
    placed = num_placed(states, i, player)
    game[0] = states[i]
    game[0]["piece"][0] = states[i]["piece"][player]
    game[0]["level"][0] = states[i]["level"][player]
    game[0]["row"][0] = states[i]["row"][player]
    game[0]["column"][0] = states[i]["column"][player]
    game[0]["chosen"][0] = NO_DIGIT
    game[0]["num_players"] = 1
    game[0]["current_player"] = 0
    game[0]["round"] = placed
    game[0]["order"] = order
    return placed


@kernel
def best_action(expansion: Expansion, count: int) -> int:
    """The index of the first action with the highest value among the first ``count``."""
    best, most = 0, -math.inf
    for k in range(count):
        if expansion.values[k] > most:
            best, most = k, expansion.values[k]
    return best


@kernel
def list_all(states: States, i: int, expansion: Expansion) -> int:
    """Lists the placements of a legal set with their levels and contacts; returns their number."""
    painted = expansion.buffer[0]["levels"]
    number = paint(states, i, states[i]["current_player"], painted)
    return _list(painted, number, digit_to_place(states, i), expansion)


@kernel(inline=True)
def _list(painted: Levels, number: int, digit: int, expansion: Expansion) -> int:
    actions, levels, contacts = expansion.actions, expansion.levels, expansion.contacts
    return list_placements(painted, number, digit, expansion.maps, actions, levels, contacts)


@kernel
def _list_likely(buffer: Record, number: int, digit: int, width: int, expansion: Expansion) -> int:
    """Lists the legal actions with the most contact on each level; returns their number."""
    histogram, contacts, levels = expansion.histogram, expansion.contacts, expansion.levels
    count = _list(buffer["levels"], number, digit, expansion)
    histogram[: number + 1] = 0
    for k in range(count):
        histogram[levels[k], contacts[k]] += 1
    for level in range(number + 1):  # entry 0 receives the least contact that is kept
        histogram[level, 0] = least_contact(histogram[level], width)
    kept = 0
    for k in range(count):
        if contacts[k] >= histogram[levels[k], 0]:
            expansion.actions[kept], levels[kept] = expansion.actions[k], levels[k]
            kept += 1
    return kept


@kernel(inline=True)
def least_contact(histogram: npt.NDArray[np.int64], width: int) -> int:
    """The contact that at least ``width`` placements have, or all, from their numbers by contact."""
    least, sum_of = MOST_CONTACT, histogram[MOST_CONTACT]
    while least > 0 and sum_of < width:
        least -= 1
        sum_of += histogram[least]
    return least


@kernel
def _value_with(tile: Tile, placed: int, number: int, left: int, weights: Record, buffer: Record) -> float:
    """The value of the table with one more tile; the buffer is left as it was."""
    new_number = put(tile, placed, number, buffer)
    gone, come = features.list_changes(buffer["levels"], tile, buffer["grid"], buffer["old"], buffer["new"])
    copy(buffer["relief"], buffer["base_relief"])
    subtract_windows(buffer["relief"], weights["windows"], buffer["old"], gone)
    add_windows(buffer["relief"], weights["windows"], buffer["new"], come)
    value = value_of(new_number, left, weights, buffer)
    take_back(tile, number, buffer)
    return value


@kernel(inline=True)
def put(tile: Tile, placed: int, number: int, buffer: Record) -> int:
    """Puts a tile on a table of ``placed`` tiles on ``number`` levels; returns the new number of levels.

    All that depends on it follows but the relief.
    """
    piece, level, levels = tile.piece, tile.level, buffer["levels"]
    if level == number:
        levels[number + 1] = _U(0)
        buffer["tiles_on"][number + 1] = buffer["area"][number + 1] = 0
    for k in range(HEIGHTS[piece]):
        levels[level, tile.row + k] |= FOOTPRINTS[piece, k] << _U(tile.column)
    buffer["piece"][placed], buffer["level"][placed] = piece, level
    buffer["row"][placed], buffer["column"][placed] = tile.row, tile.column
    buffer["tiles_on"][level] += 1
    buffer["area"][level] += SIZES[piece // NUM_TURNS]
    for above in range(max(level, 1), level + 2):
        fits.count_fits(levels, above, placed + 1, buffer, buffer["remaining"], buffer["fits"][above])
    return max(number, level + 1)


@kernel(inline=True)
def take_back(tile: Tile, number: int, buffer: Record) -> None:
    """Leaves a buffer as it was before :func:`put`; ``base_fits`` are the fits of that table."""
    level = tile.level
    for k in range(HEIGHTS[tile.piece]):
        buffer["levels"][level, tile.row + k] &= ~(FOOTPRINTS[tile.piece, k] << _U(tile.column))
    buffer["tiles_on"][level] -= 1
    buffer["area"][level] -= SIZES[tile.piece // NUM_TURNS]
    for above in range(max(level, 1), min(level + 1, number) + 1):
        copy(buffer["fits"][above], buffer["base_fits"][above])
