"""Proves the highest score of small games of NMBR 9 in free order, with the solver CP-SAT of OR-tools.

    python -m research.nmbr9_records.proofs [INSTANCE …] [--size N] [--workers N]
    python -m research.nmbr9_records.proofs --bound

An instance is named as in arXiv 2001.04238: F-6-1-5 is the game in free order with the digits up to 6, one
tile of each, of which 5 are placed. Tables are N by N cells (default: 8, as published for F-6-1-5).

All distributions of tiles over levels are tried, from the highest score down, until one can be built: then
all those with a higher score have been refuted. Most need not be solved as a whole, because two levels of
them that were met before do not fit on each other. Needs OR-tools: the extra "proofs".
"""

import argparse
import functools
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations_with_replacement, pairwise, product
from typing import Any, NamedTuple

from patchwork_env.agents.nmbr9.beam import Stack
from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.core.polyomino import Cell
from patchwork_env.learning.system import describe_setup
from patchwork_env.nmbr9.actions import DISTINCT, LONGEST_SIDE, NUM_TURNS, cells_at
from patchwork_env.nmbr9.components import COPIES, NUM_DIGITS, TILES
from research.nmbr9_records.stacks import in_order

INSTANCES = ("F-6-1-5", "F-6-2-5", "F-9-1-5", "F-9-2-5", "F-6-1-6", "F-9-2-6")
PUBLISHED = {"F-6-1-5": "> 30 s"}
"""Times of arXiv 2001.04238, by Gecode with 3 levels of 8x8 cells."""
_NAME = re.compile(r"F-([0-9])-([1-9][0-9]?)-([1-9][0-9]?)")


class Instance(NamedTuple):
    """A small game: digits up to ``max_digit``, so many copies of each, and so many tiles to place."""

    max_digit: int
    copies: int
    tiles: int


Levels = tuple[tuple[int, ...], ...]
"""The digits on each level, ascending, the lowest level first."""


class Result(NamedTuple):
    """The highest score, a stack that has it, and how many arrangements by levels were refuted or built."""

    score: int
    stack: Stack
    refuted: int
    solved: int
    seconds: float


class Place(NamedTuple):
    """A tile on a level."""

    piece: int
    row: int
    column: int
    cells: frozenset[Cell]


