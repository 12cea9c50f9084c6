"""Bounds of the points that players can still gain in an ending, and the moves that are not dominated.

*Live* cells are empty cells that a patch which the player may still buy can cover together with other empty
cells. All other empty cells are *dead*: only special patches can cover them. The set of patches that the
player may still buy is never too small, but may be too large.

All moves are tried except placements that another one dominates. Two placements of the same patch
lead to positions that differ only in one quilt. With ``E`` the empty cells of a quilt and ``L`` its live
cells, quilt A is at least as good for its owner as quilt B, which has as many empty cells, if

- ``L(B)`` is part of ``E(A)``, and
- the bonus tile is already owned; or A completes a 7x7 square now; or B does not, and no square that may be
  completed on B has an empty cell on A that is covered on B.

Proof. Let the owner of A follow a strategy for B. Patches are placed as on B: there is room, because they
cover only live cells of B, and the conditions hold again afterwards. A special patch is placed as on B if
that cell is empty on A, otherwise on an empty cell of A that is not live on B. Such a cell exists, because B
then has a dead cell that is covered on A, and both have the same number of empty cells. Again the conditions
hold. So all purchases, moves and payments are the same, and squares are completed on A no later than on B.
Owning the bonus tile earlier changes only the score, in favor of its owner.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.placements import insert
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.bits import U1, lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.kernels import LegalSet
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork import engine, tables
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    NUM_PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.state import NOBODY, States, empty_states

PROSPECTS = np.dtype(
    [
        ("empty", "<u8", 2),  # empty cells, as quilt words
        ("live", "<u8", 2),  # live cells, as quilt words
        ("num_dead", "<i8"),  # dead cells
        ("specials", "<i8"),  # the maximum number of special patches that the player may still place
        ("squares", "<i8"),  # bits of 7x7 squares that the player may still complete for the bonus tile
        ("needed", "<i8"),  # the minimum number of cells to cover to complete one of these squares
        ("num_patches", "<i8"),  # the number of patches that the player may buy
        ("times", "<i8", NUM_PATCHES),  # of these patches
        ("sizes", "<i8", NUM_PATCHES),  # of these patches
        ("gains", "<i8", NUM_PATCHES),  # points of buying each of them instead of advancing as many spaces
        ("spending", "<i8"),  # the sum of the prices of these patches
        ("least", "<i8"),  # the points that the player can surely gain until the end
    ]
)
Prospects = npt.NDArray[np.void]  # of PROSPECTS

_U = np.uint64
_U0 = _U(0)
_SPLIT = _U(tables.SECOND_WORD_ROW * QUILT_SIZE)
_LAST_ROWS = _U((tables.WORD_ROWS - tables.SECOND_WORD_ROW) * QUILT_SIZE)  # where rows 7-8 start in word 1
_ORIENTATIONS = np.arange(NUM_ORIENTATIONS)
"""The compiler vectorizes loops over an array, but unrolls loops with a constant length."""


@kernel
def count_cells(word_0: np.uint64, word_1: np.uint64) -> int:
    """Return the number of cells of a set given as two quilt words."""
    return popcount(word_0) + popcount(word_1 >> _LAST_ROWS)


@kernel
def coverable(patch: int, empty_0: np.uint64, empty_1: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the cells, as quilt words, of all placements of a patch on empty cells."""
    covered_0, covered_1 = empty_0 ^ tables.FULL_WORD, empty_1 ^ tables.FULL_WORD
    upper_cells, lower_cells = _U0, _U0
    for o in range(len(_ORIENTATIONS)):
        blocked_0, blocked_1 = _U0, _U0
        for cell in range(tables.SHIFTS.shape[1]):
            blocked_0 |= covered_0 >> tables.SHIFTS[patch, cell, o]
            blocked_1 |= covered_1 >> tables.SHIFTS[patch, cell, o]
        upper, lower = tables.FITS[patch, 0, o] & ~blocked_0, tables.FITS[patch, 1, o] & ~blocked_1
        for cell in range(tables.SHIFTS.shape[1]):
            upper_cells |= upper << tables.SHIFTS[patch, cell, o]
            lower_cells |= lower << tables.SHIFTS[patch, cell, o]
    return upper_cells | ((lower_cells << _SPLIT) & tables.FULL_WORD), lower_cells | (upper_cells >> _SPLIT)


