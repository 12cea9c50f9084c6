"""Stacks in free order get better and better."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.nmbr9.plans import Stack, as_solo_game, plan
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.nmbr9 import Game
from research.nmbr9_records import towers
from research.nmbr9_records.improvement import improvements, offer_levels, upper_levels, without
from research.nmbr9_records.stacks import from_tower, in_order, put, run
from research.nmbr9_records.towers import Rating

PAIR = np.full(10, 2, np.int64)


def test_improvements_are_better_each_time() -> None:
    weights, _ = read_value(agents.path_of("nmbr9_champion"))
    root, rng = as_solo_game(Game(order="free", max_digit=5, deck_size=7).state), np.random.default_rng(3)
    first = plan(root, 0, weights, width=2)
    scores = [found.score for found in improvements(root, first, 20, weights, rng, rounds=6)]
    assert scores == sorted(set(scores))
    assert scores[0] == first.score


@pytest.fixture(scope="module")
def stack() -> Stack:
    search = towers.start(PAIR, 20, 12, Rating(noise=20.0), 5)
    run(search)
    tiles = int(np.flatnonzero(search.pools.sizes)[-1])
    return from_tower(towers.levels_of(search, tiles, 0))


def test_levels_that_are_kept_end_all_towers(stack: Stack) -> None:
    upper = upper_levels(stack, 1)
    again = towers.new_search(20, 12, Rating(), 5)
    offer_levels(again, PAIR, upper)
    run(again)
    last = int(np.flatnonzero(again.pools.sizes)[-1])
    levels = towers.levels_of(again, last, 0)
    assert levels[-len(upper) :] == upper
    assert put(as_solo_game(Game(order="free").state), from_tower(levels))


def test_without_a_tile_nothing_rests_on_it(stack: Stack) -> None:
    left = without(stack, [0])
    assert stack[0] not in left
    assert without(stack, range(len(stack))) == ()
    covered = {(t.level, cell) for t in left for cell in t.cells}
    assert all((t.level - 1, cell) in covered for t in left if t.level > 0 for cell in t.cells)
    assert sorted(in_order(left)) == sorted(left)
