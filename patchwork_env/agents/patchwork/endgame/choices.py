"""The moves of an ending that are worth looking at: all but placements that another one dominates.

Two placements of the same patch lead to positions that differ in one quilt alone. With ``E`` the empty cells
of a quilt and ``L`` its live cells, quilt A is at least as good for its owner as quilt B, which has as many
empty cells, if

- ``L(B)`` is part of ``E(A)``, and
- the bonus tile is owned already; or A completes a 7x7 square now; or B does not, and no square that may be
  completed on B has an empty cell on A that is covered on B.

Proof. Let the owner of A follow a strategy for B. Patches go where they go on B: there is room, for they
cover live cells of B alone, and the conditions hold again after it. A special patch goes where it goes on B
if that cell is empty on A, or else to an empty cell of A that is not live on B. There is one, for then B has
a dead cell that is covered on A, and both have equally many empty cells. Again the conditions hold. So all
purchases, moves and payments are the same, and squares are completed on A no later than on B. Owning the
bonus tile earlier changes nothing but the score, in favor of its owner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.endgame.prospects import (
    PROSPECTS,
    Prospects,
    count_cells,
    write_prospects,
)
from patchwork_env.core.bits import U1, lowest_bit
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    QUILT_SIZE,
)
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, apply, legal, score
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import INCOMES_UP_TO, SECOND_WORD_ROW, SQUARES

_U0 = np.uint64(0)
_FIRST_LOWER_ANCHOR = SECOND_WORD_ROW * QUILT_SIZE
_MOST_PLACEMENTS = 448
"""The most placements of one patch, those on an empty quilt."""


Quilts = npt.NDArray[np.uint64]
"""The parts of quilts that are compared, ``(7, _MOST_PLACEMENTS + 1)``: two rows each, one for each word, of
the empty cells, of the live cells, and of all 7x7 squares that may still be completed; then all ones for a
placement that takes the bonus tile, else 0. Loops over placements, which lie side by side, become vector
operations."""


class ChoiceBuffers(NamedTuple):
    """The buffers in which the moves of one position are compared.

    Attributes:
        anchors: The legal set.
        placements: int64 ``(_MOST_PLACEMENTS + 1,)``, the actions that are not dominated, and a newcomer.
        quilts: The quilts that the placements lead to.
        newcomer: One record, the prospects of the player who placed last.
        game: One record, the position after a move.
        effort: int64 ``(1,)``, the number of quilts that have been looked at.
    """

    anchors: LegalSet
    placements: npt.NDArray[np.int64]
    quilts: Quilts
    newcomer: Prospects
    game: States
    effort: npt.NDArray[np.int64]


def new_choice_buffers() -> ChoiceBuffers:
    """Buffers for :func:`list_choices`."""
    return ChoiceBuffers(
        np.empty((2, NUM_MAPS), np.uint64),
        np.empty(_MOST_PLACEMENTS + 1, np.int64),
        np.empty((7, _MOST_PLACEMENTS + 1), np.uint64),
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
) -> int:
    """Lists actions, one of which is best, in descending order of their estimated gains.

    The arrays, long enough for all legal actions, receive the actions and their gains in points. Returns the
    number of actions.
    """
    legal(states, i, buffers.anchors)
    count, patches, first = 0, 1, SPECIAL_MAP
    if not states[i]["pending_special"]:
        actions[0], estimates[0] = ADVANCE, _estimate(states, i, ADVANCE, buffers.game)
        count, patches, first = 1, NUM_OFFERED, 0
    for _ in range(patches):
        end = min(first + NUM_ORIENTATIONS, NUM_MAPS)
        count = _add_placements(states, i, first, end, buffers, actions, estimates, count)
        first = end
    return count


@kernel
def _estimate(states: States, i: int, action: int, game: States) -> float:
    """The estimated gain of a move: its points, with income to come, less a point per space that it moves.

    ``game`` receives the position after it.
    """
    player = int(np.int64(states[i]["current_player"]))
    game[0] = states[i]
    apply(game, 0, action)
    before, after = np.int64(states[i]["position"][player]), np.int64(game[0]["position"][player])
    marks = np.int64(INCOMES_UP_TO[LAST_SPACE]) - np.int64(INCOMES_UP_TO[after])
    more_income = np.int64(game[0]["income"][player]) - np.int64(states[i]["income"][player])
    points = score(game, 0, player) - score(states, i, player) + more_income * marks
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
) -> int:
    """Adds the placements of one patch that no other one dominates."""
    kept = 0
    for k in range(first_map, end_map):
        for word in range(2):
            bits = buffers.anchors[word, k]
            while bits:
                action = FIRST_BUY + k * NUM_CELLS + lowest_bit(bits) + word * _FIRST_LOWER_ANCHOR
                bits &= bits - U1
                kept = _consider(states, i, action, buffers, kept)
    for k in range(kept):
        num_live = count_cells(buffers.quilts[2, k], buffers.quilts[3, k])
        estimate = _estimate(states, i, buffers.placements[k], buffers.game) + num_live / 4.0
        count = _insert(actions, estimates, count, buffers.placements[k], estimate)
    return count


@kernel
def _consider(states: States, i: int, action: int, buffers: ChoiceBuffers, kept: int) -> int:
    """Compares a placement with those kept so far; returns their new number."""
    player, game = int(np.int64(states[i]["current_player"])), buffers.game
    game[0] = states[i]
    apply(game, 0, action)
    was_free = states[i]["bonus_owner"] == NOBODY
    write_prospects(game, 0, player, buffers.newcomer, 0)
    buffers.effort[0] += 1
    _note(buffers, kept, action, was_free and game[0]["bonus_owner"] == player)
    if _is_dominated(buffers.quilts, kept, was_free):
        return kept
    if _dominates_any(buffers.quilts, kept, was_free):
        return _remove_dominated(buffers, kept, was_free)
    return kept + 1


@kernel
def _note(buffers: ChoiceBuffers, k: int, action: int, claims: bool) -> None:
    """Writes the newcomer as the placement of number ``k``."""
    quilts, newcomer = buffers.quilts, buffers.newcomer[0]
    buffers.placements[k] = action
    for word in range(2):
        quilts[word, k], quilts[2 + word, k] = newcomer["empty"][word], newcomer["live"][word]
        squares = _U0
        for square in range(len(SQUARES)):
            if newcomer["squares"] >> square & 1:
                squares |= SQUARES[square, word]
        quilts[4 + word, k] = squares
    quilts[6, k] = ~_U0 if claims else _U0


@kernel
def _is_dominated(quilts: Quilts, newcomer: int, bonus_is_free: bool) -> bool:
    """Whether one of the placements before the newcomer's dominates it."""
    found = False
    for k in range(newcomer):
        found |= _dominates(quilts, k, newcomer, bonus_is_free)
    return found


