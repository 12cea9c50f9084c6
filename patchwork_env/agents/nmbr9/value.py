"""The value of a player's table: sums of rows of learned tables and two small layers, compiled.

The relief is embedded as the sum of one row per window, all else as the sum of one row per feature
(:mod:`.features`). With ``leaky(x) = max(x, LEAK * x)``::

    relief   = leaky(relief_bias + sum(windows[rows]))
    hidden   = leaky(bias + sum(features[rows]) + inputs @ numbers + relief @ weights_1)
    hidden_2 = leaky(bias_2 + hidden @ weights_2)
    output   = bias_3 + hidden_2 @ weights_3

The output is the number of points that the tiles to come are expected to bring, in units of :data:`SCALE`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled import (
    aligned_records,
    copy,
    random_record,
    read_weights,
    record_type,
    rectify,
)
from patchwork_env.agents.nmbr9 import features, fits
from patchwork_env.agents.nmbr9.fits import Record
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import product_adder, rows_adder
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import MAX_CARDS
from patchwork_env.nmbr9.engine import MAX_LEVELS, bounds, num_placed, paint
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.state import States
from patchwork_env.nmbr9.tables import SIZES

RELIEF_WIDTH, HIDDEN, HIDDEN_2 = 32, 64, 32
SCALE = 20.0
"""The points per unit of the output."""

SHAPES: dict[str, tuple[int, ...]] = {
    "windows": (features.NUM_WINDOWS, RELIEF_WIDTH),
    "features": (features.NUM_FEATURES, HIDDEN),
    "relief_bias": (RELIEF_WIDTH,),
    "bias": (HIDDEN,),
    "numbers": (features.NUM_INPUTS, HIDDEN),
    "weights_1": (RELIEF_WIDTH, HIDDEN),
    "weights_2": (HIDDEN, HIDDEN_2),
    "bias_2": (HIDDEN_2,),
    "weights_3": (HIDDEN_2,),
    "bias_3": (1,),
}
"""The shapes of the weights by name."""
TABLES = ("windows", "features")
"""The names of the weights that are tables of rows."""
MAX_WINDOWS = MAX_CARDS * features.AREA
"""The most windows of a table that are not empty."""

WEIGHTS = record_type({name: (np.float32, shape) for name, shape in SHAPES.items()})
Weights = npt.NDArray[np.void]
"""Array of one :data:`WEIGHTS` record."""

_TILE_FIELDS = dict.fromkeys(("piece", "level", "row", "column"), (np.int64, (MAX_CARDS + 1,)))
BUFFER = record_type(
    fits.FIELDS
    | features.FIELDS
    | _TILE_FIELDS
    | {
        "levels": (np.uint64, (MAX_LEVELS + 1, NUM_TABLE_ROWS)),
        "base_fits": features.FIELDS["fits"],
        "grid": (np.int32, features.GRID_SHAPE),
        "rows": (np.int32, (4096,)),
        "old": (np.int32, (features.AREA + 1,)),
        "new": (np.int32, (features.AREA + 1,)),
        "base_relief": (np.float32, (RELIEF_WIDTH,)),
        "relief": (np.float32, (RELIEF_WIDTH,)),
        "hidden": (np.float32, (HIDDEN,)),
        "hidden_2": (np.float32, (HIDDEN_2,)),
    }
)
Buffer = npt.NDArray[np.void]
"""Array of one :data:`BUFFER` record, the memory in which one thread evaluates tables."""


def new_buffer() -> Buffer:
    """A buffer for one thread."""
    return aligned_records(BUFFER)


def new_weights(seed: int) -> Weights:
    """Random weights to start learning from. Values are close to 0, but not all the same."""
    scales = {
        "windows": 0.5 / math.sqrt(100),  # windows of a table
        "features": 0.5 / math.sqrt(features.MAX_ROWS),
        "numbers": 1.0,
        "weights_1": math.sqrt(2 / RELIEF_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
        "weights_3": 0.01,
    }
    return random_record(WEIGHTS, scales, seed)


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and the facts on its making."""
    return read_weights(folder, NMBR9, WEIGHTS)


add_windows, subtract_windows = rows_adder(RELIEF_WIDTH), rows_adder(RELIEF_WIDTH, -1)
add_features = rows_adder(HIDDEN)
_add_hidden = product_adder(HIDDEN)
_add_hidden_2 = product_adder(HIDDEN_2)


@kernel
def evaluate(states: States, i: int, player: int, weights: Weights, buffer: Buffer) -> float:
    """The points that a player may expect of the tiles to come, the next one of which counts as unknown."""
    left = int(states[i]["num_rounds"]) - num_placed(states, i, player)
    if left == 0:
        return 0.0
    number, count = read_table(states, i, player, buffer[0])
    copy(buffer[0]["relief"], weights[0]["relief_bias"])
    add_windows(buffer[0]["relief"], weights[0]["windows"], buffer[0]["rows"], count)
    return value_of(number, left, weights[0], buffer[0])


@kernel
def read_table(states: States, i: int, player: int, buffer: Record) -> tuple[int, int]:
    """Reads a table; returns the number of its levels and that of the windows in ``rows``."""
    placed = num_placed(states, i, player)
    count_remaining(states, i, placed, buffer)
    number = paint(states, i, player, buffer["levels"])
    buffer["tiles_on"][: number + 2] = 0
    buffer["area"][: number + 2] = 0
    for t in range(placed):
        piece, level = int(states[i]["piece"][player, t]), int(states[i]["level"][player, t])
        buffer["piece"][t], buffer["level"][t] = piece, level
        buffer["row"][t], buffer["column"][t] = states[i]["row"][player, t], states[i]["column"][player, t]
        buffer["tiles_on"][level] += 1
        buffer["area"][level] += SIZES[piece // NUM_TURNS]
    for level in range(1, number + 1):
        fits.count_fits(buffer["levels"], level, placed, buffer, buffer["remaining"], buffer["fits"][level])
    buffer["grid"][:, :] = features.EMPTY
    if placed == 0:
        return 0, 0
    top, left, height, width = bounds(states, i, player, placed)
    rows = buffer["rows"]
    return number, features.list_windows(buffer["levels"], top, left, height, width, buffer["grid"], rows)


@kernel
def count_remaining(states: States, i: int, placed: int, buffer: Record) -> None:
    """Counts the cards of each digit behind the first ``placed`` ones."""
    remaining = buffer["remaining"]
    remaining[:] = 0
    for k in range(placed, states[i]["num_cards"]):
        remaining[states[i]["deck"][k]] += 1


@kernel
def value_of(number: int, left: int, weights: Record, buffer: Record) -> float:
    """The value from the sum of windows in ``relief``, which is rectified in place, and the features."""
    hidden = buffer["hidden"]
    copy(hidden, weights["bias"])
    rectify(buffer["relief"])
    _add_hidden(hidden, weights["weights_1"], buffer["relief"], RELIEF_WIDTH)
    count = features.list_rows(buffer, number, left, buffer["rows"])
    add_features(hidden, weights["features"], buffer["rows"], count)
    _add_hidden(hidden, weights["numbers"], buffer["inputs"], features.NUM_INPUTS)
    rectify(hidden)
    copy(buffer["hidden_2"], weights["bias_2"])
    _add_hidden_2(buffer["hidden_2"], weights["weights_2"], hidden, HIDDEN)
    rectify(buffer["hidden_2"])
    output = weights["bias_3"][0]
    for k in range(HIDDEN_2):
        output += buffer["hidden_2"][k] * weights["weights_3"][k]
    return SCALE * float(output)