def parse(name: str) -> Instance:
    """Parses the name of an instance.

    Raises:
        ValueError: The name is not that of an instance.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no instance; they look like F-6-1-5")
    instance = Instance(*map(int, match.groups()))
    if instance.tiles > instance.copies * (instance.max_digit + 1):
        raise ValueError(f"{name} places {instance.tiles} tiles, more than there are")
    return instance


def arrangements(instance: Instance) -> list[Levels]:
    """All ways to distribute tiles over levels that sizes allow, the highest score first.

    Each level but the highest has two tiles at least, and none more cells than the one below.
    """
    found: list[Levels] = []

    def extend(levels: Levels, supply: tuple[int, ...], left: int) -> None:
        if left == 0:
            found.append(levels)
            return
        for number in range(1, left + 1):
            for digits in combinations_with_replacement(range(len(supply)), number):
                rest = tuple(count - digits.count(digit) for digit, count in enumerate(supply))
                fits = not levels or (len(levels[-1]) >= 2 and area(digits) <= area(levels[-1]))
                if fits and min(rest) >= 0:
                    extend((*levels, digits), rest, left - number)

    extend((), (instance.copies,) * (instance.max_digit + 1), instance.tiles)
    return sorted(found, key=score_of, reverse=True)


def area(digits: Iterable[int]) -> int:
    """The number of cells of some tiles."""
    return sum(len(TILES[digit]) for digit in digits)


def score_of(levels: Levels) -> int:
    """The points of an arrangement."""
    return sum(level * sum(digits) for level, digits in enumerate(levels))


@functools.cache
def places(digit: int, size: int, is_upright: bool) -> list[Place]:
    """All places of a tile on one level of a table of ``size`` rows and columns."""
    found = []
    for turn in DISTINCT[digit][:1] if is_upright else DISTINCT[digit]:
        for row in range(size):
            for column in range(size):
                cells = cells_at(digit, turn, row, column)
                if all(r < size and c < size for r, c in cells):
                    found.append(Place(NUM_TURNS * digit + turn, row, column, cells))
    return found


def neighbors(cells: Iterable[Cell]) -> set[Cell]:
    """The cells that share an edge with some cells, without these."""
    inside = set(cells)
    return {(r + a, c + b) for r, c in inside for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))} - inside


class Model:
    """The rules as constraints on 0-1 variables, one for each place of each tile of an arrangement.

    In free order a stack can be built if the tiles of each level hang together. That is demanded of single
    tiles at first, and of more when a solution breaks it. A turned stack is a stack as well, so one tile that
    looks different in all orientations stands upright.

    Args:
        levels: The arrangement.
        size: Rows and columns of the table.
    """

    def __init__(self, levels: Levels, size: int) -> None:
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.levels = levels
        single = next((d for level in levels for d in set(level) if self._is_reference(d)), None)
        self.places: list[list[Place]] = []
        self.taken: list[list[Any]] = []
        self.covering: list[dict[Cell, list[int]]] = []
        for digits in levels:
            self.places.append([p for d in sorted(set(digits)) for p in places(d, size, d == single)])
            self.taken.append([self.model.new_bool_var("") for _ in self.places[-1]])
            self.covering.append(defaultdict(list))
            for number, place in enumerate(self.places[-1]):
                for cell in place.cells:
                    self.covering[-1][cell].append(number)
        for level in range(len(levels)):
            self._count(level)
            self._support(level)
            for number in range(len(self.places[level])):
                self.join(level, {number})
        for edge in ("row", "column"):  # a shifted stack is a stack as well
            first = zip(self.places[0], self.taken[0], strict=True)
            self.model.add_bool_or(variable for place, variable in first if getattr(place, edge) == 0)

    def _is_reference(self, digit: int) -> bool:
        """Whether there is one such tile, and it looks different in all orientations."""
        return sum(level.count(digit) for level in self.levels) == 1 and len(DISTINCT[digit]) == NUM_TURNS

    def _count(self, level: int) -> None:
        """Demands as many tiles of each digit as the arrangement has."""
        for digit in set(self.levels[level]):
            tiles = zip(self.places[level], self.taken[level], strict=True)
            variables = [variable for place, variable in tiles if place.piece // NUM_TURNS == digit]
            self.model.add(sum(variables) == self.levels[level].count(digit))

    def _support(self, level: int) -> None:
        """Demands that no two tiles share a cell, and that each lies on cells of at least two tiles."""
        row, covering = self.taken[level], self.covering[level]
        for numbers in covering.values():
            self.model.add_at_most_one(row[n] for n in numbers)
        if level == 0:
            return
        below, covering_below = self.taken[level - 1], self.covering[level - 1]
        for cell, numbers in covering.items():
            support = sum(below[n] for n in covering_below.get(cell, ()))
            self.model.add(sum(row[n] for n in numbers) <= support)
        for upper, place in enumerate(self.places[level]):
            carriers = set.intersection(*(set(covering_below.get(cell, ())) for cell in place.cells))
            for lower in carriers:
                self.model.add_bool_or(~row[upper], ~below[lower])

    def join(self, level: int, group: set[int]) -> None:
        """Demands that a group of places is its whole level, or touches another tile of the level."""
        if len(group) == len(self.levels[level]):
            return
        row, all_places = self.taken[level], self.places[level]
        cells = {cell for number in group for cell in all_places[number].cells}
        touching = {n for cell in neighbors(cells) for n in self.covering[level].get(cell, ())}
        touching = {n for n in touching if not cells & all_places[n].cells}
        self.model.add_bool_or(*(~row[n] for n in group), *(row[n] for n in touching))

    def loose_groups(self, solver: Any) -> list[tuple[int, set[int]]]:
        """The groups of tiles that hang together but not with all others of their level."""
        loose = []
        for level, row in enumerate(self.taken):
            waiting = {n for n, variable in enumerate(row) if solver.value(variable)}
            number = len(waiting)
            while waiting:
                group, grown = {waiting.pop()}, True
                while grown:
                    near = neighbors(cell for n in group for cell in self.places[level][n].cells)
                    more = {n for n in waiting if near & self.places[level][n].cells}
                    group, waiting, grown = group | more, waiting - more, bool(more)
                if len(group) < number:
                    loose.append((level, group))
        return loose

    def stack(self, solver: Any) -> Stack:
        """The tiles of a solution."""
        return in_order(
            Tile(place.piece, level, place.row, place.column)
            for level, row in enumerate(self.taken)
            for place, variable in zip(self.places[level], row, strict=True)
            if solver.value(variable)
        )


@functools.cache
def build(levels: Levels, size: int, workers: int) -> Stack | None:
    """A stack of an arrangement, or None; two levels of it are tried alone at first."""
    from ortools.sat.python import cp_model

    if len(levels) > 2 and any(build(pair, size, workers) is None for pair in pairwise(levels)):
        return None
    model, solver = Model(levels, size), cp_model.CpSolver()
    solver.parameters.num_workers = workers
    while True:
        status = solver.solve(model.model)
        if status == cp_model.INFEASIBLE:
            return None
        assert status == cp_model.OPTIMAL
        loose = model.loose_groups(solver)
        if not loose:
            return model.stack(solver)
        for level, group in loose:
            model.join(level, group)


def solve(instance: Instance, size: int, workers: int) -> Result:
    """The highest score: that of the first arrangement that can be built, in the order of their scores.

    Args:
        instance: The game.
        size: Rows and columns of the table.
        workers: Threads of the solver.
    """
    build.cache_clear()
    began = time.perf_counter()
    for refuted, levels in enumerate(arrangements(instance)):
        stack = build(levels, size, workers)
        if stack is not None:
            solved = build.cache_info().misses
            return Result(score_of(levels), stack, refuted, solved, time.perf_counter() - began)
    raise ValueError(f"{instance.tiles} tiles do not fit on a table of {size}x{size} cells")


PAIRS = list(combinations_with_replacement(range(NUM_DIGITS), 2))


@functools.cache
def carried_by(pair: tuple[int, int]) -> set[tuple[int, ...]]:
    """The tiles that two tiles can carry, found by trying all ways to lay them side by side."""
    found = set()
    first, offsets = cells_at(pair[0], 0, 0, 0), range(-LONGEST_SIDE, LONGEST_SIDE + 1)
    for turn, row, column in product(DISTINCT[pair[1]], offsets, offsets):
        second = cells_at(pair[1], turn, row, column)
        if not first & second and neighbors(first) & second:
            tiles = [(d, place) for d in range(NUM_DIGITS) for place in within(d, first | second)]
            found |= loads([tile for tile in tiles if not (tile[1] <= first or tile[1] <= second)])
    return found


def within(digit: int, cells: frozenset[Cell]) -> list[frozenset[Cell]]:
    """All places of a tile, in any orientation, on some cells and no others."""
    found = []
    for turn in DISTINCT[digit]:
        first = min(cells_at(digit, turn, 0, 0))
        places = (cells_at(digit, turn, row, column - first[1]) for row, column in cells)
        found += [place for place in places if place <= cells]
    return found


def loads(tiles: list[tuple[int, frozenset[Cell]]]) -> set[tuple[int, ...]]:
    """The digits of all groups of tiles that share no cells, from tiles in ascending order."""
    found = set()
    for number, (digit, cells) in enumerate(tiles, 1):
        rest = loads([tile for tile in tiles[number:] if not tile[1] & cells])
        found |= {(digit, *others) for others in rest | {()}}
    return found


def bound(levels: int) -> int | None:
    """A bound of the points of the published game on so many levels; None if there is no such stack.

    No level has more cells than the one below, each but the highest has two tiles at least, and what lies on
    two tiles can do so.
    """
    from ortools.sat.python import cp_model

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    solver.parameters.num_workers = 1
    tiles = [[model.new_int_var(0, COPIES, "") for _ in TILES] for _ in range(levels)]
    for digit in range(NUM_DIGITS):
        model.add(sum(row[digit] for row in tiles) == COPIES)
    cells = [sum(len(tile) * n for tile, n in zip(TILES, row, strict=True)) for row in tiles]
    groups = {group for pair in PAIRS for group in (pair, *carried_by(pair))}
    is_group = [{group: model.new_bool_var("") for group in groups} for _ in tiles]
    for row, named in zip(tiles, is_group, strict=True):
        for group, variable in named.items():
            for digit in range(NUM_DIGITS):
                model.add(row[digit] == group.count(digit)).only_enforce_if(variable)
    for level in range(1, levels):
        model.add(cells[level] <= cells[level - 1])
        has_more = model.new_bool_var("")
        model.add(sum(tiles[level - 1]) > 2).only_enforce_if(has_more)
        model.add_bool_or(has_more, *(is_group[level - 1][pair] for pair in PAIRS))
        for pair in PAIRS:
            load = [is_group[level][group] for group in carried_by(pair)]
            model.add_bool_or(~is_group[level - 1][pair], *load)
    model.add(sum(tiles[-1]) >= 1)
    model.maximize(sum(level * digit * n for level, row in enumerate(tiles) for digit, n in enumerate(row)))
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return int(solver.objective_value) if status == cp_model.OPTIMAL else None


def run(options: argparse.Namespace) -> None:
    if options.bound:
        for number in range(1, COPIES * NUM_DIGITS // 2 + 1):
            points = bound(number)
            print(f"{number:2} levels ", "no stack" if points is None else f"{points:3} points", flush=True)
        return
    names = options.instances or INSTANCES
    instances = [parse(name) for name in names]
    print(describe_setup(["ortools"]))
    print(f"{options.workers} workers, tables of {options.size}x{options.size} cells")
    print("instance   score  seconds  published  refuted  models  stack, from the top")
    for name, instance in zip(names, instances, strict=True):
        result = solve(instance, options.size, options.workers)
        levels = range(max(tile.level for tile in result.stack), -1, -1)
        digits = (str(sorted(t.digit for t in result.stack if t.level == level)) for level in levels)
        times = f"{result.seconds:7.1f}  {PUBLISHED.get(name, ''):9}"
        row = f"{name:9}  {result.score:5}  {times}  {result.refuted:7}  {result.solved:6}"
        print(row, " on ".join(digits), sep="  ", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("instances", metavar="INSTANCE", nargs="*", help=f"default: {', '.join(INSTANCES)}")
    parser.add_argument("--size", type=int, default=8, help="rows and columns of the table (default: 8)")
    parser.add_argument("--bound", action="store_true", help="bounds of the published game, by levels")
    parser.add_argument("--workers", type=int, default=1, help="threads of the solver (default: 1)")
    try:
        run(parser.parse_args())
    except ModuleNotFoundError as error:
        print(f"proofs: {error}: pip install ortools", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"proofs: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
