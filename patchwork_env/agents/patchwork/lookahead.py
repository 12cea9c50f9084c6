"""The positions that every kind of move leads to, for networks that look one move ahead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from patchwork_env.agents.patchwork.dynamics import clipped_margin
from patchwork_env.agents.patchwork.features import signed
from patchwork_env.agents.patchwork.placements import NUM_KINDS, kind_of
from patchwork_env.agents.patchwork.policy_features import Indices, array_of, is_possible
from patchwork_env.agents.ragged import end_of_row
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats
from patchwork_env.patchwork.engine import NUM_MAPS, LegalSet, apply, is_over, legal, nth_legal, outcome
from patchwork_env.patchwork.observation import OBSERVATION_SIZE, read_observation, write_observation
from patchwork_env.patchwork.state import States, empty_states

OUTCOMES = 3
"""What is known of a position behind a move: who won, the margin, and the value if the game goes on."""
_VALUE = OUTCOMES - 1
_MARGIN_SCALE = 40.0
_MOST_KINDS = NUM_KINDS - 1
"""The most kinds of move that a position has; special patches are placed alone."""


class Successors(NamedTuple):
    """The ``m`` positions that kinds of move lead to in ``n`` states, where there is a choice between kinds.

    Attributes:
        observations: float32 ``(m, OBSERVATION_SIZE)``, of those where the game goes on, as the player sees
            them who has the next choice.
        places: int64 ``(m,)``, ``state * NUM_KINDS + kind`` of each.
        signs: float32 ``(m,)``, 1 where the player who moves has the next choice, else -1.
        outcomes: float32 ``(n, NUM_KINDS, OUTCOMES)``: where the game is over, 1 or -1 for a win or a defeat
            of the player who moves, and the margin; else 0.
    """

    observations: Tensor
    places: Tensor
    signs: Tensor
    outcomes: Tensor

    def with_values(self, values: Tensor) -> Tensor:
        """The outcomes with the values of the positions for those who have the next choice, ``(m,)``."""
        outcomes = self.outcomes.clone()
        outcomes.view(-1, OUTCOMES)[self.places, _VALUE] = values * self.signs
        return outcomes


def successors_of(observations: Tensor, rows: Tensor, actions: Tensor, scores: Tensor) -> Successors:
    """What the action with the highest score of each kind leads to, after turns that leave no choice.

    ``scores``, ``(total,)``, are those of the legal actions; for the rest see :func:`.features_of`.
    """
    most = observations.shape[0] * _MOST_KINDS
    found = np.empty((most, OBSERVATION_SIZE), np.float32)
    places, signs = np.empty(most, np.int64), np.empty(most, np.float32)
    outcomes = np.zeros((observations.shape[0], NUM_KINDS, OUTCOMES), np.float32)
    memory = _Memory(empty_states(2), np.empty((2, NUM_MAPS), np.uint64), np.empty(NUM_KINDS, np.int64))
    arrays = array_of(observations), array_of(rows), array_of(actions), array_of(scores)
    count = _write_successors(*arrays, memory, found, places, signs, outcomes)
    written = found[:count], places[:count], signs[:count], outcomes
    return Successors(*(torch.from_numpy(array).to(observations.device) for array in written))


class _Memory(NamedTuple):
    states: States  # a state and a successor
    anchors: LegalSet
    best: Indices  # the best action of each kind


@kernel
def _write_successors(
    observations: Floats,
    rows: Indices,
    actions: Indices,
    scores: Floats,
    memory: _Memory,
    found: Floats,
    places: Indices,
    signs: Floats,
    outcomes: Floats,
) -> int:
    """Writes the arrays of :class:`Successors`; returns how many there are."""
    states, count, begin = memory.states, 0, 0
    while begin < len(actions):
        end, row = end_of_row(rows, begin), rows[begin]
        if _find_best(actions[begin:end], scores[begin:end], memory.best) > 1:
            read_observation(observations[row], states, 0)
            for kind in range(_MOST_KINDS):
                if memory.best[kind] < 0 or not is_possible(states, kind):
                    continue
                states[1] = states[0]
                apply(states, 1, actions[begin + memory.best[kind]])
                while legal(states, 1, memory.anchors) == 1:
                    apply(states, 1, nth_legal(memory.anchors, 0))
                if is_over(states, 1):
                    outcomes[row, kind, 0] = outcome(states, 1, 0)
                    outcomes[row, kind, 1] = clipped_margin(states, 1, _MARGIN_SCALE)
                    continue
                mover = signed(states[1]["current_player"])
                write_observation(states, 1, mover, found[count])
                places[count] = row * NUM_KINDS + kind
                signs[count] = 1 - 2 * mover
                count += 1
        begin = end
    return count


@kernel
def _find_best(actions: Indices, scores: Floats, best: Indices) -> int:
    """Finds the action of each kind with the highest score, -1 if there is none; returns how many kinds."""
    kinds = 0
    for kind in range(NUM_KINDS):
        best[kind] = -1
    for k in range(len(actions)):
        kind = kind_of(actions[k])
        if best[kind] < 0:
            kinds += 1
            best[kind] = k
        elif scores[k] > scores[best[kind]]:
            best[kind] = k
    return kinds
