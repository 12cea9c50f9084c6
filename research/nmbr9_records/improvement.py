"""Improves stacks of tiles in games in free order.

Two ways take turns: a few tiles are taken away, with all that rests on them, and placed anew by the search
from the first tile to the last; or the lower levels are taken away and planned anew by the search of towers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.beam import Plan, Stack
from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.agents.nmbr9.value import Weights
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import States
from research.nmbr9_records import towers
from research.nmbr9_records.stacks import best_completion, complete, in_order, run
from research.nmbr9_records.towers import MOST_TILES, PLACES, SIDE, Levels, Rating, Search

_MOST_REMOVED = 9
_WIDTH = 64
_REBUILT = 0.2
"""How often the lower levels are planned anew."""


def random_rating(rng: np.random.Generator) -> Rating:
    """Draws the weights by which towers are compared."""
    return Rating(
        growth=rng.uniform(0.0, 3.0),
        factor=rng.uniform(1.0, 1.25),
        roughness=rng.uniform(0.0, 1.5),
        noise=rng.uniform(0.0, 25.0),
        waste=int(rng.integers(6, 12)),
    )


def replace_tiles(root: States, plan: Plan, weights: Weights, rng: np.random.Generator) -> Plan:
    """Places some tiles of a plan anew; returns a plan that scores at least as much.

    Args:
        root: The record, shape ``(1,)``, of a game of one player before its first tile.
        plan: A plan of this game, played in free order.
        weights: The weights of the value of tables.
        rng: The random numbers that decide on the tiles.
    """
    stack = in_order(plan.stack)
    number = int(rng.integers(1, 4))
    left = without(stack, rng.choice(len(stack), min(number, len(stack)), replace=False).tolist())
    if len(stack) - len(left) > _MOST_REMOVED:
        return plan
    found = complete(root, in_order(left), weights, _WIDTH)
    return found if found and found.score >= plan.score else plan


def rebuild_below(
    root: States, plan: Plan, width: int, weights: Weights, rng: np.random.Generator, end: float | None
) -> Plan:
    """Plans the lower levels of a plan anew; returns a plan that scores at least as much.

    Args:
        root: The record, shape ``(1,)``, of a game of one player before its first tile.
        plan: A plan of this game, played in free order.
        width: The width of the search.
        weights: The weights of the value of tables.
        rng: The random numbers that decide on the levels and on how towers are compared.
        end: When to stop, by :func:`time.perf_counter`; None for no limit.
    """
    highest = max(tile.level for tile in plan.stack)
    upper = upper_levels(plan.stack, int(rng.integers(1, highest + 1))) if highest > 0 else ()
    if not upper or max(map(len, upper)) > MOST_TILES:
        return plan
    supply = np.bincount(root[0]["deck"][: root[0]["num_cards"]], minlength=NUM_DIGITS).astype(np.int64)
    rounds, seed = int(root[0]["num_rounds"]), int(rng.integers(1 << 32))
    search = towers.new_search(rounds, width, random_rating(rng), seed)
    offer_levels(search, supply, upper)
    run(search, end)
    return max(plan, best_completion(root, search, weights), key=lambda plan: plan.score)


def improvements(
    root: States,
    plan: Plan,
    width: int,
    weights: Weights,
    rng: np.random.Generator,
    *,
    rounds: int | None = None,
    end: float | None = None,
) -> Iterator[Plan]:
    """Better and better plans, the first of which is the given one.

    Args:
        root: The record, shape ``(1,)``, of a game of one player before its first tile.
        plan: A plan of this game, played in free order.
        width: The width of searches of towers.
        weights: The weights of the value of tables.
        rng: The random numbers that decide on what is planned anew.
        rounds: How often something is planned anew; None for no limit.
        end: When to stop, by :func:`time.perf_counter`; None for no limit.
    """
    yield plan
    done = 0
    while (rounds is None or done < rounds) and (end is None or perf_counter() < end):
        if rng.random() < _REBUILT:
            found = rebuild_below(root, plan, width, weights, rng, end)
        else:
            found = replace_tiles(root, plan, weights, rng)
        if found.score > plan.score:
            yield found
        plan, done = found, done + 1


def without(stack: Sequence[Tile], removed: Iterable[int]) -> Stack:
    """The tiles that are left when some are removed, and with them all that rest on them."""
    kept: list[Tile] = []
    gone = set(removed)
    for t, tile in enumerate(stack):
        below = {cell for other in kept if other.level == tile.level - 1 for cell in other.cells}
        if t not in gone and (tile.level == 0 or tile.cells <= below):
            kept.append(tile)
    return tuple(kept)


def upper_levels(stack: Sequence[Tile], lowest: int) -> Levels:
    """The tiles of all levels from ``lowest`` on, in the middle of a grid.

    Raises:
        ValueError: The tiles do not fit on a grid.
    """
    tiles = [tile for tile in stack if tile.level >= lowest]
    rows, columns = zip(*(cell for tile in tiles for cell in tile.cells), strict=True)
    if max(max(rows) - min(rows), max(columns) - min(columns)) >= SIDE:
        raise ValueError(f"the tiles spread over more than {SIDE} rows or columns")
    down, right = ((SIDE - 1 - max(line) - min(line)) // 2 for line in (rows, columns))
    return tuple(
        tuple((t.piece, SIDE * (t.row + down) + t.column + right) for t in tiles if t.level == level)
        for level in range(lowest, max(tile.level for tile in tiles) + 1)
    )


def offer_levels(search: Search, supply: npt.NDArray[np.int64], levels: Levels) -> None:
    """Offers the highest levels of all towers to a new search.

    Their upper parts alone are not to be continued, so they are removed from the pools.
    """
    node, tiles, parent = search.draft[0], 0, -1
    node["left"] = supply
    for level in reversed(levels):
        node["parent_tiles"], node["parent"], node["number"] = tiles, parent, len(level)
        node["score"] += node["digits"]
        node["cover"] = np.bitwise_or.reduce([PLACES[piece, anchor] for piece, anchor in level])
        for t, (piece, anchor) in enumerate(level):
            node["piece"][t], node["anchor"][t] = piece, anchor
            node["left"][piece // NUM_TURNS] -= 1
            node["digits"] += piece // NUM_TURNS
        search.pools.sizes[:] = 0
        tiles, parent = tiles + len(level), 0
        towers.offer(search, tiles)
