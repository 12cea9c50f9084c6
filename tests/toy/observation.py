"""What a player of Row sees: the free cells, its own and the other's, and whether it is to move."""

from __future__ import annotations

import numpy as np

from patchwork_env.core.compile import kernel
from patchwork_env.core.tensors import Layout, Observation
from tests.toy.engine import NUM_CELLS, States

LAYOUT = Layout({"cells": (3, NUM_CELLS), "to_move": (1,)})
OBSERVATION_SIZE = LAYOUT.size
UPPER_BOUNDS = np.ones(OBSERVATION_SIZE, np.float32)


@kernel
def write_observation(states: States, i: int, observer: int, out: Observation) -> None:
    """Writes what a player sees to a contiguous array ``(OBSERVATION_SIZE,)``."""
    for cell in range(NUM_CELLS):
        out[cell] = (states[i]["free"] >> cell) & 1
        out[NUM_CELLS + cell] = (states[i]["covered"][observer] >> cell) & 1
        out[2 * NUM_CELLS + cell] = (states[i]["covered"][1 - observer] >> cell) & 1
    out[3 * NUM_CELLS] = states[i]["current_player"] == observer
