"""Compiled values of any game: weights as records of arrays, in memory and in checkpoints.

Arrays within records need no reference counts in kernels, which saves time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.checkpoints import VALUE, Checkpoint, write_checkpoint
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import CACHE_LINE, Floats
from patchwork_env.core.random import Streams, random_below

_STEPS = 1 << 30
LEAK = 1 / 8
"""The slope of a unit below 0. Without it, units die early, when all rows of a sum move in one direction."""


def record_type(fields: dict[str, tuple[Any, tuple[int, ...]]]) -> np.dtype[np.void]:
    """Return a structured type; fields that would cross the end of a cache line start a new one."""
    offsets, end = [], 0
    for kind, shape in fields.values():
        item = np.dtype(kind).itemsize
        size, start = math.prod(shape) * item, _next_multiple(end, item)
        if start % CACHE_LINE + size > CACHE_LINE:
            start = _next_multiple(start, CACHE_LINE)
        offsets.append(start)
        end = start + size
    size = _next_multiple(end, CACHE_LINE)
    layout = {"names": list(fields), "formats": list(fields.values()), "offsets": offsets, "itemsize": size}
    return np.dtype(layout)  # type: ignore[call-overload, no-any-return]


def _next_multiple(number: int, factor: int) -> int:
    return -(-number // factor) * factor


def aligned_records(kind: np.dtype[np.void], number: int = 1) -> npt.NDArray[np.void]:
    """Return an array of zero records, aligned to a cache line."""
    memory = np.zeros(number * kind.itemsize + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + number * kind.itemsize].view(kind)


def arrays_of(weights: npt.NDArray[np.void]) -> dict[str, Floats]:
    """Return the weights of a record by name, as views."""
    return {name: weights[name][0] for name in weights.dtype.names or ()}


def layer_type(inputs: int, outputs: int, *shape: int) -> tuple[np.dtype[np.void], tuple[int, ...]]:
    """Return a field of a record that holds layers for :func:`.integer_layer`."""
    fields = {
        "matrix": (np.int16, (inputs // 2, outputs, 2)),
        "bias": (np.int32, (outputs,)),
        "shift": (np.int64, ()),
    }
    return record_type(fields), shape


def layer_of(matrix: Any, bias: Any, one: int) -> tuple[Any, Any, int]:
    """Return a layer in integers: matrix, bias and shift, with as many binary places as int32 sums allow.

    ``one`` is the integer for 1 in inputs and outputs. Weights of ``n`` inputs are clipped to ``2**13 / n``,
    so that no sum overflows. A larger bias than the inputs can outweigh is clipped, with the same outputs.
    """
    most = 2**13 / len(matrix)
    matrix = np.clip(np.float64(matrix), -most, most)
    largest_products = 2**15 * np.abs(matrix).sum(0)
    largest_biases = 2**15 + largest_products
    bias = np.clip(np.float64(bias) * one, -largest_biases, largest_biases)
    largest_sum = np.abs(bias).max() + largest_products.max()
    room_for_rounding = 2**15 * len(matrix)
    room = (2**31 - room_for_rounding) / max(largest_sum, 1), 2**15 / max(np.abs(matrix).max(), 1)
    shift = min(int(np.log2(min(room))), 14)
    pairs = rounded(matrix, 2.0**shift, np.int16).reshape(len(matrix) // 2, 2, -1).swapaxes(1, 2)
    return pairs, rounded(bias, 2.0**shift, np.int32), shift


def rounded(numbers: Any, factor: float, kind: Any) -> Any:
    """Return ``numbers * factor`` rounded to an integer type and clipped to its range."""
    ends = np.iinfo(kind)
    return np.clip(np.rint(np.float64(numbers) * factor), ends.min, ends.max).astype(kind)


def random_record(kind: np.dtype[np.void], scales: Mapping[str, float], seed: int) -> npt.NDArray[np.void]:
    """Return a record of normal weights with these scales, drawn in this order; other weights are 0."""
    rng = np.random.default_rng(seed)
    weights = aligned_records(kind)
    for name, scale in scales.items():
        weights[name] = scale * rng.normal(size=kind[name].shape)
    return weights


def write_weights(
    folder: Path, game: str, weights: npt.NDArray[np.void], info: dict[str, Any] | None = None
) -> None:
    """Write the two files of a value into an existing folder."""
    arrays = arrays_of(weights)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    write_checkpoint(folder, game, VALUE, shapes, arrays, info)


def read_weights(checkpoint: Checkpoint, game: str, kind: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Read the weights of a game's value, one record of ``kind``; for errors see :class:`Checkpoint`."""
    checkpoint.check(game, VALUE)
    weights = aligned_records(kind)
    shapes = {name: array.shape for name, array in arrays_of(weights).items()}
    arrays = checkpoint.arrays(shapes, f"a value of {game}")
    for name, array in arrays.items():
        weights[name] = array
    return weights


# --- kernels ------------------------------------------------------------------------------------------------


@kernel(inline=True)
def rectify(numbers: Floats) -> None:
    """Apply a leaky rectifier in place."""
    for k in range(len(numbers)):
        numbers[k] = max(numbers[k], np.float32(LEAK) * numbers[k])


@kernel
def draw_by_softmax(
    values: npt.NDArray[np.floating[Any]], temperature: float, streams: Streams, i: int
) -> int:
    """Draw an index with stream ``i``; probabilities are proportional to ``exp(value / temperature)``."""
    best = 0
    for k in range(len(values)):
        if values[k] > values[best]:
            best = k
    most, total = values[best], 0.0
    for k in range(len(values)):
        total += math.exp((values[k] - most) / temperature)
    rest = total * random_below(streams, i, _STEPS) / _STEPS
    for k in range(len(values)):
        rest -= math.exp((values[k] - most) / temperature)
        if rest < 0:
            return k
    return best
