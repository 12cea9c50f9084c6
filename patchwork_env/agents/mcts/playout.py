"""Playouts: a game played to its end by a quick policy that is close to the greedy agent's, with chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.greedy import patch_value
from patchwork_env.agents.mcts.placing import NOWHERE, Sums, loneliest_cell, snuggest_placement
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import NUM_OFFERED
from patchwork_env.patchwork.engine import apply, is_over, random_below
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import PRICES

_NOISE = 6.0
"""Width, in buttons, of the random number that is added to the worth of every patch."""
_STEPS = 1 << 16


@kernel
def play_out(states: States, i: int, sums: Sums, streams: npt.NDArray[np.uint64], stream: int) -> None:
    """Plays a game to its end."""
    while not is_over(states, i):
        apply(states, i, choose(states, i, sums, streams, stream))


@kernel
def choose(states: States, i: int, sums: Sums, streams: npt.NDArray[np.uint64], stream: int) -> int:
    """An action of the policy in a game that is not over."""
    if states[i]["pending_special"]:
        return loneliest_cell(states, i)
    buttons = states[i]["buttons"][states[i]["current_player"]]
    v0, v1, v2 = -1.0, -1.0, -1.0
    offered = min(NUM_OFFERED, states[i]["num_patches"])
    circle = states[i]["circle"]
    if offered > 0 and PRICES[circle[0]] <= buttons:
        v0 = patch_value(states, i, circle[0]) + _noise(streams, stream)
    if offered > 1 and PRICES[circle[1]] <= buttons:
        v1 = patch_value(states, i, circle[1]) + _noise(streams, stream)
    if offered > 2 and PRICES[circle[2]] <= buttons:
        v2 = patch_value(states, i, circle[2]) + _noise(streams, stream)
    while True:
        slot, value = 0, v0
        if v1 > value:
            slot, value = 1, v1
        if v2 > value:
            slot, value = 2, v2
        if value <= 0.0:
            return ADVANCE
        action = snuggest_placement(states, i, slot, sums, streams, stream)
        if action != NOWHERE:
            return action
        if slot == 0:
            v0 = -1.0
        elif slot == 1:
            v1 = -1.0
        else:
            v2 = -1.0


@kernel
def _noise(streams: npt.NDArray[np.uint64], stream: int) -> float:
    """A random number of mean 0."""
    return _NOISE * (random_below(streams, stream, _STEPS) / _STEPS - 0.5)
