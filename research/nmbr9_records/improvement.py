"""Improves stacks of tiles in games in free order.

Two ways take turns: a few tiles are taken away, with all that rests on them, and placed anew by the search
from the first tile to the last; or the lower levels are taken away and planned anew by the search of towers.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from patchwork_env.agents.nmbr9.beam import towers
from patchwork_env.agents.nmbr9.beam.planner import Plan, best_completion, complete, run
from patchwork_env.agents.nmbr9.beam.stacks import in_order, upper_levels, without
from patchwork_env.agents.nmbr9.beam.towers import MOST_TILES, Rating
from patchwork_env.agents.nmbr9.value.network import Weights
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import States

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
    search = towers.start(supply, rounds, width, random_rating(rng), seed, upper)
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
