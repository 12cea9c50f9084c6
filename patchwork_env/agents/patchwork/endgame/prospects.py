"""What a player can still make of a quilt: the part of a position that matters for the rest of the game.

*Live* cells are those that some patch, which the player may come to buy, can cover together with other empty
cells. All other empty cells are *dead*: only special patches can cover them. Everything here errs on the safe
side: patches that are never offered again or become too expensive may count as available, never the reverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    LAST_SPACE,
    NUM_PATCHES,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.engine import empty_cells
from patchwork_env.patchwork.state import NOBODY, States
from patchwork_env.patchwork.tables import (
    FITS,
    FULL_WORD,
    INCOMES,
    INCOMES_UP_TO,
    PRICES,
    SECOND_WORD_ROW,
    SHIFTS,
    SPECIALS_UP_TO,
    SQUARES,
    TIMES,
    WORD_ROWS,
)

PROSPECTS = np.dtype(
    [
        ("empty", "<u8", 2),  # empty cells, as quilt words
        ("live", "<u8", 2),  # live cells, as quilt words
        ("num_dead", "<i8"),  # dead cells
        ("specials", "<i8"),  # the most special patches that the player may still place
        ("squares", "<i8"),  # bits of 7x7 squares that the player may still complete for the bonus tile
        ("num_patches", "<i8"),  # that the player may buy
        ("times", "<i8", NUM_PATCHES),  # of these patches
        ("gains", "<i8", NUM_PATCHES),  # points from buying each of them instead of advancing as many spaces
        ("spending", "<i8"),  # the prices of all patches that the player may buy, together
        ("least", "<i8"),  # points that the player gains at least from here to the end, and can enforce
        ("most", "<i8"),  # points that the player gains at most
    ]
)
Prospects = npt.NDArray[np.void]
"""Array of :data:`PROSPECTS` records."""

_U = np.uint64
_U0 = _U(0)
_SPLIT = _U(SECOND_WORD_ROW * QUILT_SIZE)
_LAST_ROWS = _U(WORD_ROWS * QUILT_SIZE - SECOND_WORD_ROW * QUILT_SIZE)  # where rows 7-8 start in word 1
_SIZES = np.array([patch.size for patch in PATCHES], np.int64)
_ORIENTATIONS = np.arange(NUM_ORIENTATIONS)
"""Loops over it become vector operations; the compiler unrolls loops whose length it knows."""


@kernel
def count_cells(word_0: np.uint64, word_1: np.uint64) -> int:
    """The number of cells of a set given as two quilt words."""
    return popcount(word_0) + popcount(word_1 >> _LAST_ROWS)


@kernel
def coverable(patch: int, empty_0: np.uint64, empty_1: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The cells, as quilt words, of all placements of a patch on empty cells."""
    covered_0, covered_1 = empty_0 ^ FULL_WORD, empty_1 ^ FULL_WORD
    upper_cells, lower_cells = _U0, _U0
    for o in range(len(_ORIENTATIONS)):
        blocked_0, blocked_1 = _U0, _U0
        for cell in range(SHIFTS.shape[1]):
            blocked_0 |= covered_0 >> SHIFTS[patch, cell, o]
            blocked_1 |= covered_1 >> SHIFTS[patch, cell, o]
        upper, lower = FITS[patch, 0, o] & ~blocked_0, FITS[patch, 1, o] & ~blocked_1
        for cell in range(SHIFTS.shape[1]):
            upper_cells |= upper << SHIFTS[patch, cell, o]
            lower_cells |= lower << SHIFTS[patch, cell, o]
    return upper_cells | ((lower_cells << _SPLIT) & FULL_WORD), lower_cells | (upper_cells >> _SPLIT)


@kernel
def write_prospects(states: States, i: int, player: int, out: Prospects, k: int) -> None:
    """Writes the prospects of a player in state ``i`` to record ``k``."""
    quilt, own = states[i]["quilt"], out[k]
    own["empty"][0], own["empty"][1] = quilt[player, 0] ^ FULL_WORD, quilt[player, 1] ^ FULL_WORD
    left = int(LAST_SPACE - np.int64(states[i]["position"][player]))
    marks = int(np.int64(INCOMES_UP_TO[LAST_SPACE]) - np.int64(INCOMES_UP_TO[LAST_SPACE - left]))
    _find_patches(states, i, player, marks, own)
    num_live = count_cells(own["live"][0], own["live"][1])
    num_empty = empty_cells(states, i, player)
    own["num_dead"] = num_empty - num_live
    own["specials"] = _specials_ahead(states, i, player)
    own["squares"] = _squares_ahead(own) if states[i]["bonus_owner"] == NOBODY else 0
    own["least"] = left + marks * np.int64(states[i]["income"][player])
    bonus = BONUS_POINTS if own["squares"] else 0
    from_specials = PENALTY_PER_EMPTY_CELL * min(own["specials"], num_empty)
    own["most"] = own["least"] + _most_from_patches(own, left) + bonus + from_specials