@kernel
def write_prospects(states: States, i: int, player: int, is_loose: bool, out: Prospects, k: int) -> None:
    """Write the prospects of a player, whose quilt may be loose, to record ``k``."""
    quilt, own = states[i]["quilt"], out[k]
    for word in range(2):
        own["empty"][word] = quilt[player, word] ^ tables.FULL_WORD
    left = LAST_SPACE - signed(states[i]["position"][player])
    marks = signed(tables.INCOMES_UP_TO[LAST_SPACE]) - signed(tables.INCOMES_UP_TO[LAST_SPACE - left])
    num_empty = engine.empty_cells(states, i, player)
    _find_patches(states, i, player, marks, num_empty if is_loose else -1, own)
    num_live = count_cells(own["live"][0], own["live"][1])
    own["num_dead"] = num_empty - num_live
    own["specials"] = _specials_ahead(states, i, player)
    own["squares"], own["needed"] = 0, NUM_CELLS
    if states[i]["bonus_owner"] == NOBODY:
        _find_squares(own, len(tables.SQUARES) - 1 if is_loose else 0)
    own["least"] = left + marks * signed(states[i]["income"][player])


@kernel
def _find_patches(states: States, i: int, player: int, marks: int, room: int, own: Any) -> None:
    """Write the fields about the patches that a player may still buy.

    ``room`` is the number of empty cells of a loose quilt, or -1 for a real one.
    """
    empty_0, empty_1 = own["empty"][0], own["empty"][1]
    live_0, live_1 = _U0, _U0
    own["spending"], own["num_patches"] = 0, 0
    budget = -1
    if states[i]["position"][player] < LAST_SPACE:
        budget = _most_buttons(states, i, player)
    for place in range(states[i]["num_patches"]):
        patch = states[i]["circle"][place]
        if tables.PRICES[patch] <= budget:
            if room < 0:
                cells_0, cells_1 = coverable(patch, empty_0, empty_1)
            else:
                cells_0, cells_1 = (empty_0, empty_1) if tables.SIZES[patch] <= room else (_U0, _U0)
            if cells_0 | cells_1:
                live_0 |= cells_0
                live_1 |= cells_1
                own["spending"] += tables.PRICES[patch]
                own["times"][own["num_patches"]] = tables.TIMES[patch]
                own["sizes"][own["num_patches"]] = tables.SIZES[patch]
                own["gains"][own["num_patches"]] = _gain(patch, marks)
                own["num_patches"] += 1
    own["live"][0], own["live"][1] = live_0, live_1


@kernel
def most_gain(states: States, i: int, player: int, own: Any) -> int:
    """Return an upper bound of the points that a player gains, and sort the lists of the prospects ``own``.

    All purchases except the last one take their full time and leave at least one space, which limits their
    number. The last one takes at least one space.
    """
    left = LAST_SPACE - signed(states[i]["position"][player])
    count, most_last = own["num_patches"], 0
    for k in range(count):
        most_last = max(most_last, own["gains"][k] + own["times"][k] - 1)
    _sort(own["times"], count)
    number, time = 0, 0
    while number < count - 1 and time + own["times"][number] < left:
        time += own["times"][number]
        number += 1
    _sort(own["gains"], count)
    specials = min(own["specials"], engine.empty_cells(states, i, player))
    total = own["least"] + most_last + PENALTY_PER_EMPTY_CELL * specials
    for k in range(count - number, count):
        total += max(own["gains"][k], 0)
    if own["squares"]:
        _sort(own["sizes"], count)
        for k in range(max(count - number - 1, 0), count):
            specials += own["sizes"][k]
        if own["needed"] <= specials:
            total += BONUS_POINTS
    return int(total)


@kernel
def _sort(values: npt.NDArray[np.int64], count: int) -> None:
    for k in range(1, count):
        value, place = values[k], k
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@kernel
def _most_buttons(states: States, i: int, player: int) -> int:
    """Return an upper bound of the buttons that a player has before any later purchase."""
    position = signed(states[i]["position"][player])
    marks = signed(tables.INCOMES_UP_TO[LAST_SPACE - 1]) - signed(tables.INCOMES_UP_TO[position])
    income = signed(states[i]["income"][player])
    if marks > 0:
        for k in range(states[i]["num_patches"]):
            income += signed(tables.INCOMES[states[i]["circle"][k]])
    return signed(states[i]["buttons"][player]) + LAST_SPACE - 1 - position + marks * income


