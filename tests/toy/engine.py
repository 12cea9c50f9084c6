"""The state of Row as a record, its actions, what players see, and the rules, compiled.

======================  ======================================================================
action                  meaning
======================  ======================================================================
``cell``, 0-11          cover that cell
``12 + cell``, 12-22    cover that cell and the one behind it
======================  ======================================================================

An observation holds the free cells, those of the observer and those of the other, and who is to move.
"""

from __future__ import annotations

import numpy as np

from patchwork_env.core.bits import nth_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import LegalSet, States
from patchwork_env.core.random import Streams, random_below
from patchwork_env.core.tensors import Layout, Observation

NUM_CELLS, NUM_PLAYERS = 12, 2
NUM_ACTIONS = 2 * NUM_CELLS - 1

STATE = np.dtype([("free", "u2"), ("covered", "u2", NUM_PLAYERS), ("current_player", "u1")])
"""The cells as bits: those that are free, and those that each player has covered."""
LAYOUT = Layout({"cells": (3, NUM_CELLS), "to_move": (1,)})

_U = np.uint64


@kernel
def deal(states: States, i: int, streams: Streams, initial_state: States, flags: int) -> None:
    """Begins a game; ``flags`` is the number of random cells that are blocked."""
    states[i] = initial_state[0]
    for _ in range(flags):
        free = _U(states[i]["free"])
        states[i]["free"] ^= 1 << nth_bit(free, random_below(streams, i, popcount(free)))


@kernel
def is_over(states: States, i: int) -> bool:
    """Whether no cell is free."""
    return bool(states[i]["free"] == 0)


@kernel
def legal(states: States, i: int, legal_set: LegalSet) -> int:
    """Writes the legal actions as bits and returns their number."""
    free = _U(states[i]["free"])
    legal_set[0, 0] = free | ((free & (free >> _U(1))) << _U(NUM_CELLS))
    return popcount(legal_set[0, 0])


@kernel
def apply(states: States, i: int, action: int) -> None:
    """Plays a legal action."""
    player = states[i]["current_player"]
    cells = 1 << action if action < NUM_CELLS else 3 << (action - NUM_CELLS)
    states[i]["free"] ^= cells
    states[i]["covered"][player] |= cells
    states[i]["current_player"] = 1 - player


@kernel
def score(states: States, i: int, player: int) -> int:
    """The number of cells that a player has covered."""
    return popcount(_U(states[i]["covered"][player]))


@kernel
def write_observation(states: States, i: int, observer: int, out: Observation) -> None:
    """Writes what a player sees to a contiguous array ``(LAYOUT.size,)``."""
    for cell in range(NUM_CELLS):
        out[cell] = (states[i]["free"] >> cell) & 1
        out[NUM_CELLS + cell] = (states[i]["covered"][observer] >> cell) & 1
        out[2 * NUM_CELLS + cell] = (states[i]["covered"][1 - observer] >> cell) & 1
    out[3 * NUM_CELLS] = states[i]["current_player"] == observer
