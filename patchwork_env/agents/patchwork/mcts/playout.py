"""Playouts: a game played to its end by a quick policy, close to the greedy agent's but with random noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.heuristics import patch_value
from patchwork_env.agents.patchwork.mcts.placing import (
    NOWHERE,
    Sums,
    best_placement,
    most_enclosed_cell,
    new_sums,
)
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import NUM_OFFERED
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import PRICES

_NOISE = 6.0
"""The width, in buttons, of the random number that is added to the value of every patch."""
_STEPS = 1 << 16


class PlayoutBuffers(NamedTuple):
    """The buffers of playouts.

    Attributes:
        sums: The buffer in which placements are compared.
        values: float64 ``(NUM_OFFERED,)``, the values of the patches on offer, in buttons.
    """

    sums: Sums
    values: npt.NDArray[np.float64]


def new_playout_buffers() -> PlayoutBuffers:
    """Buffers for playouts of any game."""
    return PlayoutBuffers(new_sums(), np.empty(NUM_OFFERED))


@kernel
def play_out(
    states: States, i: int, buffers: PlayoutBuffers, streams: npt.NDArray[np.uint64], stream: int
) -> None:
    """Plays a game to its end."""
    while not is_over(states, i):
        apply(states, i, choose(states, i, buffers, streams, stream))


@kernel
def choose(
    states: States, i: int, buffers: PlayoutBuffers, streams: npt.NDArray[np.uint64], stream: int
) -> int:
    """An action of the policy in a game that is not over; for the arguments see :func:`play_out`."""
    if states[i]["pending_special"]:
        return most_enclosed_cell(states, i)
    _write_values(states, i, buffers, streams, stream)
    while True:
        slot = _most_valuable(buffers.values)
        if buffers.values[slot] <= 0:
            return ADVANCE
        action = best_placement(states, i, slot, buffers.sums, streams, stream)
        if action != NOWHERE:
            return action
        buffers.values[slot] = 0.0


@kernel(inline=True)
def _most_valuable(values: npt.NDArray[np.float64]) -> int:
    best = 0
    for slot in range(1, NUM_OFFERED):
        if values[slot] > values[best]:
            best = slot
    return best


@kernel(inline=True)
def _write_values(
    states: States, i: int, buffers: PlayoutBuffers, streams: npt.NDArray[np.uint64], stream: int
) -> None:
    """Writes the values of the patches on offer, with noise; 0 for those that cannot be paid for."""
    buttons = states[i]["buttons"][states[i]["current_player"]]
    offered = min(NUM_OFFERED, states[i]["num_patches"])
    for slot in range(NUM_OFFERED):
        patch = states[i]["circle"][slot]
        buffers.values[slot] = 0.0
        if slot < offered and PRICES[patch] <= buttons:
            buffers.values[slot] = patch_value(states, i, patch) + _noise(streams, stream)


@kernel
def _noise(streams: npt.NDArray[np.uint64], stream: int) -> float:
    """A random number of mean 0."""
    return _NOISE * (random_below(streams, stream, _STEPS) / _STEPS - 0.5)
