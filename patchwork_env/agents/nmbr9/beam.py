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


class _Front(NamedTuple):
    """The tables that are kept after a step."""

    tables: States  # (width,)
    keys: npt.NDArray[np.uint64]  # (width,), their keys in the pools


class _Search(NamedTuple):
    """The settings of a search, see :func:`search`, and what it works with; arrays are ``(width,)``."""

    weights: Weights
    free_from: int
    noise: float
    seed: np.uint64
    pools: Pools  # one for each step
    parents: npt.NDArray[np.int64]  # by slot of the pool, the table before the step
    digits: npt.NDArray[np.int64]  # the digit that is placed
    actions: npt.NDArray[np.int64]  # the action that places it
    expansion: Expansion


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
    pools = new_pools(int(root[0]["num_rounds"] - root[0]["round"]), width)
    parents, digits, actions = (np.empty(width, np.int64) for _ in range(3))
    settings = _Search(
        weights, free_from, noise, np.uint64(seed), pools, parents, digits, actions, new_expansion()
    )
    now, later = (_Front(empty_states(width), np.zeros(width, np.uint64)) for _ in range(2))
    now.tables[0] = root[0]
    end = empty_states(1)
    _run(settings, now, later, end)
    return end


@kernel
def _run(search: _Search, now: _Front, later: _Front, end: States) -> None:
    """Searches from the first table of a front and writes the best end."""
    kept = 1
    for step in range(len(search.pools.sizes)):
        for i in range(kept):
            _continue(search, step, now, i)
        kept = search.pools.sizes[step]
        for slot in range(kept):
            parent = search.parents[slot]
            later.tables[slot] = now.tables[parent]
            draw(later.tables, slot, search.digits[slot])
            later.keys[slot] = _key_after(later.tables, slot, now.keys[parent], search.actions[slot])
            apply(later.tables, slot, search.actions[slot])
        now, later = later, now
    best = 0
    for slot in range(kept):
        if score(now.tables, slot, 0) > score(now.tables, best, 0):
            best = slot
    end[0] = now.tables[best]


@kernel
def _continue(search: _Search, step: int, front: _Front, i: int) -> None:
    """Offers all tables that one more tile makes of table ``i`` to the pool of the step."""
    tables, expansion = front.tables, search.expansion
    next_card = tables[i]["round"]
    first, end = int(tables[i]["deck"][next_card]), int(tables[i]["deck"][next_card]) + 1
    if step >= search.free_from:
        first, end = 0, NUM_DIGITS
    for digit in range(first, end):
        if not draw(tables, i, digit):
            continue
        count = expand(tables, i, LIKELY, search.weights, expansion)
        points = score(tables, i, 0)
        for k in range(count):
            action = expansion.actions[k]
            if next_card == 0 and action >= NUM_ANCHORS:
                break  # the first tile may as well lie upright
            key = _key_after(tables, i, front.keys[i], action)
            chance = search.noise * float(mix(key ^ search.seed) >> _U(11)) / 2.0**53
            slot = admit(search.pools, step, key, points + expansion.values[k] + chance)
            if slot >= 0:
                search.parents[slot], search.digits[slot], search.actions[slot] = i, digit, action


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
