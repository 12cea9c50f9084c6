"""The value of a position: sums of table rows and two small layers, compiled.

A quilt is embedded as the sum of one table row per window, the game around it as the sum of one row per
feature (:mod:`.features`). With ``leaky(x) = max(x, LEAK * x)``::

    quilt[role] = leaky(quilt_bias + sum(patterns[windows of that quilt]))       role 0: the player to move
    hidden      = leaky(game_bias + sum(features[rows]) + quilt[0] @ own + quilt[1] @ others)
    hidden_2    = leaky(bias_2 + hidden @ weights_2)
    outputs     = bias_3 + hidden_2 @ weights_3

It is learned in float32 and evaluated in integers: rows and units are int16. Sums of rows and of products are
exact in int32, and units are rounded or clipped once. So a value depends neither on the path to a position
nor on the processor.

The outputs are the expected results of the game, in units of :data:`SCALES`: the scores of the player to move
and of the other, the logit of the probability to win, and the empty cells of both. Play uses the difference
of the scores and the probability; the other outputs help learning.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import compiled
from patchwork_env.agents.checkpoints import Checkpoint
from patchwork_env.agents.layers import integer_layer, rectifier, short_rows_adder
from patchwork_env.agents.patchwork.value import features
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Rows, Shorts
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.state import States

QUILT_WIDTH, HIDDEN, HIDDEN_2 = 64, 128, 64
OWN_SCORE, OTHER_SCORE, WIN, OWN_EMPTY, OTHER_EMPTY = range(5)
"""The indices of the outputs."""
OUTPUTS = 5
SCALES = np.array([30, 30, 1, 15, 15], np.float32)
"""Points, or cells, per unit of an output."""

SHAPES: dict[str, tuple[int, ...]] = {
    "patterns": (features.NUM_PATTERNS, QUILT_WIDTH),
    "features": (features.NUM_ROWS, HIDDEN),
    "quilt_bias": (QUILT_WIDTH,),
    "game_bias": (HIDDEN,),
    "own": (QUILT_WIDTH, HIDDEN),
    "others": (QUILT_WIDTH, HIDDEN),
    "weights_2": (HIDDEN, HIDDEN_2),
    "bias_2": (HIDDEN_2,),
    "weights_3": (HIDDEN_2, OUTPUTS),
    "bias_3": (OUTPUTS,),
}
TABLES = ("patterns", "features")
"""The names of the weights that are tables of rows."""
WEIGHTS = compiled.record_type({name: (np.float32, shape) for name, shape in SHAPES.items()})
Weights = npt.NDArray[np.void]
"""The learned weights: an array of one :data:`WEIGHTS` record."""

ONE = 1 << 10
"""The integer for 1 in sums of rows and in units."""
RANGE = 2**15 / ONE
"""Units are clipped to -RANGE ... RANGE."""
_LEAK_SHIFT = 3  # the leak is 1 / 8
_BLOCK = 64  # the columns of a matrix that are multiplied together
_COLUMNS = 8  # the number of columns of the last matrix, which fill a vector
_GAINS = np.array([4, 4, 1, 4, 4], np.float32)  # outputs times these use the range of int16 well
OUTPUT_UNITS = SCALES / (ONE * _GAINS)
"""Points, or cells, per 1 of an output in integers."""
_ROLES = np.arange(NUM_PLAYERS, dtype=np.int32)
_NO_SUM = np.zeros(HIDDEN, np.int32)

QUANTIZED = compiled.record_type(
    {name: (np.int16, SHAPES[name]) for name in TABLES}
    | {
        # The maximum number of rows of a table whose sum is always in the range of int16.
        "patterns_at_once": (np.int64, ()),
        "features_at_once": (np.int64, ()),
        "quilt_bias": (np.int32, (QUILT_WIDTH,)),
        "quilts": compiled.layer_type(QUILT_WIDTH, _BLOCK, NUM_PLAYERS, HIDDEN // _BLOCK),
        "layer_2": compiled.layer_type(HIDDEN, HIDDEN_2),
        "layer_3": compiled.layer_type(HIDDEN_2, _COLUMNS),
    }
)
Quantized = npt.NDArray[np.void]
"""The weights in integers, used for evaluation: an array of one :data:`QUANTIZED` record."""

BUFFER = compiled.record_type(
    {
        "rows": (np.int32, (max(features.NUM_WINDOWS, features.MAX_ROWS),)),
        "quilt": (np.int32, (QUILT_WIDTH,)),
        "quilt_units": (np.int16, (QUILT_WIDTH,)),
        "products": (np.int16, (NUM_PLAYERS, HIDDEN)),
        "hidden": (np.int32, (HIDDEN,)),
        "hidden_units": (np.int16, (HIDDEN,)),
        "hidden_2": (np.int16, (HIDDEN_2,)),
        "columns": (np.int16, (_COLUMNS,)),
        "outputs": (np.float32, (OUTPUTS,)),
        "bands": (np.uint64, (features.NUM_BANDS,)),
        # The following fields belong to the position whose successors are evaluated.
        "has_windows": (np.uint8, (1,)),
        "own_bands": (np.uint64, (features.NUM_BANDS,)),
        "own_windows": (np.int32, (features.NUM_WINDOWS,)),
        "own_quilt": (np.int32, (QUILT_WIDTH,)),
        "left": (np.int32, (HIDDEN,)),
        "shared": (np.int32, (HIDDEN,)),
        "missing_of_other": (np.uint8, (1,)),
        "old": (np.int32, (features.NUM_WINDOWS,)),
        "new": (np.int32, (features.NUM_WINDOWS,)),
    }
)
Buffer = npt.NDArray[np.void]
"""The buffers of one thread: an array of one :data:`BUFFER` record."""
Record = Any
"""One element of an array of records, in a kernel."""


def new_buffer() -> Buffer:
    """Return a buffer for one thread."""
    return compiled.aligned_records(BUFFER)


def new_weights(seed: int) -> Weights:
    """Return random initial weights; values are close to 0, but differ."""
    scales = {
        "patterns": 0.5 / math.sqrt(features.NUM_WINDOWS),
        "features": 0.5 / math.sqrt(features.MAX_ROWS),
        "own": math.sqrt(2 / QUILT_WIDTH),
        "others": math.sqrt(2 / QUILT_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
        "weights_3": 0.01,
    }
    return compiled.random_record(WEIGHTS, scales, seed)


def quantized(weights: Weights) -> Quantized:
    """Return the weights in integers, whose sums are exact and take less memory and time."""
    record, source = compiled.aligned_records(QUANTIZED), weights[0]
    for name in TABLES:
        table = compiled.rounded(source[name], ONE, np.int16)
        record[name][0] = table
        record[f"{name}_at_once"] = max((2**15 - 1) // max(int(np.abs(table.astype(int)).max()), 1), 1)
    record["quilt_bias"][0] = compiled.rounded(source["quilt_bias"], ONE, np.int16)
    for role, (name, bias) in enumerate((("own", source["game_bias"]), ("others", np.zeros(HIDDEN)))):
        for block in range(HIDDEN // _BLOCK):
            columns = slice(block * _BLOCK, (block + 1) * _BLOCK)
            layer = compiled.layer_of(source[name][:, columns], bias[columns], ONE)
            record["quilts"][0, role, block] = layer
    record["layer_2"][0] = compiled.layer_of(source["weights_2"], source["bias_2"], ONE)
    missing = (0, _COLUMNS - OUTPUTS)
    last = (
        np.pad(np.float64(source["weights_3"]) * _GAINS, ((0, 0), missing)),
        np.pad(np.float64(source["bias_3"]) * _GAINS, missing),
    )
    record["layer_3"][0] = compiled.layer_of(*last, ONE)
    return record


_add_short, _subtract_short = short_rows_adder(QUILT_WIDTH), short_rows_adder(QUILT_WIDTH, -1)
_add_long, _subtract_long = short_rows_adder(HIDDEN), short_rows_adder(HIDDEN, -1)
_write_block, _write_hidden_2, _write_outputs = map(integer_layer, (_BLOCK, HIDDEN_2, _COLUMNS))
_rectify_quilt, _rectify_hidden, _rectify_hidden_2 = (
    rectifier(width, _LEAK_SHIFT) for width in (QUILT_WIDTH, HIDDEN, HIDDEN_2)
)


@kernel(inline=True)
def add_patterns(out: Rows, base: Rows, rows: Rows, count: int, weights: Record) -> None:
    """Write the sum ``base`` of a quilt plus the first ``count`` rows of patterns to ``out``."""
    _add_short(out, base, weights["patterns"], rows, count, weights["patterns_at_once"])


@kernel(inline=True)
def subtract_patterns(out: Rows, base: Rows, rows: Rows, count: int, weights: Record) -> None:
    """Write the sum ``base`` of a quilt minus the first ``count`` rows of patterns to ``out``."""
    _subtract_short(out, base, weights["patterns"], rows, count, weights["patterns_at_once"])


@kernel(inline=True)
def add_features(out: Rows, base: Rows, rows: Rows, count: int, weights: Record) -> None:
    """Write the part ``base`` of the first layer plus the first ``count`` rows of features to ``out``."""
    _add_long(out, base, weights["features"], rows, count, weights["features_at_once"])


@kernel(inline=True)
def subtract_features(out: Rows, base: Rows, rows: Rows, count: int, weights: Record) -> None:
    """Write the part ``base`` of the first layer minus the first ``count`` rows of features to ``out``."""
    _subtract_long(out, base, weights["features"], rows, count, weights["features_at_once"])


@kernel(inline=True)
def add_product(out: Rows, base: Rows, products: Shorts, role: int) -> None:
    """Write the part ``base`` of the first layer plus a quilt's product in a role to ``out``."""
    _add_long(out, base, products, _ROLES[role:], 1, 1)


