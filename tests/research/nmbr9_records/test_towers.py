"""The search of towers: what it builds obeys the rules and misses nothing; and stacks that get better."""

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.nmbr9.beam import as_solo_game, plan
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.nmbr9 import Game, engine
from patchwork_env.nmbr9.tables import SHAPES
from research.nmbr9_records import towers
from research.nmbr9_records.improvement import improvements, offer_levels, upper_levels, without
from research.nmbr9_records.stacks import from_tower, in_order, put, run
from research.nmbr9_records.towers import Rating

PAIR = np.full(10, 2, np.int64)


def cells_of(grid):
    cells = np.flatnonzero(np.unpackbits(grid.view(np.uint8), bitorder="little"))
    return {divmod(int(cell), towers.SIDE) for cell in cells}


def test_grids_against_sets_of_cells():
    rng = np.random.default_rng(1)
    for _ in range(10):
        a, b = (rng.integers(0, 1 << 63, (3, 4)).astype(np.uint64) for _ in range(2))
        a, b = a[0] & a[1] & a[2], b[0] | b[1]
        first, second = cells_of(a), cells_of(b)
        beside = {(r + x, c + y) for r, c in first for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        near = np.empty(4, np.uint64)
        towers.write_neighbors(a, near)
        assert cells_of(near) == {cell for cell in beside if max(cell) < towers.SIDE and min(cell) >= 0}
        assert towers.count(a) == len(first)
        assert towers.common(a, b) == len(first & second)
        assert towers.contains(b, a) == (first <= second)
        assert towers.contains(a | b, a)
        edges = sum(
            (r + x, c + y) not in first for r, c in first for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))
        )
        assert towers.perimeter(a) == edges
    piece = 13
    assert cells_of(towers.PLACES[piece, 35]) == {(2 + r, 3 + c) for r, c in SHAPES[piece]}


@pytest.fixture(scope="module")
def search():
    search = towers.start(PAIR, 20, 6, Rating(noise=20.0), 5)
    run(search)
    return search


def test_towers_can_be_built_by_the_rules_and_have_their_score(search):
    built = 0
    for tiles in range(1, 21):
        for slot in range(int(search.pools.sizes[tiles])):
            stack = from_tower(towers.levels_of(search, tiles, slot))
            table = as_solo_game(Game(order="free").state)
            assert len(stack) == tiles
            assert put(table, stack)
            assert engine.score(table, 0, 0) == search.nodes[tiles, slot]["score"]
            built += 1
    assert built > 60


def test_what_obeys_no_rule_is_not_put_on_a_table(search):
    tiles = int(np.flatnonzero(search.pools.sizes)[-1])
    stack = from_tower(towers.levels_of(search, tiles, 0))
    top = stack[-1]
    shifted = [
        top._replace(row=top.row + 9),
        top._replace(level=top.level + 1),
        stack[0]._replace(level=top.level),
    ]
    for wrong in shifted:
        assert not put(as_solo_game(Game(order="free").state), (*stack[:-1], wrong))


def test_nothing_is_missed_when_all_is_kept():
    """The score is the one that research/nmbr9_records/proofs.py proves to be the highest."""
    search = towers.start(PAIR, 3, 3000, Rating(waste=30, noise=0.0), 0)
    run(search)
    assert max(search.nodes[k, : search.pools.sizes[k]]["score"].max(initial=0) for k in (1, 2, 3)) == 9


# --- stacks that get better ---------------------------------------------------------------------------------


def test_improvements_are_better_each_time():
    weights, _ = read_value(agents.path_of("nmbr9_champion"))
    root, rng = as_solo_game(Game(order="free", max_digit=5, deck_size=7).state), np.random.default_rng(3)
    first = plan(root, 0, weights, width=2)
    scores = [found.score for found in improvements(root, first, 20, weights, rng, rounds=6)]
    assert scores == sorted(set(scores))
    assert scores[0] == first.score


@pytest.fixture(scope="module")
def stack(search):
    tiles = int(np.flatnonzero(search.pools.sizes)[-1])
    return from_tower(towers.levels_of(search, tiles, 0))


def test_levels_that_are_kept_end_all_towers(stack):
    upper = upper_levels(stack, 1)
    again = towers.new_search(20, 6, Rating(), 5)
    offer_levels(again, PAIR, upper)
    run(again)
    last = int(np.flatnonzero(again.pools.sizes)[-1])
    levels = towers.levels_of(again, last, 0)
    assert levels[-len(upper) :] == upper
    assert put(as_solo_game(Game(order="free").state), from_tower(levels))


def test_without_a_tile_nothing_rests_on_it(stack):
    left = without(stack, [0])
    assert stack[0] not in left
    assert without(stack, range(len(stack))) == ()
    covered = {(t.level, cell) for t in left for cell in t.cells}
    assert all((t.level - 1, cell) in covered for t in left if t.level > 0 for cell in t.cells)
    assert sorted(in_order(left)) == sorted(left)
