"""The value of a table: sums of table rows and two small layers, compiled.

The relief is embedded as the sum of one table row per window (:mod:`.relief`), all else as the sum of one row
per feature (:mod:`.features`). With ``leaky(x) = max(x, LEAK * x)``::

    relief   = leaky(relief_bias + sum(windows[rows]))
    hidden   = leaky(bias + sum(features[rows]) + inputs @ numbers + relief @ weights_1)
    hidden_2 = leaky(bias_2 + hidden @ weights_2)
    output   = bias_3 + hidden_2 @ weights_3

The output is, in units of :data:`SCALE`, how many points the tiles to come are expected to bring.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.records import aligned_record, copy, random_record, record_type, rectify
from patchwork_env.agents.compiled.vectors import product_adder, rows_adder
from patchwork_env.agents.nmbr9.value import features, fits, relief
from patchwork_env.agents.nmbr9.value.fits import Record
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import MAX_CARDS
from patchwork_env.nmbr9.engine import MAX_LEVELS, bounds, num_placed, paint
from patchwork_env.nmbr9.engine import NUM_ROWS as NUM_TABLE_ROWS
from patchwork_env.nmbr9.state import States
from patchwork_env.nmbr9.tables import SIZES

RELIEF_WIDTH, HIDDEN, HIDDEN_2 = 32, 64, 32
SCALE = 20.0
"""Points per unit of the output."""

SHAPES: dict[str, tuple[int, ...]] = {
    "windows": (relief.NUM_ROWS, RELIEF_WIDTH),
    "features": (features.NUM_ROWS, HIDDEN),
    "relief_bias": (RELIEF_WIDTH,),
    "bias": (HIDDEN,),
    "numbers": (features.NUM_INPUTS, HIDDEN),
    "weights_1": (RELIEF_WIDTH, HIDDEN),
    "weights_2": (HIDDEN, HIDDEN_2),
    "bias_2": (HIDDEN_2,),
    "weights_3": (HIDDEN_2,),
    "bias_3": (1,),
}
"""Shapes of the weights by name."""
TABLES = ("windows", "features")
"""The weights of which rows are looked up."""
MAX_WINDOWS = MAX_CARDS * relief.AREA
"""No table has more windows that are not empty."""

WEIGHTS = record_type({name: (np.float32, shape) for name, shape in SHAPES.items()})
"""All that is learned, as one record."""
Weights = npt.NDArray[np.void]
"""Array of one :data:`WEIGHTS` record."""

_TILE_FIELDS = dict.fromkeys(("piece", "level", "row", "column"), (np.int64, (MAX_CARDS + 1,)))
MEMORY = record_type(
    fits.FIELDS
    | features.FIELDS
    | _TILE_FIELDS
    | {
        "levels": (np.uint64, (MAX_LEVELS + 1, NUM_TABLE_ROWS)),
        "base_fits": features.FIELDS["fits"],
        "grid": (np.int32, relief.GRID_SHAPE),
        "rows": (np.int32, (4096,)),
        "old": (np.int32, (relief.AREA + 1,)),
        "new": (np.int32, (relief.AREA + 1,)),
        "base_relief": (np.float32, (RELIEF_WIDTH,)),
        "relief": (np.float32, (RELIEF_WIDTH,)),
        "hidden": (np.float32, (HIDDEN,)),
        "hidden_2": (np.float32, (HIDDEN_2,)),
    }
)
"""What one thread needs to evaluate tables, as one record."""
Memory = npt.NDArray[np.void]
"""Array of one :data:`MEMORY` record."""


def empty_weights() -> Weights:
    """Weights of 0."""
    return aligned_record(WEIGHTS)


def new_memory() -> Memory:
    """Memory for one thread."""
    return aligned_record(MEMORY)


def new_weights(seed: int) -> Weights:
    """Random weights to start from. Tables are worth next to nothing, but not all the same."""
    scales = {
        "windows": 0.5 / math.sqrt(100),  # windows of a table
        "features": 0.5 / math.sqrt(features.MAX_ROWS),
        "numbers": 1.0,
        "weights_1": math.sqrt(2 / RELIEF_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
        "weights_3": 0.01,
    }
    return random_record(WEIGHTS, scales, seed)


add_windows, subtract_windows = rows_adder(RELIEF_WIDTH), rows_adder(RELIEF_WIDTH, -1)
add_features = rows_adder(HIDDEN)
_add_hidden = product_adder(HIDDEN)
_add_hidden_2 = product_adder(HIDDEN_2)


@kernel
def evaluate(states: States, i: int, player: int, weights: Weights, memory: Memory) -> float:
    """The points that a player may expect of the tiles to come.

    Args:
        states: Records.
        i: The index of the record.
        player: The player whose table is evaluated; the next tile counts as unknown even if its card is
            turned.
        weights: The weights of the value.
        memory: The memory of one thread.
    """
    left = int(states[i]["num_rounds"]) - num_placed(states, i, player)
    if left == 0:
        return 0.0
    number, count = read_table(states, i, player, memory[0])
    copy(memory[0]["relief"], weights[0]["relief_bias"])
    add_windows(memory[0]["relief"], weights[0]["windows"], memory[0]["rows"], count)
    return value_of(number, left, weights[0], memory[0])


@kernel
def read_table(states: States, i: int, player: int, memory: Record) -> tuple[int, int]:
    """Reads all that a value depends on; returns the number of levels and how many windows ``rows`` lists."""
    placed = num_placed(states, i, player)
    count_remaining(states, i, placed, memory)
    number = paint(states, i, player, memory["levels"])
    memory["tiles_on"][: number + 2] = 0
    memory["area"][: number + 2] = 0
    for t in range(placed):
        piece, level = int(states[i]["piece"][player, t]), int(states[i]["level"][player, t])
        memory["piece"][t], memory["level"][t] = piece, level
        memory["row"][t], memory["column"][t] = states[i]["row"][player, t], states[i]["column"][player, t]
        memory["tiles_on"][level] += 1
        memory["area"][level] += SIZES[piece // NUM_TURNS]
    for level in range(1, number + 1):
        fits.count_fits(memory["levels"], level, placed, memory, memory["remaining"], memory["fits"][level])
    memory["grid"][:, :] = relief.EMPTY
    if placed == 0:
        return 0, 0
    top, left, height, width = bounds(states, i, player, placed)
    rows = memory["rows"]
    return number, relief.list_windows(memory["levels"], top, left, height, width, memory["grid"], rows)


@kernel
def count_remaining(states: States, i: int, placed: int, memory: Record) -> None:
    """Counts the cards of each digit behind the first ``placed`` ones."""
    remaining = memory["remaining"]
    remaining[:] = 0
    for k in range(placed, states[i]["num_cards"]):
        remaining[states[i]["deck"][k]] += 1


@kernel
def value_of(number: int, left: int, weights: Record, memory: Record) -> float:
    """The value from the sum of windows in ``relief``, which is rectified in place, and the features."""
    hidden = memory["hidden"]
    copy(hidden, weights["bias"])
    rectify(memory["relief"])
    _add_hidden(hidden, weights["weights_1"], memory["relief"], RELIEF_WIDTH)
    count = features.list_rows(memory, number, left, memory["rows"])
    add_features(hidden, weights["features"], memory["rows"], count)
    _add_hidden(hidden, weights["numbers"], memory["inputs"], features.NUM_INPUTS)
    rectify(hidden)
    copy(memory["hidden_2"], weights["bias_2"])
    _add_hidden_2(memory["hidden_2"], weights["weights_2"], hidden, HIDDEN)
    rectify(memory["hidden_2"])
    output = weights["bias_3"][0]
    for k in range(HIDDEN_2):
        output += memory["hidden_2"][k] * weights["weights_3"][k]
    return SCALE * float(output)
