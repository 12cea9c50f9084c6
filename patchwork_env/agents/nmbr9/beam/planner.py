"""Plans of whole games: which search is run, how wide, and how long.

With a width, a plan is one search. With a time, searches follow each other: a narrow one to measure how long
they take, then wider ones, with some noise in the values that they compare; each takes a share of the time
left. The best plan counts.

In free order, an empty table is planned as a tower, from the top down; the tiles that it leaves are placed by
a search from the first tile to the last. That search also plans everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.nmbr9.beam import forward, towers
from patchwork_env.agents.nmbr9.beam.stacks import Stack, from_tower, put, stack_of
from patchwork_env.agents.nmbr9.beam.towers import Rating
from patchwork_env.agents.nmbr9.value.network import Weights
from patchwork_env.core.checks import later_seed
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import States

MOST_WIDTH = 999_999
_FIRST_WIDTH = 16
_SHARE = 0.6
"""The share of the time left that the next search takes."""
_MOST_WIDENING = 16
_NOISE = 4.0
_FINISHED = 32
"""The number of towers that are completed."""
_FINISHING_WIDTH = 32
_CHUNK = 16
"""The number of towers between two looks at the clock."""


class Plan(NamedTuple):
    """A complete stack and its score."""

    score: int
    stack: Stack


class Budget(NamedTuple):
    """The budget of a plan: the width of a single search, or the seconds of several. One of them is None."""

    width: int | None = None
    seconds: float | None = None


def plan(root: States, is_free: bool, is_chosen: bool, budget: Budget, weights: Weights, seed: int) -> Plan:
    """The best way to go on with a game of one player that is found within a budget.

    ``is_free`` says whether the order is free, ``is_chosen`` whether the next tile has been chosen already.
    For the root see :func:`~patchwork_env.agents.nmbr9.beam.stacks.alone`; the seed is that of the noise.
    """
    end = None if budget.seconds is None else perf_counter() + budget.seconds
    if is_free and not is_chosen and root[0]["round"] == 0:

        def search(width: int, number: int) -> Plan:
            return plan_tower(root, width, Rating(), weights, later_seed(seed, number), end)
    else:
        tiles = int(root[0]["num_rounds"] - root[0]["round"])
        free_from = int(is_chosen) if is_free else tiles

        def search(width: int, number: int) -> Plan:
            noise = _NOISE if number else 0.0
            return plan_forward(root, width, weights, free_from, noise, later_seed(seed, number))

    if budget.width is not None:
        return search(budget.width, 0)
    assert end is not None
    return max(_searches(search, end), key=lambda found: found.score)


def _searches(search: Callable[[int, int], Plan], end: float) -> Iterator[Plan]:
    """The plans of several searches until a point in time."""
    width, number = _FIRST_WIDTH, 0
    while True:
        began = perf_counter()
        yield search(width, number)
        now = perf_counter()
        fitting = int(_SHARE * (end - now) / (now - began) * width)
        if fitting < _FIRST_WIDTH:
            return
        width, number = min(fitting, _MOST_WIDENING * width, MOST_WIDTH), number + 1


def plan_forward(
    root: States, width: int, weights: Weights, free_from: int, noise: float = 0.0, seed: int = 0
) -> Plan:
    """The plan of one search from the next tile to the last; see :func:`.forward.search`."""
    score, steps = forward.search(root, width, weights, free_from=free_from, noise=noise, seed=seed)
    final = root.copy()
    for digit, action in steps:
        forward.draw(final, 0, digit)
        engine.apply(final, 0, action)
    return Plan(score, stack_of(final))


def plan_tower(
    root: States, width: int, rating: Rating, weights: Weights, seed: int, end: float | None = None
) -> Plan:
    """The plan of one search of towers for an empty table, the best of which are completed.

    It stops when all is done, or at the time ``end`` of :func:`time.perf_counter`. The rating compares
    towers; the seed is that of the noise.
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
    if engine.is_over(table, 0):
        return Plan(int(engine.score(table, 0, 0)), stack_of(table))
    return plan_forward(table, width, weights, free_from=0)
