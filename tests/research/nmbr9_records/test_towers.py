"""The search of towers: what it builds obeys the rules, misses nothing, and has a ground where it can."""

import numpy as np
import pytest

from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.actions import DISTINCT, cells_at
from patchwork_env.nmbr9.tables import SHAPES
from research.nmbr9_records import towers
from research.nmbr9_records.stacks import better_stacks, build, complete, from_tower
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


def all_towers(supply, numbers, width, rating):
    search = towers.start(np.asarray(supply, np.int64), numbers, width, rating, 5)
    for level in range(len(numbers) - 1):
        towers.expand(search, level, 0, width)
    return search, [(level, slot) for level, kept in enumerate(search.pools.sizes) for slot in range(kept)]


@pytest.mark.parametrize("numbers", [(1, 2, 2, 3, 4), pytest.param((2, 3, 4), marks=pytest.mark.slow)])
def test_towers_can_be_built_by_the_rules_and_have_their_score(numbers):
    search, found = all_towers(PAIR, numbers, 8, Rating(noise=20.0))
    assert {level for level, _ in found} == {*range(len(numbers))}
    for level, slot in found:
        game, node = Game(order="free"), search.nodes[level, slot]
        levels = towers.levels_of(search, level, node)
        build(game, from_tower(levels))
        assert [*map(len, levels)] == [*numbers[level::-1]]
        assert game.scores() == (node["score"],)


@pytest.mark.parametrize(("numbers", "best"), [((1, 2), 9), ((2, 2), 16)])
def test_nothing_is_missed_when_all_is_kept(numbers, best):
    """A 9 on two tiles, and two 8s on two; research/nmbr9_records/proofs.py lists what two tiles carry."""
    search, found = all_towers(PAIR, numbers, 3000, Rating())
    assert max(search.nodes[at]["score"] for at in found) == best


def can_carry(level, digits):
    """Whether some of the tiles ``digits`` can carry the tiles of a level, each of them not alone."""

    def cover(cells, taken, left):
        if not cells:
            return True
        row, column = min(cells)
        for digit in set(left):
            for turn in DISTINCT[digit]:
                for r, c in cells_at(digit, turn, 0, 0):
                    place = cells_at(digit, turn, row - r, column - c)
                    if place & taken or any(tile <= place for tile in level):
                        continue
                    rest = list(left)
                    rest.remove(digit)
                    if cover(cells - place, taken | place, rest):
                        return True
        return False

    return cover(frozenset().union(*level), frozenset(), digits)


@pytest.mark.parametrize("left", [(1, 2, 3), (0, 0, 4), (5, 7), (8, 9, 9)])
def test_a_ground_is_found_where_there_is_one(left):
    above = (7, 1)
    search, found = all_towers(np.bincount(above + left, minlength=10), (1, 2), 15, Rating(noise=99.0))
    answers = set()
    for level, slot in found:
        stack = from_tower(towers.levels_of(search, level, search.nodes[level, slot]))
        digits = [*(above + left)]
        for tile in stack:
            digits.remove(tile.digit)
        lowest = [tile.cells for tile in stack if tile.level == 0]
        has_ground = towers.ground(search, level, slot)
        assert has_ground == can_carry(lowest, digits)
        if has_ground:
            build(Game(order="free"), from_tower(towers.levels_of(search, level + 1, search.draft[0])))
        answers.add(has_ground)
    assert answers == {False, True}


def test_stacks_get_better_and_are_completed():
    def new():
        return Game(order="free", max_digit=7)

    found = list(better_stacks(new(), (1, 2, 2, 3), 10, Rating(), 0, 0))
    scores = [sum(tile.digit * tile.level for tile in stack) for stack in found]
    assert scores == sorted(set(scores))
    assert scores[0] > 0
    assert any(len(stack) < 16 for stack in found)
    for score, stack in zip(scores, found, strict=True):
        plan = complete(new(), stack)
        assert len(plan.stack) == 16
        assert plan.score >= score
