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

from patchwork_env._bits import U1, lowest_bit
from patchwork_env._compile import kernel
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    QUILT_SIZE,
)
from patchwork_env.patchwork.endgame.prospects import PROSPECTS, Prospects, count_cells, survey
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, apply, legal, score
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from patchwork_env.patchwork.tables import INCOMES_UP_TO, SECOND_WORD_ROW, SQUARES
from patchwork_env.polyomino import NUM_ORIENTATIONS

_FIRST_LOWER_ANCHOR = SECOND_WORD_ROW * QUILT_SIZE
_MOST_PLACEMENTS = 448
"""Of one patch on an empty quilt."""


class Workbench(NamedTuple):
    """Room in which the moves of one position are compared.

    Attributes:
        anchors: The legal set.
        placements: int64 ``(_MOST_PLACEMENTS,)``, actions that are not dominated.
        claims: bool, likewise: whether they take the bonus tile.
        quilts: :data:`PROSPECTS`, likewise: of the player who placed; one record more for a newcomer.
        game: One record.
    """

    anchors: LegalSet
    placements: npt.NDArray[np.int64]
    claims: npt.NDArray[np.bool_]
    quilts: Prospects
    game: States


def new_workbench() -> Workbench:
    """Room for :func:`list_choices`."""
    return Workbench(
        np.empty((2, NUM_MAPS), np.uint64),
        np.empty(_MOST_PLACEMENTS + 1, np.int64),
        np.empty(_MOST_PLACEMENTS + 1, np.bool_),
        np.empty(_MOST_PLACEMENTS + 1, PROSPECTS),
        empty_states(1),
    )


@kernel
def list_choices(
    states: States,
    i: int,
    bench: Workbench,
    actions: npt.NDArray[np.int64],
    promises: npt.NDArray[np.float64],
) -> int:
    """Lists actions, one of which is best, in the order of what they promise.

    Args:
        states: Records.
        i: Which of them; it is not over.
        bench: Room.
        actions: Receives the actions, long enough for all legal ones.
        promises: Receives what they promise, in points.

    Returns:
        Their number.
    """
    legal(states, i, bench.anchors)
    count, patches, first = 0, 1, SPECIAL_MAP
    if not states[i]["pending_special"]:
        actions[0], promises[0] = ADVANCE, _promise(states, i, ADVANCE, bench.game)
        count, patches, first = 1, NUM_OFFERED, 0
    for _ in range(patches):
        end = min(first + NUM_ORIENTATIONS, NUM_MAPS)
        count = _add_placements(states, i, first, end, bench, actions, promises, count)
        first = end
    return count


@kernel
def _promise(states: States, i: int, action: int, game: States) -> float:
    """Points that a move gains, income to come included, less a point per space that it moves.

    ``game`` receives the position after it.
    """
    player = states[i]["current_player"]
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
    bench: Workbench,
    actions: npt.NDArray[np.int64],
    promises: npt.NDArray[np.float64],
    count: int,
) -> int:
    """Adds the placements of one patch that no other one dominates."""
    kept = 0
    for k in range(first_map, end_map):
        for word in range(2):
            bits = bench.anchors[word, k]
            while bits:
                action = FIRST_BUY + k * NUM_CELLS + lowest_bit(bits) + word * _FIRST_LOWER_ANCHOR
                bits &= bits - U1
                kept = _consider(states, i, action, bench, kept)
    for k in range(kept):
        live = bench.quilts[k]["live"]
        promise = _promise(states, i, bench.placements[k], bench.game) + count_cells(live[0], live[1]) / 4.0
        count = _insert(actions, promises, count, bench.placements[k], promise)
    return count


@kernel
def _consider(states: States, i: int, action: int, bench: Workbench, kept: int) -> int:
    """Compares a placement with those kept so far; returns the new number of those."""
    player, game = states[i]["current_player"], bench.game
    game[0] = states[i]
    apply(game, 0, action)
    was_free = states[i]["bonus_owner"] == NOBODY
    survey(game, 0, player, bench.quilts, kept)
    bench.placements[kept] = action
    bench.claims[kept] = was_free and game[0]["bonus_owner"] == player
    for k in range(kept):
        if _dominates(bench, k, kept, was_free):
            return kept
    left = 0
    for k in range(kept):
        if not _dominates(bench, kept, k, was_free):
            _move(bench, k, left)
            left += 1
    _move(bench, kept, left)
    return left + 1


@kernel
def _dominates(bench: Workbench, a: int, b: int, bonus_is_free: bool) -> bool:
    """Whether placement ``a`` is at least as good as ``b``, by the conditions above."""
    empty_0, empty_1 = bench.quilts[a]["empty"][0], bench.quilts[a]["empty"][1]
    live_0, live_1 = bench.quilts[b]["live"][0], bench.quilts[b]["live"][1]
    if (live_0 & ~empty_0) | (live_1 & ~empty_1):
        return False
    if not bonus_is_free or bench.claims[a]:
        return True
    if bench.claims[b]:
        return False
    more_0, more_1 = empty_0 & ~bench.quilts[b]["empty"][0], empty_1 & ~bench.quilts[b]["empty"][1]
    for k in range(len(SQUARES)):
        if (bench.quilts[b]["squares"] >> k) & 1 and (more_0 & SQUARES[k, 0]) | (more_1 & SQUARES[k, 1]):
            return False
    return True


@kernel
def _move(bench: Workbench, source: int, target: int) -> None:
    if source != target:
        bench.placements[target] = bench.placements[source]
        bench.claims[target] = bench.claims[source]
        bench.quilts[target] = bench.quilts[source]


@kernel
def _insert(
    actions: npt.NDArray[np.int64], promises: npt.NDArray[np.float64], count: int, action: int, promise: float
) -> int:
    k = count
    while k > 0 and promise > promises[k - 1]:
        actions[k], promises[k] = actions[k - 1], promises[k - 1]
        k -= 1
    actions[k], promises[k] = action, promise
    return count + 1