@kernel
def evaluate(states: States, i: int, all_weights: Quantized, buffers: Buffer) -> tuple[float, float]:
    """Return the expected margin in points and the probability to win of the player to move."""
    weights, buffer = all_weights[0], buffers[0]
    hidden, rows, mover = buffer["hidden"], buffer["rows"], states[i]["current_player"]
    write_left(hidden, states, i, weights, buffer)
    add_game(hidden, hidden, states, i, weights, buffer)
    for role in range(NUM_PLAYERS):
        embed_quilt(states, i, mover if role == 0 else 1 - mover, weights, buffer)
        write_product(buffer["products"][role], buffer["quilt"], role, weights, buffer)
        add_product(hidden, hidden, buffer["products"], role)
        add_features(hidden, hidden, rows, features.list_fit_rows(states, i, role, rows), weights)
    add_features(hidden, hidden, rows, features.list_square_rows(states, i, rows), weights)
    return values_of(weights, buffer)


@kernel
def write_left(out: Rows, states: States, i: int, weights: Record, buffer: Record) -> None:
    """Write the part of the first layer from the remaining patches."""
    count = features.list_left_rows(states, i, buffer["rows"])
    add_features(out, _NO_SUM, buffer["rows"], count, weights)


@kernel
def add_game(out: Rows, base: Rows, states: States, i: int, weights: Record, buffer: Record) -> None:
    """Write the part ``base`` of the first layer plus the rows of ``list_game_rows`` to ``out``."""
    count = features.list_game_rows(states, i, buffer["rows"])
    add_features(out, base, buffer["rows"], count, weights)


