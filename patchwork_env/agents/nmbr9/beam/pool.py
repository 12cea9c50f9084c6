"""Pools, which keep the best few of everything that is offered, and nothing twice.

A search has a row of pools, one for each of its stages. What is offered has a value and a key, a hash that is
the same for things of which only one is to be kept. A hash table remembers what has been offered. Keys may
replace each other there, so that now and then something is kept twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel

_U = np.uint64
_TABLE_FACTOR = 16


class Pools(NamedTuple):
    """Pool ``k`` holds the slots ``0 ... sizes[k] - 1``."""

    sizes: npt.NDArray[np.int64]  # (pools,)
    values: npt.NDArray[np.float64]  # (pools, width), the values by slot
    heaps: npt.NDArray[np.int64]  # (pools, width), the slots as a heap, that of the lowest value first
    keys: npt.NDArray[np.uint64]  # the hash table of keys that were offered; its size is a power of two
    offers: npt.NDArray[np.float64]  # the values that were offered with these keys


def new_pools(number: int, width: int) -> Pools:
    """Empty pools of ``width`` slots each."""
    entries = 1 << (_TABLE_FACTOR * width).bit_length()
    return Pools(
        np.zeros(number, np.int64),
        np.zeros((number, width), np.float64),
        np.zeros((number, width), np.int64),
        np.zeros(entries, np.uint64),
        np.zeros(entries, np.float64),
    )


@kernel
def admit(pools: Pools, k: int, key: np.uint64, value: float) -> int:
    """Takes something into pool ``k`` if it is among the best; returns its slot, or else -1."""
    heap, values, size = pools.heaps[k], pools.values[k], pools.sizes[k]
    if size == len(heap) and value <= values[heap[0]]:
        return -1
    entry = np.int64(key & _U(len(pools.keys) - 1))
    if pools.keys[entry] == key and pools.offers[entry] >= value:
        return -1
    pools.keys[entry], pools.offers[entry] = key, value
    if size == len(heap):
        slot = int(heap[0])
        values[slot] = value
        _sink(heap, values)
        return slot
    heap[size], values[size] = size, value
    pools.sizes[k] += 1
    _rise(heap, values, size)
    return int(size)


@kernel
def _rise(heap: npt.NDArray[np.int64], values: npt.NDArray[np.float64], i: int) -> None:
    above = (i - 1) // 2
    while i > 0 and values[heap[i]] < values[heap[above]]:
        heap[i], heap[above] = heap[above], heap[i]
        i, above = above, (above - 1) // 2


@kernel
def _sink(heap: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> None:
    i, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and values[heap[child + 1]] < values[heap[child]]:
            child += 1
        if values[heap[i]] <= values[heap[child]]:
            return
        heap[i], heap[child] = heap[child], heap[i]
        i, child = child, 2 * child + 1
