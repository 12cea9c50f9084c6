"""Endings in which the quilt of one player is *loose*: every patch fits that has no more cells than are left.

A loose quilt is two numbers. The cells *left* are the live cells, plus the dead cells that special patches
may cover. The cells *needed* are the empty cells of the 7x7 square that has the fewest. When this number of
cells has been covered, the owner takes the bonus tile if it is free.

A loose quilt allows everything that the real one allows: the same patches fit, cover as many cells, and
complete a square no later. So the opponent's result against a loose quilt is a bound, which needs no list of
placements.

States encode a loose quilt as a quilt with this number of empty cells: the cells needed in one 7x7 square,
the others outside it. Patches are placed on covered cells, and then the quilt is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.endings.moves import ChoiceBuffers, count_cells, estimate_of
from patchwork_env.agents.patchwork.placements import insert
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork import engine, tables
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL
from patchwork_env.patchwork.components import (
    BONUS_SQUARE,
    NUM_CELLS,
    NUM_OFFERED,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.state import NOBODY, States

SQUARE = len(tables.SQUARES) - 1
"""The 7x7 square of loose quilts: the one in the last rows and columns."""
_CORNER = QUILT_SIZE - BONUS_SQUARE
_CENTER = NUM_CELLS // 2  # a cell of all squares
PATCH_ROWS, PATCH_COLUMNS = 3, 5
"""The size of a rectangle into which every patch fits in its flattest orientation."""
ANCHOR = (QUILT_SIZE - PATCH_ROWS) * QUILT_SIZE + _CORNER
"""The corner of such a rectangle, whose cells are always covered in loose quilts."""
FLATTEST = np.argmin(tables.FOOTPRINTS, axis=1)
"""The orientation of each patch with the fewest rows."""


def _first_cells(cells: Iterable[int]) -> npt.NDArray[np.uint64]:
    """Return the quilt words of the first ``n`` cells, by ``n``, ``(len(cells) + 1, 2)``."""
    bits, rows = 0, [(0, 0)]
    for cell in cells:
        bits |= 1 << cell
        rows.append((bits & int(tables.FULL_WORD), bits >> engine.FIRST_LOWER))
    return np.array(rows, np.uint64)


def _tables() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    rows, columns = np.divmod(np.arange(NUM_CELLS), QUILT_SIZE)
    is_inside = (rows >= _CORNER) & (columns >= _CORNER)
    is_covered = (rows >= QUILT_SIZE - PATCH_ROWS) & (columns < _CORNER + PATCH_COLUMNS)
    inside = np.flatnonzero(is_inside & ~is_covered & (np.arange(NUM_CELLS) != _CENTER))
    return _first_cells([_CENTER, *inside.tolist()]), _first_cells(np.flatnonzero(~is_inside).tolist())


INSIDE, OUTSIDE = _tables()
"""Quilt words with ``n`` empty cells in the square, and outside it, by ``n``; the center is covered last."""
MOST_EMPTY = len(INSIDE) + len(OUTSIDE) - 2
"""The maximum number of empty cells of a quilt that can be loosened."""


@kernel
def loosen(states: States, i: int, player: int, own: Any) -> int:
    """Make the quilt of a player, whose prospects are ``own``, a loose one.

    Return the points that the player gains by this: the penalty of the dead cells that nothing can cover.
    """
    dead = min(own["num_dead"], own["specials"])
    left = count_cells(own["live"][0], own["live"][1]) + dead
    _write_loose(states, i, player, left, own["needed"] if own["squares"] else left + 1)
    return int(PENALTY_PER_EMPTY_CELL * (own["num_dead"] - dead))


@kernel
def _write_loose(states: States, i: int, player: int, left: int, needed: int) -> None:
    if needed <= 0 and states[i]["bonus_owner"] == NOBODY:
        states[i]["bonus_owner"] = player
    inside = left if states[i]["bonus_owner"] != NOBODY else min(needed, left)
    inside = max(min(inside, len(INSIDE) - 1), left - (len(OUTSIDE) - 1))
    for word in range(2):
        empty = INSIDE[inside, word] | OUTSIDE[left - inside, word]
        states[i]["quilt"][player, word] = empty ^ tables.FULL_WORD


@kernel
def play(states: States, i: int, action: int, loose: int) -> None:
    """Play an action; ``loose`` is the player with a loose quilt, or ``NOBODY``."""
    player = signed(states[i]["current_player"])
    if player == loose and action != ADVANCE:
        size = 1
        if not states[i]["pending_special"]:
            slot = (action - FIRST_BUY) // (NUM_ORIENTATIONS * NUM_CELLS)
            size = tables.SIZES[states[i]["circle"][slot]]
        empty_0 = states[i]["quilt"][player, 0] ^ tables.FULL_WORD
        empty_1 = states[i]["quilt"][player, 1] ^ tables.FULL_WORD
        needed = count_cells(empty_0 & tables.SQUARES[SQUARE, 0], empty_1 & tables.SQUARES[SQUARE, 1])
        _write_loose(states, i, player, count_cells(empty_0, empty_1) - size, needed - size)
    engine.apply(states, i, action)


@kernel
def list_loose_choices(
    states: States,
    i: int,
    buffers: ChoiceBuffers,
    actions: npt.NDArray[np.int64],
    estimates: npt.NDArray[np.float64],
) -> int:
    """List the actions of a player with a loose quilt, in descending order of their estimated gains."""
    player, game = signed(states[i]["current_player"]), buffers.game
    if states[i]["pending_special"]:
        actions[0] = FIRST_SPECIAL + ANCHOR
        return 1
    count, left = 0, engine.empty_cells(states, i, player)
    for slot in range(-1, min(NUM_OFFERED, states[i]["num_patches"])):
        action = ADVANCE
        if slot >= 0:
            patch = states[i]["circle"][slot]
            if tables.PRICES[patch] > states[i]["buttons"][player] or tables.SIZES[patch] > left:
                continue
            action = FIRST_BUY + (slot * NUM_ORIENTATIONS + FLATTEST[patch]) * NUM_CELLS + ANCHOR
        copy_record(game, 0, states, i)
        play(game, 0, action, player)
        count = insert(actions, estimates, count, action, estimate_of(states, i, game))
    return count
