"""Play without looking ahead: greedy moves, and playouts, which are greedy with random noise.

Both choose in two steps.

1. *Which patch?* The one with the highest value. The value of a patch is its income at every income mark
   ahead, plus the penalty that it saves, minus its price, minus one for every space that the token moves,
   because advancing would earn a button there. The penalty is 2 per cell, times the share of the track that
   the token has passed after the move: early in the game, another patch may still cover the cell. Ties go to
   the lower slot. Advancing has the value 0 and is preferred to a patch of this value.
2. *Where?* At a placement that leaves the most joints; see
   :mod:`~patchwork_env.agents.patchwork.placements`. Special patches follow the same rule. Greedy play takes
   the lowest of these actions, playouts a random one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork import placements
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import LAST_SPACE, NUM_OFFERED, PENALTY_PER_EMPTY_CELL
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import INCOMES, INCOMES_UP_TO, PRICES, SIZES, TIMES

_NOISE = 6.0  # the width, in buttons, of the random number that playouts add to the value of every patch
_STEPS = 1 << 16
_NO_SLOT = -1


class GreedyBuffers(NamedTuple):
    """The buffers of one thread."""

    ranking: placements.Ranking
    values: npt.NDArray[np.float64]  # (NUM_OFFERED,), of the patches on offer, in buttons


def new_greedy_buffers() -> GreedyBuffers:
    """Return buffers for one thread."""
    return GreedyBuffers(placements.new_ranking(), np.empty(NUM_OFFERED))


@kernel(allocates=True)
def choose_actions(states: States, actions: npt.NDArray[np.int64]) -> None:
    """Write the greedy action of every game; none may be over."""
    buffers = GreedyBuffers(np.empty(placements.RANKING_SHAPE, np.uint64), np.empty(NUM_OFFERED))
    for i in range(len(states)):
        actions[i] = choose_action(states, i, buffers)


@kernel
def choose_action(states: States, i: int, buffers: GreedyBuffers) -> int:
    """Return the greedy action of one game that is not over."""
    if states[i]["pending_special"]:
        return placements.most_enclosed_cell(states, i)
    for slot in range(NUM_OFFERED):
        buffers.values[slot] = 0.0
        if _can_be_paid(states, i, slot):
            buffers.values[slot] = patch_value(states, i, states[i]["circle"][slot])
    slot = _most_valuable_slot(states, i, buffers)
    return ADVANCE if slot == _NO_SLOT else placements.first_kept(slot, buffers.ranking)


@kernel
def play_out(
    states: States, i: int, buffers: GreedyBuffers, streams: npt.NDArray[np.uint64], stream: int
) -> None:
    """Play a game to its end, greedily with noise."""
    while not is_over(states, i):
        apply(states, i, choose_noisily(states, i, buffers, streams, stream))


@kernel
def choose_noisily(
    states: States, i: int, buffers: GreedyBuffers, streams: npt.NDArray[np.uint64], stream: int
) -> int:
    """Return an action for playouts in a game that is not over."""
    if states[i]["pending_special"]:
        return placements.most_enclosed_cell(states, i)
    for slot in range(NUM_OFFERED):
        buffers.values[slot] = 0.0
        if _can_be_paid(states, i, slot):
            value = patch_value(states, i, states[i]["circle"][slot])
            buffers.values[slot] = value + _NOISE * (random_below(streams, stream, _STEPS) / _STEPS - 0.5)
    slot = _most_valuable_slot(states, i, buffers)
    return ADVANCE if slot == _NO_SLOT else placements.draw_kept(slot, buffers.ranking, streams, stream)


@kernel(inline=True)
def _can_be_paid(states: States, i: int, slot: int) -> bool:
    if slot >= states[i]["num_patches"]:
        return False
    return bool(PRICES[states[i]["circle"][slot]] <= states[i]["buttons"][states[i]["current_player"]])


@kernel
def patch_value(states: States, i: int, patch: int) -> float:
    """Return the value, in buttons, of buying a patch for the current player; advancing has the value 0."""
    space = np.int64(states[i]["position"][states[i]["current_player"]])
    target = min(space + np.int64(TIMES[patch]), np.int64(LAST_SPACE))
    incomes_ahead = np.int64(INCOMES_UP_TO[LAST_SPACE] - INCOMES_UP_TO[space])
    income = np.int64(INCOMES[patch]) * incomes_ahead
    penalty_saved = PENALTY_PER_EMPTY_CELL * SIZES[patch] * target / LAST_SPACE
    return float(income + penalty_saved - PRICES[patch] - (target - space))


@kernel(inline=True)
def _most_valuable_slot(states: States, i: int, buffers: GreedyBuffers) -> int:
    """Return the slot with the highest value above 0 whose patch has a placement, or ``_NO_SLOT``.

    ``ranking`` then has the best placements of its patch open.
    """
    while True:
        best = 0
        for slot in range(1, NUM_OFFERED):
            if buffers.values[slot] > buffers.values[best]:
                best = slot
        if buffers.values[best] <= 0:
            return _NO_SLOT
        if placements.keep_best_placements(states, i, best, buffers.ranking):
            return best
        buffers.values[best] = 0.0