@kernel
def embed_quilt(states: States, i: int, player: int, weights: Record, buffer: Record) -> None:
    """Write the sum of the pattern rows of a quilt, not rectified, to ``quilt``."""
    quilt = states[i]["quilt"]
    features.write_bands(quilt[player, 0], quilt[player, 1], buffer["bands"])
    features.list_rows(buffer["bands"], buffer["rows"])
    add_patterns(buffer["quilt"], weights["quilt_bias"], buffer["rows"], features.NUM_WINDOWS, weights)


@kernel
def write_product(out: Shorts, quilt: Rows, role: int, weights: Record, buffer: Record) -> None:
    """Write a quilt's part of the first layer in a role; that of role 0 includes the bias."""
    _rectify_quilt(buffer["quilt_units"], quilt)
    for block in range(HIDDEN // _BLOCK):
        layer = weights["quilts"][role, block]
        columns = out[block * _BLOCK : (block + 1) * _BLOCK]
        _write_block(columns, layer["bias"], layer["matrix"], buffer["quilt_units"], layer["shift"])


@kernel
def values_of(weights: Record, buffer: Record) -> tuple[float, float]:
    """Compute all ``outputs`` from the first layer; return the margin and the probability to win."""
    hidden, hidden_2, outputs = buffer["hidden_units"], buffer["hidden_2"], buffer["outputs"]
    layer_2, layer_3 = weights["layer_2"], weights["layer_3"]
    _rectify_hidden(hidden, buffer["hidden"])
    _write_hidden_2(hidden_2, layer_2["bias"], layer_2["matrix"], hidden, layer_2["shift"])
    _rectify_hidden_2(hidden_2, hidden_2)
    _write_outputs(buffer["columns"], layer_3["bias"], layer_3["matrix"], hidden_2, layer_3["shift"])
    for output in range(OUTPUTS):
        outputs[output] = OUTPUT_UNITS[output] * np.float32(buffer["columns"][output])
    outputs[WIN] = 1 / (1 + math.exp(-outputs[WIN]))
    return float(outputs[OWN_SCORE] - outputs[OTHER_SCORE]), float(outputs[WIN])


def read_value(checkpoint: Checkpoint) -> Weights:
    """Read the weights of a value."""
    return compiled.read_weights(checkpoint, PATCHWORK, WEIGHTS)
