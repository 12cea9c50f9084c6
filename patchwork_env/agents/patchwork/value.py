"""The value of a position: sums of table rows and two small layers, compiled.

A quilt is embedded as the sum of one table row per window, the game around it as the sum of one row per
feature (:mod:`.features`). With ``leaky(x) = max(x, LEAK * x)``::

    quilt[role] = leaky(quilt_bias + sum(patterns[windows of that quilt]))       role 0: the player to move
    hidden      = leaky(game_bias + sum(features[rows]) + quilt[0] @ own + quilt[1] @ others)
    hidden_2    = leaky(bias_2 + hidden @ weights_2)
    outputs     = bias_3 + hidden_2 @ weights_3

The outputs are what to expect at the end of the game, in units of :data:`SCALES`: the scores of the player to
move and of the other, the logit of the probability to win, and the empty cells of both. Play needs the
difference of the scores and the probability; the rest shows learning which quilt the result came from.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import compiled
from patchwork_env.agents.patchwork import features
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Floats, product_adder, rows_adder
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.state import States

QUILT_WIDTH, HIDDEN, HIDDEN_2 = 64, 128, 32
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
"""All that is learned: an array of one :data:`WEIGHTS` record."""

BUFFER = compiled.record_type(
    {
        "rows": (np.int32, (max(features.NUM_WINDOWS, features.MAX_ROWS),)),
        "quilt": (np.float32, (QUILT_WIDTH,)),
        "hidden": (np.float32, (HIDDEN,)),
        "hidden_2": (np.float32, (HIDDEN_2,)),
        "outputs": (np.float32, (OUTPUTS,)),
        "bands": (np.uint64, (features.NUM_BANDS,)),
        # The fields from here on belong to the position whose successors are evaluated.
        "has_windows": (np.uint8, (1,)),
        "own_bands": (np.uint64, (features.NUM_BANDS,)),
        "own_windows": (np.int32, (features.NUM_WINDOWS,)),
        "own_quilt": (np.float32, (QUILT_WIDTH,)),
        "left": (np.float32, (HIDDEN,)),
        "shared": (np.float32, (HIDDEN,)),
        "missing_of_other": (np.uint8, (1,)),
        "old": (np.int32, (features.NUM_WINDOWS,)),
        "new": (np.int32, (features.NUM_WINDOWS,)),
    }
)
Buffer = npt.NDArray[np.void]
"""What one thread needs to evaluate positions: an array of one :data:`BUFFER` record."""
Record = Any
"""One element of an array of records, in a kernel."""


def new_buffer() -> Buffer:
    """A buffer for one thread."""
    return compiled.aligned_records(BUFFER)


def new_weights(seed: int) -> Weights:
    """Random weights to start learning from. Values are close to 0, but not all the same."""
    scales = {
        "patterns": 0.5 / math.sqrt(features.NUM_WINDOWS),
        "features": 0.5 / math.sqrt(features.MAX_ROWS),
        "own": math.sqrt(2 / QUILT_WIDTH),
        "others": math.sqrt(2 / QUILT_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
        "weights_3": 0.01,
    }
    return compiled.random_record(WEIGHTS, scales, seed)


add_patterns, subtract_patterns = rows_adder(QUILT_WIDTH), rows_adder(QUILT_WIDTH, -1)
add_features, subtract_features = rows_adder(HIDDEN), rows_adder(HIDDEN, -1)
_add_quilt = product_adder(HIDDEN)
_add_hidden = product_adder(HIDDEN_2)
_add_outputs = product_adder(OUTPUTS)


@kernel
def evaluate(states: States, i: int, all_weights: Weights, buffers: Buffer) -> tuple[float, float]:
    """The expected margin, in points, and the probability to win of the player to move, before the end."""
    weights, buffer = all_weights[0], buffers[0]
    hidden, rows, mover = buffer["hidden"], buffer["rows"], states[i]["current_player"]
    write_left(hidden, states, i, weights, buffer)
    add_game(states, i, weights, buffer)
    for role in range(NUM_PLAYERS):
        embed_quilt(states, i, mover if role == 0 else 1 - mover, weights, buffer)
        add_quilt(hidden, role, weights, buffer)
        add_features(hidden, weights["features"], rows, features.list_fit_rows(states, i, role, rows))
    add_features(hidden, weights["features"], rows, features.list_square_rows(states, i, rows))
    return values_of(weights, buffer)


@kernel
def write_left(out: Floats, states: States, i: int, weights: Record, buffer: Record) -> None:
    """Writes the first layer with the bias and the patches that are left."""
    compiled.copy(out, weights["game_bias"])
    count = features.list_left_rows(states, i, buffer["rows"])
    add_features(out, weights["features"], buffer["rows"], count)


@kernel
def add_game(states: States, i: int, weights: Record, buffer: Record) -> None:
    """Adds all else that does not depend on where patches lie to the first layer."""
    count = features.list_game_rows(states, i, buffer["rows"])
    add_features(buffer["hidden"], weights["features"], buffer["rows"], count)


@kernel
def embed_quilt(states: States, i: int, player: int, weights: Record, buffer: Record) -> None:
    """Writes the sum of the pattern rows of a quilt, which is not rectified yet, to ``quilt``."""
    quilt = states[i]["quilt"]
    features.write_bands(quilt[player, 0], quilt[player, 1], buffer["bands"])
    features.list_rows(buffer["bands"], buffer["rows"])
    compiled.copy(buffer["quilt"], weights["quilt_bias"])
    add_patterns(buffer["quilt"], weights["patterns"], buffer["rows"], features.NUM_WINDOWS)


@kernel
def add_quilt(out: Floats, role: int, weights: Record, buffer: Record) -> None:
    """Rectifies the embedding of a quilt in place and adds its product with the weights to ``out``."""
    compiled.rectify(buffer["quilt"])
    matrix = weights["own"] if role == 0 else weights["others"]
    _add_quilt(out, matrix, buffer["quilt"], QUILT_WIDTH)


@kernel
def values_of(weights: Record, buffer: Record) -> tuple[float, float]:
    """Writes all ``outputs``, from the first layer; returns the margin and the probability to win."""
    compiled.rectify(buffer["hidden"])
    compiled.copy(buffer["hidden_2"], weights["bias_2"])
    _add_hidden(buffer["hidden_2"], weights["weights_2"], buffer["hidden"], HIDDEN)
    compiled.rectify(buffer["hidden_2"])
    outputs = buffer["outputs"]
    compiled.copy(outputs, weights["bias_3"])
    _add_outputs(outputs, weights["weights_3"], buffer["hidden_2"], HIDDEN_2)
    for output in range(OUTPUTS):
        outputs[output] *= SCALES[output]
    outputs[WIN] = 1 / (1 + math.exp(-outputs[WIN]))
    return float(outputs[OWN_SCORE] - outputs[OTHER_SCORE]), float(outputs[WIN])


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and the facts on its making."""
    return compiled.read_weights(folder, PATCHWORK, WEIGHTS)