@kernel
def _find_patches(states: States, i: int, player: int, marks: int, own: Any) -> None:
    """Writes what concerns the patches that a player may come to buy."""
    empty_0, empty_1 = own["empty"][0], own["empty"][1]
    live_0, live_1 = _U0, _U0
    own["spending"], own["num_patches"] = 0, 0
    budget = -1
    if states[i]["position"][player] < LAST_SPACE:
        budget = _most_buttons(states, i, player)
    for place in range(states[i]["num_patches"]):
        patch = states[i]["circle"][place]
        if PRICES[patch] <= budget:
            cells_0, cells_1 = coverable(patch, empty_0, empty_1)
            if cells_0 | cells_1:
                live_0 |= cells_0
                live_1 |= cells_1
                own["spending"] += PRICES[patch]
                own["times"][own["num_patches"]] = TIMES[patch]
                own["gains"][own["num_patches"]] = _gain(patch, marks)
                own["num_patches"] += 1
    own["live"][0], own["live"][1] = live_0, live_1


@kernel
def _most_from_patches(own: Any, left: int) -> int:
    """The most points from buying patches instead of advancing, with ``left`` spaces left.

    All purchases but the last one take their full time and leave a space at least, which limits their number.
    The last one takes one space at least.
    """
    count, most_last = own["num_patches"], 0
    for k in range(count):
        most_last = max(most_last, own["gains"][k] + own["times"][k] - 1)
    _sort(own["times"], count)
    number, time = 0, 0
    while number < count - 1 and time + own["times"][number] < left:
        time += own["times"][number]
        number += 1
    _sort(own["gains"], count)
    total = most_last
    for k in range(count - number, count):
        total += max(own["gains"][k], 0)
    return int(total)


@kernel
def _sort(values: npt.NDArray[np.int64], count: int) -> None:
    """Sorts the first ``count`` values, ascending."""
    for k in range(1, count):
        value, place = values[k], k
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@kernel
def _most_buttons(states: States, i: int, player: int) -> int:
    """The most buttons that a player can have before a purchase to come."""
    position = np.int64(states[i]["position"][player])
    marks = np.int64(INCOMES_UP_TO[LAST_SPACE - 1]) - np.int64(INCOMES_UP_TO[position])
    income = np.int64(states[i]["income"][player])
    if marks > 0:
        for k in range(states[i]["num_patches"]):
            income += np.int64(INCOMES[states[i]["circle"][k]])
    return int(np.int64(states[i]["buttons"][player]) + LAST_SPACE - 1 - position + marks * income)


@kernel
def _gain(patch: int, marks: int) -> int:
    """The points from buying a patch instead of advancing as many spaces, with ``marks`` incomes ahead."""
    points = PENALTY_PER_EMPTY_CELL * _SIZES[patch] + np.int64(INCOMES[patch]) * marks
    return int(points - np.int64(PRICES[patch]) - np.int64(TIMES[patch]))


@kernel
def _specials_ahead(states: States, i: int, player: int) -> int:
    position, variant = states[i]["position"], states[i]["variant"]
    pending = states[i]["pending_special"] if states[i]["current_player"] == player else 0
    if position[player] == LAST_SPACE:
        return int(pending)
    taken = SPECIALS_UP_TO[variant, max(position[0], position[1])]
    return int(SPECIALS_UP_TO[variant, LAST_SPACE]) - int(taken) + int(pending)


@kernel
def _squares_ahead(own: Any) -> int:
    """Bits of the 7x7 squares whose dead cells special patches may cover."""
    dead_0, dead_1 = own["empty"][0] & ~own["live"][0], own["empty"][1] & ~own["live"][1]
    bits = 0
    for k in range(len(SQUARES)):
        if count_cells(dead_0 & SQUARES[k, 0], dead_1 & SQUARES[k, 1]) <= own["specials"]:
            bits |= 1 << k
    return bits
