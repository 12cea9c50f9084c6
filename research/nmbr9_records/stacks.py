"""Stacks of a game in free order: built by the rules, put in order, and completed from towers."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np

from patchwork_env.agents.nmbr9 import beam
from patchwork_env.agents.nmbr9.beam import Plan, Stack, action_of, plan_of
from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.agents.nmbr9.value import Weights
from patchwork_env.core.polyomino import Cell
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import States
from research.nmbr9_records import towers
from research.nmbr9_records.towers import SIDE, Levels, Rating

_FINISHED, _FINISHING_WIDTH = 32, 32
"""The number of towers that are completed, and the width of the searches that complete them."""
_CHUNK = 16
"""The number of towers between two looks at the clock."""


def plan_tower(
    root: States, width: int, rating: Rating, weights: Weights, seed: int, end: float | None = None
) -> Plan:
    """The plan of one search of towers for an empty table, the best of which are completed.

    It stops when all is done, or at the time ``end`` of :func:`time.perf_counter`.
    """
    deck = root[0]["deck"][: root[0]["num_cards"]]
    supply = np.bincount(deck, minlength=NUM_DIGITS).astype(np.int64)
    search = towers.start(supply, int(root[0]["num_rounds"]), width, rating, seed)
    run(search, end)
    return best_completion(root, search, weights)


def run(search: towers.Search, end: float | None = None) -> None:
    """Expands the towers of a search, from those of the fewest tiles to those of the most."""
    for tiles in range(1, len(search.nodes) - 1):
        for first in range(0, int(search.pools.sizes[tiles]), _CHUNK):
            if end is not None and perf_counter() > end:
                return
            towers.expand(search, tiles, first, first + _CHUNK)


def best_completion(root: States, search: towers.Search, weights: Weights) -> Plan:
    """The best plan that comes of completing the towers with the most points."""
    found = [
        (int(search.nodes[tiles, slot]["score"]), tiles, slot)
        for tiles in range(1, len(search.nodes))
        for slot in range(int(search.pools.sizes[tiles]))
    ]
    found.sort(reverse=True)
    plans = (
        complete(root, from_tower(towers.levels_of(search, *at)), weights) for _, *at in found[:_FINISHED]
    )
    return max(filter(None, plans), key=lambda plan: plan.score)


def complete(root: States, stack: Stack, weights: Weights, width: int = _FINISHING_WIDTH) -> Plan | None:
    """The plan that builds a stack, then places the tiles left; None if the stack cannot be built."""
    table = root.copy()
    if not put(table, stack):
        return None
    return plan_of(table) if engine.is_over(table, 0) else beam.search(table, width, weights, free_from=0)


def put(states: States, tiles: Iterable[Tile]) -> bool:
    """Places tiles in a new game of one player, rearranging its deck; returns whether the rules allow it."""
    first = None
    for tile in tiles:
        first = first or tile
        if states[0]["round"] == states[0]["num_rounds"] or not beam.draw(states, 0, tile.digit):
            return False
        action = action_of(tile, states, first)
        if not engine.is_legal(states, 0, action) or engine.level_of(states, 0, action) != tile.level:
            return False
        engine.apply(states, 0, action)
    return True


def in_order(tiles: Iterable[Tile]) -> Stack:
    """Brings tiles into an order in which they can be placed: level by level, each next to one before.

    Tiles of a level that are not connected to the others come last on it.
    """
    ordered: list[Tile] = []
    waiting = sorted(tiles, key=lambda tile: tile.level)
    while waiting:
        level = [tile for tile in waiting if tile.level == waiting[0].level]
        near = {cell for tile in ordered if tile.level == level[0].level for cell in _neighbors(tile)}
        tile = next((tile for tile in level if tile.cells & near), level[0])
        ordered.append(tile)
        waiting.remove(tile)
    return tuple(ordered)


def _neighbors(tile: Tile) -> set[Cell]:
    return {(r + dr, c + dc) for r, c in tile.cells for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))}


def from_tower(levels: Levels) -> Stack:
    """The tiles of a tower; see :mod:`research.nmbr9_records.towers`."""
    return in_order(
        Tile(piece, level, *divmod(anchor, SIDE))
        for level, tiles in enumerate(levels)
        for piece, anchor in tiles
    )