@kernel(inline=True)
def _dominates(quilts: Quilts, a: int, b: int, bonus_is_free: bool) -> bool:
    """Whether placement ``a`` is at least as good as ``b``, by the conditions above, without a branch."""
    outside = quilts[2, b] & ~quilts[0, a] | quilts[3, b] & ~quilts[1, a]
    worse = quilts[4, b] & quilts[0, a] & ~quilts[0, b] | quilts[5, b] & quilts[1, a] & ~quilts[1, b]
    free = ~_U0 if bonus_is_free else _U0
    return bool(outside | free & ~quilts[6, a] & (quilts[6, b] | worse) == _U0)


@kernel
def _dominates_any(quilts: Quilts, newcomer: int, bonus_is_free: bool) -> bool:
    """Whether the newcomer's placement dominates one of those before it."""
    found = False
    for k in range(newcomer):
        found |= _dominates(quilts, newcomer, k, bonus_is_free)
    return found


@kernel
def _remove_dominated(buffers: ChoiceBuffers, newcomer: int, bonus_is_free: bool) -> int:
    """Removes all placements that the newcomer, the last one, dominates; returns the number of those left."""
    left = 0
    for k in range(newcomer + 1):
        if k < newcomer and _dominates(buffers.quilts, newcomer, k, bonus_is_free):
            continue
        buffers.placements[left] = buffers.placements[k]
        for row in range(len(buffers.quilts)):
            buffers.quilts[row, left] = buffers.quilts[row, k]
        left += 1
    return left


@kernel
def _insert(
    actions: npt.NDArray[np.int64],
    estimates: npt.NDArray[np.float64],
    count: int,
    action: int,
    estimate: float,
) -> int:
    k = count
    while k > 0 and estimate > estimates[k - 1]:
        actions[k], estimates[k] = actions[k - 1], estimates[k - 1]
        k -= 1
    actions[k], estimates[k] = action, estimate
    return count + 1
