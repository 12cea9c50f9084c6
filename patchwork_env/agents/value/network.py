"""The value of a position: sums of table rows and two small layers, compiled.

A quilt is embedded as the sum of one table row per window (:mod:`.patterns`), the game around it as the sum
of one row per feature (:mod:`.features`). With ``relu(x) = max(x, 0)``::

    quilt[role] = relu(quilt_bias + sum(patterns[windows of that quilt]))       role 0: the player to move
    hidden      = relu(game_bias + sum(features[rows]) + quilt[0] @ own + quilt[1] @ others)
    hidden_2    = relu(bias_2 + hidden @ weights_2)
    margin, win = bias_3 + hidden_2 @ weights_3

``MARGIN_SCALE`` times ``margin`` is the expected final margin in points, and ``1 / (1 + exp(-win))`` the
probability to win, both of the player to move.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from patchwork_env._compile import kernel
from patchwork_env.agents.value import features, patterns
from patchwork_env.agents.value.vectors import Floats, Rows, aligned_floats, product_adder, rows_adder
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.state import States

QUILT_WIDTH, HIDDEN, HIDDEN_2, OUTPUTS = 32, 64, 32, 2
MARGIN_SCALE = 30.0
"""Points per unit of the network's margin."""


class Weights(NamedTuple):
    """All that is learned: contiguous float32 arrays."""

    patterns: Floats
    features: Floats
    quilt_bias: Floats
    game_bias: Floats
    own: Floats
    others: Floats
    weights_2: Floats
    bias_2: Floats
    weights_3: Floats
    bias_3: Floats


SHAPES: dict[str, tuple[int, ...]] = {
    "patterns": (patterns.NUM_ROWS, QUILT_WIDTH),
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
"""Shapes of the weights by name."""


def new_weights(seed: int) -> Weights:
    """Random weights to start from; what a position is worth is 0 at first."""
    rng = np.random.default_rng(seed)
    scales = {
        "patterns": 0.5 / math.sqrt(patterns.NUM_WINDOWS),
        "features": 0.5 / math.sqrt(features.MAX_GAME_ROWS),
        "own": math.sqrt(2 / QUILT_WIDTH),
        "others": math.sqrt(2 / QUILT_WIDTH),
        "weights_2": math.sqrt(2 / HIDDEN),
    }
    weights = empty_weights()
    for name, scale in scales.items():
        array = getattr(weights, name)
        array[:] = scale * rng.normal(size=array.shape)
    return weights


def empty_weights() -> Weights:
    """Weights of 0."""
    return Weights(*(aligned_floats(*SHAPES[name]) for name in Weights._fields))


add_patterns, subtract_patterns = rows_adder(QUILT_WIDTH), rows_adder(QUILT_WIDTH, -1)
add_features = rows_adder(HIDDEN)
_add_quilt = product_adder(HIDDEN)
_add_hidden = product_adder(HIDDEN_2)


class Workspace(NamedTuple):
    """Memory of one thread for the evaluation of positions."""

    bands: patterns.Bands
    rows: Rows
    quilt: Floats
    hidden: Floats
    hidden_2: Floats


def new_workspace() -> Workspace:
    """Memory for one thread."""
    return Workspace(
        np.empty(patterns.NUM_BANDS, np.uint64),
        np.empty(max(patterns.NUM_WINDOWS, features.MAX_GAME_ROWS), np.int32),
        aligned_floats(QUILT_WIDTH),
        aligned_floats(HIDDEN),
        aligned_floats(HIDDEN_2),
    )


@kernel
def evaluate(states: States, i: int, weights: Weights, work: Workspace) -> tuple[float, float]:
    """The expected margin, in points, and the probability to win of the player to move; the game goes on."""
    write_hidden_of_game(states, i, weights, work.rows, work.hidden)
    for role in range(NUM_PLAYERS):
        mover = states[i]["current_player"]
        embed_quilt(states, i, mover if role == 0 else 1 - mover, weights, work)
        add_quilt(weights, role, work.quilt, work.hidden)
    add_features(work.hidden, weights.features, work.rows, features.list_square_rows(states, i, work.rows))
    return values_of(weights, work.hidden, work.hidden_2)


@kernel
def write_hidden_of_game(states: States, i: int, weights: Weights, rows: Rows, hidden: Floats) -> None:
    """Starts the first layer with what does not depend on the places of patches."""
    hidden[:] = weights.game_bias
    add_features(hidden, weights.features, rows, features.list_game_rows(states, i, rows))


@kernel
def embed_quilt(states: States, i: int, player: int, weights: Weights, work: Workspace) -> None:
    """Writes the sum of pattern rows of a quilt to ``work.quilt``, not yet rectified."""
    quilt = states[i]["quilt"]
    patterns.write_bands(quilt[player, 0], quilt[player, 1], work.bands)
    patterns.list_rows(work.bands, work.rows)
    work.quilt[:] = weights.quilt_bias
    add_patterns(work.quilt, weights.patterns, work.rows, patterns.NUM_WINDOWS)


@kernel(inline=True)
def add_quilt(weights: Weights, role: int, quilt: Floats, hidden: Floats) -> None:
    """Rectifies the embedding of a quilt in place and adds what it does to the first layer."""
    rectify(quilt)
    if role == 0:
        _add_quilt(hidden, weights.own, quilt, QUILT_WIDTH)
    else:
        _add_quilt(hidden, weights.others, quilt, QUILT_WIDTH)


@kernel(inline=True)
def values_of(weights: Weights, hidden: Floats, hidden_2: Floats) -> tuple[float, float]:
    """Expected margin in points and probability to win from the first layer, which is rectified in place."""
    rectify(hidden)
    hidden_2[:] = weights.bias_2
    _add_hidden(hidden_2, weights.weights_2, hidden, HIDDEN)
    rectify(hidden_2)
    margin, win = weights.bias_3[0], weights.bias_3[1]
    for k in range(HIDDEN_2):
        margin += hidden_2[k] * weights.weights_3[k, 0]
        win += hidden_2[k] * weights.weights_3[k, 1]
    return float(MARGIN_SCALE * margin), 1 / (1 + math.exp(-win))


@kernel(inline=True)
def rectify(numbers: Floats) -> None:
    """Sets negative numbers to 0."""
    for k in range(len(numbers)):
        numbers[k] = max(numbers[k], np.float32(0))