@kernel
def _gain(patch: int, marks: int) -> int:
    """Return the points of buying minus those of advancing as many spaces, with ``marks`` incomes ahead."""
    points = PENALTY_PER_EMPTY_CELL * tables.SIZES[patch] + signed(tables.INCOMES[patch]) * marks
    return int(points - signed(tables.PRICES[patch]) - signed(tables.TIMES[patch]))


@kernel
def _specials_ahead(states: States, i: int, player: int) -> int:
    position, variant = states[i]["position"], states[i]["variant"]
    pending = states[i]["pending_special"] if states[i]["current_player"] == player else 0
    if position[player] == LAST_SPACE:
        return int(pending)
    taken = tables.SPECIALS_UP_TO[variant, max(position[0], position[1])]
    return int(tables.SPECIALS_UP_TO[variant, LAST_SPACE]) - int(taken) + int(pending)


@kernel
def _find_squares(own: Any, first: int) -> None:
    """Write the 7x7 squares, from ``first`` on, whose dead cells can be covered by special patches."""
    dead_0, dead_1 = own["empty"][0] & ~own["live"][0], own["empty"][1] & ~own["live"][1]
    for k in range(first, len(tables.SQUARES)):
        square_0, square_1 = tables.SQUARES[k, 0], tables.SQUARES[k, 1]
        if count_cells(dead_0 & square_0, dead_1 & square_1) <= own["specials"]:
            own["squares"] |= 1 << k
            lacking = count_cells(own["empty"][0] & square_0, own["empty"][1] & square_1)
            own["needed"] = min(own["needed"], lacking)


# --- moves that are not dominated ---------------------------------------------------------------------------


MOST_PLACEMENTS = 448  # the maximum number of placements of one patch: on an empty quilt

Quilts = npt.NDArray[np.uint64]
"""The quilts after placements, ``(7, MOST_PLACEMENTS + 1)``. Rows 0 and 1 are the words of the empty cells, 2
and 3 of the live cells, 4 and 5 of all 7x7 squares that may still be completed. Row 6 is all ones for a
placement that takes the bonus tile, else 0. Loops over placements, along the rows, are vectorized."""


class ChoiceBuffers(NamedTuple):
    """The buffers in which the moves of one position are compared."""

    legal_set: LegalSet
    placements: npt.NDArray[np.int64]  # those that are not dominated, then the next one
    quilts: Quilts
    listed: npt.NDArray[np.int64]  # the best of them
    values: npt.NDArray[np.float64]  # their estimated gains
    newcomer: Prospects  # of the player to move, after the next placement
    game: States  # one record, the position after a move
    evaluations: npt.NDArray[np.int64]  # (1,), the number of quilts evaluated


def new_choice_buffers() -> ChoiceBuffers:
    """Return buffers for one position at a time."""
    return ChoiceBuffers(
        np.empty((2, engine.NUM_MAPS), np.uint64),
        np.empty(MOST_PLACEMENTS + 1, np.int64),
        np.empty((7, MOST_PLACEMENTS + 1), np.uint64),
        np.empty(MOST_PLACEMENTS, np.int64),
        np.empty(MOST_PLACEMENTS),
        np.empty(1, PROSPECTS),
        empty_states(1),
        np.zeros(1, np.int64),
    )


@kernel
def list_choices(
    states: States,
    i: int,
    buffers: ChoiceBuffers,
    actions: npt.NDArray[np.int64],
    estimates: npt.NDArray[np.float64],
    width: int,
) -> int:
    """List actions in descending order of their estimated gains in points; return their number.

    At most ``width`` placements of each patch are listed, the most promising ones. One of the actions is a
    best one if no placement was left out for this reason. The arrays must have room for all legal actions.
    """
    engine.legal(states, i, buffers.legal_set)
    count, patches, first = 0, 1, engine.SPECIAL_MAP
    if not states[i]["pending_special"]:
        actions[0], estimates[0] = ADVANCE, _estimate(states, i, ADVANCE, buffers.game)
        count, patches, first = 1, NUM_OFFERED, 0
    for _ in range(patches):
        end = min(first + NUM_ORIENTATIONS, engine.NUM_MAPS)
        count = _add_placements(states, i, first, end, buffers, actions, estimates, count, width)
        first = end
    return count


@kernel
def _estimate(states: States, i: int, action: int, game: States) -> float:
    copy_record(game, 0, states, i)
    engine.apply(game, 0, action)
    return estimate_of(states, i, game)


