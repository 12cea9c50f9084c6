"""A beam search over the tiles to come, from the first to the last.

After every tile the search keeps the best of all tables that those kept before lead to; how many is its
width. The best are those with the most points, including the points that a learned value expects of the tiles
to come (:mod:`patchwork_env.agents.nmbr9.value`). The value knows which tiles are left, but not in which
order they come; the search takes care of the order. Where the order is free, each table is continued with
every digit that is left.

Pools, one for each stage of a search, keep the best few of everything that is offered, and nothing twice. An
offer has a value and a key, a hash that is the same for offers of which only one is to be kept. Keys may
replace each other in the table of hashes, so that now and then something is kept twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.expansion import LIKELY, Expansion, expand, new_expansion
from patchwork_env.agents.nmbr9.fits import tile_of
from patchwork_env.agents.nmbr9.value import Weights
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import mix
from patchwork_env.nmbr9.actions import NUM_ANCHORS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import apply, level_of, score
from patchwork_env.nmbr9.state import States, empty_states

_U = np.uint64
_TABLE_FACTOR = 16
"""The least number of hash table entries for each slot of a pool."""


class _Beam(NamedTuple):
    """The tables before and after a step, and how each slot of the pool comes about; ``(width,)`` each."""

    tables: States
    keys: npt.NDArray[np.uint64]  # the keys of the tables in the pools
    next_tables: States
    next_keys: npt.NDArray[np.uint64]
    parents: npt.NDArray[np.int64]  # the slot of the table before the step
    digits: npt.NDArray[np.int64]  # the digit that is placed
    actions: npt.NDArray[np.int64]  # the action that places it


class _Settings(NamedTuple):
    """The settings of a search; see :func:`search`."""

    weights: Weights
    free_from: int
    noise: float
    seed: np.uint64


def search(
    root: States, width: int, weights: Weights, *, free_from: int, noise: float = 0.0, seed: int = 0
) -> States:
    """The best end of a game that the search finds, ``(1,)``.

    Args:
        root: A game of one player that is not over, ``(1,)``; its order is ``KNOWN``.
        width: The number of tables that are kept after every tile.
        weights: The weights of the value.
        free_from: The number of tiles to come whose order is fixed; the order of all others is free.
        noise: The most points that are added to the value of a table at random.
        seed: The seed of the noise.
    """
    beam = _Beam(
        empty_states(width),
        np.zeros(width, np.uint64),
        empty_states(width),
        np.zeros(width, np.uint64),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
    )
    beam.tables[0] = root[0]
    pools, end = new_pools(int(root[0]["num_rounds"] - root[0]["round"]), width), empty_states(1)
    _search(beam, pools, _Settings(weights, free_from, noise, np.uint64(seed)), new_expansion(), end)
    return end


@kernel
def _search(beam: _Beam, pools: Pools, settings: _Settings, expansion: Expansion, end: States) -> None:
    """Runs a search and writes its best table."""
    tables, keys, next_tables, next_keys = beam.tables, beam.keys, beam.next_tables, beam.next_keys
    kept = 1
    for step in range(len(pools.sizes)):
        for i in range(kept):
            _continue(beam, pools, step, tables, keys, i, settings, expansion)
        kept = pools.sizes[step]
        for slot in range(kept):
            parent = beam.parents[slot]
            next_tables[slot] = tables[parent]
            draw(next_tables, slot, beam.digits[slot])
            next_keys[slot] = _key_after(next_tables, slot, keys[parent], beam.actions[slot])
            apply(next_tables, slot, beam.actions[slot])
        tables, keys, next_tables, next_keys = next_tables, next_keys, tables, keys
    best = 0
    for slot in range(kept):
        if score(tables, slot, 0) > score(tables, best, 0):
            best = slot
    end[0] = tables[best]


@kernel
def _continue(
    beam: _Beam,
    pools: Pools,
    step: int,
    tables: States,
    keys: npt.NDArray[np.uint64],
    i: int,
    settings: _Settings,
    expansion: Expansion,
) -> None:
    """Offers all tables that one more tile makes of table ``i`` to the pool of the step."""
    next_card = tables[i]["round"]
    first, end = int(tables[i]["deck"][next_card]), int(tables[i]["deck"][next_card]) + 1
    if step >= settings.free_from:
        first, end = 0, NUM_DIGITS
    for digit in range(first, end):
        if not draw(tables, i, digit):
            continue
        count = expand(tables, i, LIKELY, settings.weights, expansion)
        points = score(tables, i, 0)
        for k in range(count):
            action = expansion.actions[k]
            if next_card == 0 and action >= NUM_ANCHORS:
                break  # the first tile may as well lie upright
            key = _key_after(tables, i, keys[i], action)
            chance = settings.noise * float(mix(key ^ settings.seed) >> _U(11)) / 2.0**53
            slot = admit(pools, step, key, points + expansion.values[k] + chance)
            if slot >= 0:
                beam.parents[slot], beam.digits[slot], beam.actions[slot] = i, digit, action


@kernel
def draw(tables: States, i: int, digit: int) -> bool:
    """Exchanges the next card for one of ``digit``; returns whether there is one."""
    deck, place = tables[i]["deck"], tables[i]["round"]
    for k in range(place, tables[i]["num_cards"]):
        if deck[k] == digit:
            deck[k], deck[place] = deck[place], deck[k]
            return True
    return False


@kernel
def _key_after(tables: States, i: int, key: np.uint64, action: int) -> np.uint64:
    """The key of the table after an action, whatever the order of its tiles, relative to the first one."""
    placed = tables[i]["round"]
    level = level_of(tables, i, action)
    piece, _, row, column = tile_of(action, int(tables[i]["deck"][placed]), level)
    if placed > 0:
        row -= int(tables[i]["row"][0, 0])
        column -= int(tables[i]["column"][0, 0])
    else:
        row = column = 0
    code = ((piece * 32 + level) * 4 * TABLE_SIZE + row + TABLE_SIZE) * 4 * TABLE_SIZE + column + TABLE_SIZE
    return np.uint64(key + mix(_U(code)))


# --- pools ------------------------------------------------------------------------------------------------


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
