"""Playouts: a game played to its end by a quick policy that is close to the greedy agent's, with chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.greedy import patch_value
from patchwork_env.agents.patchwork.mcts.placing import (
    NOWHERE,
    Sums,
    loneliest_cell,
    new_sums,
    snuggest_placement,
)
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import NUM_OFFERED
from patchwork_env.patchwork.engine import apply, is_over, random_below
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import PRICES

_NOISE = 6.0
"""Width, in buttons, of the random number that is added to the worth of every patch."""
_STEPS = 1 << 16


class Table(NamedTuple):
    """Room for playouts.

    Attributes:
        sums: For placing patches.
        worths: float64 ``(NUM_OFFERED,)``, of the patches on offer, in buttons.
    """

    sums: Sums
    worths: npt.NDArray[np.float64]


def new_table() -> Table:
    """Room for playouts of any game."""
    return Table(new_sums(), np.empty(NUM_OFFERED))


@kernel
def play_out(states: States, i: int, table: Table, streams: npt.NDArray[np.uint64], stream: int) -> None:
    """Plays a game to its end.

    Args:
        states: Records.
        i: Which of them.
        table: Room.
        streams: Random numbers.
        stream: Which of the streams.
    """
    while not is_over(states, i):
        apply(states, i, choose(states, i, table, streams, stream))


@kernel
def choose(states: States, i: int, table: Table, streams: npt.NDArray[np.uint64], stream: int) -> int:
    """An action of the policy in a game that is not over; for the arguments see :func:`play_out`."""
    if states[i]["pending_special"]:
        return loneliest_cell(states, i)
    _appraise(states, i, table, streams, stream)
    while True:
        slot = _most_valuable(table.worths)
        if table.worths[slot] <= 0:
            return ADVANCE
        action = snuggest_placement(states, i, slot, table.sums, streams, stream)
        if action != NOWHERE:
            return action
        table.worths[slot] = 0.0


@kernel(inline=True)
def _most_valuable(worths: npt.NDArray[np.float64]) -> int:
    best = 0
    for slot in range(1, NUM_OFFERED):
        if worths[slot] > worths[best]:
            best = slot
    return best


@kernel(inline=True)
def _appraise(states: States, i: int, table: Table, streams: npt.NDArray[np.uint64], stream: int) -> None:
    """Writes what the patches on offer are worth, more or less; 0 for those that cannot be paid for."""
    buttons = states[i]["buttons"][states[i]["current_player"]]
    offered = min(NUM_OFFERED, states[i]["num_patches"])
    for slot in range(NUM_OFFERED):
        patch = states[i]["circle"][slot]
        table.worths[slot] = 0.0
        if slot < offered and PRICES[patch] <= buttons:
            table.worths[slot] = patch_value(states, i, patch) + _noise(streams, stream)


@kernel
def _noise(streams: npt.NDArray[np.uint64], stream: int) -> float:
    """A random number of mean 0."""
    return _NOISE * (random_below(streams, stream, _STEPS) / _STEPS - 0.5)