@kernel
def estimate_of(states: States, i: int, game: States) -> float:
    """Return the estimated gain of the move from state ``i`` to ``game``.

    It is the points of the move with later income, minus a point per space that the token moves.
    """
    player = signed(states[i]["current_player"])
    before, after = signed(states[i]["position"][player]), signed(game[0]["position"][player])
    marks = signed(tables.INCOMES_UP_TO[LAST_SPACE]) - signed(tables.INCOMES_UP_TO[after])
    more_income = signed(game[0]["income"][player]) - signed(states[i]["income"][player])
    points = engine.score(game, 0, player) - engine.score(states, i, player) + more_income * marks
    return float(points - (after - before))


@kernel
def _add_placements(
    states: States,
    i: int,
    first_map: int,
    end_map: int,
    buffers: ChoiceBuffers,
    actions: npt.NDArray[np.int64],
    estimates: npt.NDArray[np.float64],
    count: int,
    width: int,
) -> int:
    """Add the placements of one patch that no other one dominates, at most the best ``width``."""
    kept = 0
    for k in range(first_map, end_map):
        for word in range(2):
            bits = buffers.legal_set[word, k]
            while bits:
                action = FIRST_BUY + k * NUM_CELLS + lowest_bit(bits) + word * engine.FIRST_LOWER
                bits &= bits - U1
                kept = _consider(states, i, action, buffers, kept)
    listed, values, length = buffers.listed[:width], buffers.values[:width], 0
    for k in range(kept):
        num_live = count_cells(buffers.quilts[2, k], buffers.quilts[3, k])
        estimate = _estimate(states, i, buffers.placements[k], buffers.game) + num_live / 4.0
        length = insert(listed, values, length, buffers.placements[k], estimate)
    for k in range(length):
        count = insert(actions, estimates, count, listed[k], values[k])
    return count


@kernel
def _consider(states: States, i: int, action: int, buffers: ChoiceBuffers, kept: int) -> int:
    """Compare a placement with those kept so far; return the new number of kept ones."""
    player, game = signed(states[i]["current_player"]), buffers.game
    copy_record(game, 0, states, i)
    engine.apply(game, 0, action)
    was_free = states[i]["bonus_owner"] == NOBODY
    write_prospects(game, 0, player, False, buffers.newcomer, 0)
    buffers.evaluations[0] += 1
    _note(buffers, kept, action, was_free and game[0]["bonus_owner"] == player)
    is_dominated = False
    for k in range(kept):
        is_dominated |= _dominates(buffers.quilts, k, kept, was_free)
    if is_dominated:
        return kept
    return _remove_dominated(buffers, kept, was_free)


@kernel
def _note(buffers: ChoiceBuffers, k: int, action: int, claims: bool) -> None:
    quilts, newcomer = buffers.quilts, buffers.newcomer[0]
    buffers.placements[k] = action
    for word in range(2):
        quilts[word, k], quilts[2 + word, k] = newcomer["empty"][word], newcomer["live"][word]
        squares = _U0
        for square in range(len(tables.SQUARES)):
            if newcomer["squares"] >> square & 1:
                squares |= tables.SQUARES[square, word]
        quilts[4 + word, k] = squares
    quilts[6, k] = ~_U0 if claims else _U0


@kernel(inline=True)
def _dominates(quilts: Quilts, a: int, b: int, bonus_is_free: bool) -> bool:
    """Whether placement ``a`` dominates ``b`` by the conditions above, computed without a branch."""
    outside = quilts[2, b] & ~quilts[0, a] | quilts[3, b] & ~quilts[1, a]
    worse = quilts[4, b] & quilts[0, a] & ~quilts[0, b] | quilts[5, b] & quilts[1, a] & ~quilts[1, b]
    free = ~_U0 if bonus_is_free else _U0
    return bool(outside | free & ~quilts[6, a] & (quilts[6, b] | worse) == _U0)


@kernel
def _remove_dominated(buffers: ChoiceBuffers, newcomer: int, bonus_is_free: bool) -> int:
    """Remove all placements that the newcomer dominates; return the number of the others."""
    left = 0
    for k in range(newcomer + 1):
        if k < newcomer and _dominates(buffers.quilts, newcomer, k, bonus_is_free):
            continue
        if left < k:
            buffers.placements[left] = buffers.placements[k]
            for row in range(len(buffers.quilts)):
                buffers.quilts[row, left] = buffers.quilts[row, k]
        left += 1
    return left
