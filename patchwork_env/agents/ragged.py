"""Batches for networks: observations, legal actions as one flat list, and choices from it.

The lists of the states are concatenated. A state of Patchwork has 79 legal actions on average and at
most 1345 of 2026, so lists cost a fraction of masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import list_legal, loop, write_current_observations
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy
from patchwork_env.core.kernels import States
from patchwork_env.core.tensors import Observation
from patchwork_env.games import rules_of

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
TIE = 1e-4
"""Actions whose log-probabilities differ by less count as equally probable. On an almost empty quilt many
placements are equal up to rounding, which depends on the machine, the library and the size of the batch."""


class LegalLists(NamedTuple):
    """Legal actions of ``n`` states, ``total`` in all."""

    counts: Indices  # (n,), of each state
    actions: Indices  # (total,), state by state, ascending within each
    rows: Indices  # (total,), the state of each action

    def position_of(self, actions: Indices) -> Indices:
        """Return the position in the list of one legal action per state, int64 ``(n,)``."""
        return positions_of(self.counts, self.actions, actions)


def legal_lists(states: States) -> LegalLists:
    """List the legal actions of states, none of which is over."""
    counts = np.empty(len(states), np.int64)
    rules = rules_of(states)
    buffer = np.empty(len(states) * rules.max_legal_actions, np.int16)
    total = loop(list_legal, rules)(states, counts, buffer)
    return LegalLists(counts, buffer[:total].astype(np.int64), np.repeat(np.arange(len(states)), counts))


def observations_of(states: States) -> Observation:
    """Return the observation of the player to move in each game, float32 ``(n, size)``."""
    rules = rules_of(states)
    observations = np.empty((len(states), rules.layout.size), np.float32)
    loop(write_current_observations, rules)(states, observations)
    return observations


@kernel
def copy_lists(source: npt.NDArray[Any], begins: Indices, counts: Indices, out: npt.NDArray[Any]) -> None:
    """Concatenate parts of ``source`` in ``out``: ``counts[i]`` entries from ``begins[i]`` on."""
    end = 0
    for i in range(len(begins)):
        begin, end = end, end + counts[i]
        copy(out[begin:end], source[begins[i] : begins[i] + counts[i]])


@kernel
def end_of_row(rows: Indices, begin: int) -> int:
    """Return the end of the actions of the state that starts at ``begin``."""
    end = begin + 1
    while end < len(rows) and rows[end] == rows[begin]:
        end += 1
    return end


def begins_of(counts: Indices) -> Indices:
    """Return the position at which the list of each state begins, int64 ``(n,)``."""
    begins: Indices = np.cumsum(counts) - counts
    return begins


@kernel(allocates=True)
def positions_of(counts: Indices, actions: Indices, chosen: Indices) -> Indices:
    """Return the position in the list ``actions`` of one legal action per state, int64 ``(n,)``."""
    positions = np.empty(len(counts), np.int64)
    begin = 0
    for row in range(len(counts)):
        positions[row] = begin + np.searchsorted(actions[begin : begin + counts[row]], chosen[row])
        begin += counts[row]
    return positions


@kernel(allocates=True)
def sample(counts: Indices, log_probabilities: Floats, uniforms: npt.NDArray[np.float64]) -> Indices:
    """Draw one position of the flat list per row, ``(n,)``, by ``uniforms`` ``(n,)`` between 0 and 1."""
    positions = np.empty(len(counts), np.int64)
    begin = 0
    for row in range(len(counts)):
        end = begin + counts[row]
        left = uniforms[row]
        position = begin
        while position < end - 1:
            left -= np.exp(np.float64(log_probabilities[position]))
            if left < 0:
                break
            position += 1
        positions[row] = position
        begin = end
    return positions


def sample_legal(states: States, log_probabilities: Floats, random: np.random.Generator) -> Indices:
    """Draw a legal action for each state, int64 ``(n,)``; probabilities are ``(n, num_actions)``."""
    legal = legal_lists(states)
    of_legal = log_probabilities[legal.rows, legal.actions]
    return legal.actions[sample(legal.counts, of_legal, random.random(len(states)))]


@kernel(allocates=True)
def most_probable(counts: Indices, kinds: Indices, log_probabilities: Floats, num_kinds: int) -> Indices:
    """Return one position per row, ``(n,)``: the most probable action of the most probable kind.

    The most probable action alone would favor advancing, whose probability is not split among placements.
    Ties, up to :data:`TIE`, go to the first.
    """
    positions = np.empty(len(counts), np.int64)
    of_kind = np.empty(num_kinds)
    begin = 0
    for row in range(len(counts)):
        end = begin + counts[row]
        of_kind[:] = 0.0
        for position in range(begin, end):
            of_kind[kinds[position]] += np.exp(np.float64(log_probabilities[position]))
        best_kind = np.argmax(of_kind)
        highest = -np.inf
        for position in range(begin, end):
            if kinds[position] == best_kind:
                highest = max(highest, log_probabilities[position])
        position = begin
        while kinds[position] != best_kind or log_probabilities[position] < highest - TIE:
            position += 1
        positions[row] = position
        begin = end
    return positions
