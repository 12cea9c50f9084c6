"""A placer that looks ahead: a beam search over the known order of the tiles.

After every tile the search keeps the best of all successors of its quilts, as many as its width. A quilt is
better

1. if each of its empty cells can still be covered by one of the later tiles;
2. if it is less *loose*: ``5 * empty cells - 4 * joints``, joints being pairs of neighboring empty cells. So
   few and connected empty cells are good. Some noise is added, which depends only on the quilt and keeps the
   quilts of the beam different from each other.

Equal quilts are kept once, and only one of the eight symmetric first placements is tried. The search starts
narrow with little noise. While it does not cover the whole quilt, it is repeated wider and with more noise;
the best plan of all searches counts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.joints import count_joints
from patchwork_env.core.checks import check_at_least_one, check_between
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import NUM_CELLS, QUILT_SIZE
from patchwork_env.patchwork.symmetry import CELLS_AFTER
from patchwork_env.patchwork.tables import FULL_WORD
from research.placement.experiment import NOT_PLACED, check_tiles
from research.placement.quilts import Integers, cells_of, count_cells, coverable, list_placements
from research.placement.shapes import MAX_PLACEMENTS, SINGLE_CELL, STARTS, cells_at

MAX_NOISE = 500
"""The most noise of a stage."""


class Stage(NamedTuple):
    """One search: the number of quilts that it keeps, and the number of different values of the noise."""

    width: int
    noise: int


STAGES = (Stage(32, 12), Stage(256, 25), Stage(2048, 50), Stage(8192, 50))
"""The searches that :class:`BeamPlacer` tries in turn."""

_U = np.uint64
_EMPTY_WEIGHT, _JOINT_WEIGHT = 5, 4
_LEAST = 200  # more than any quilt's looseness is below zero
_NUM_VALUES = _LEAST + _EMPTY_WEIGHT * NUM_CELLS + MAX_NOISE
_TABLE_FACTOR = 4  # the table of quilts is at most a quarter full


class BeamPlacer:
    """Plans a whole run by beam searches that grow until all 81 cells are covered.

    The same tiles always get the same plan.

    Args:
        stages: The searches to try in turn: pairs of a width, at least 1, and a noise, 1 (none) to 500.

    Raises:
        ValueError: There is no stage, or a number is out of range.
    """

    def __init__(self, stages: Iterable[tuple[int, int]] = STAGES) -> None:
        self._stages = [_check_stage(stage) for stage in stages]
        if not self._stages:
            raise ValueError("stages is empty; at least one is needed")

    def plan(self, tiles: Sequence[int] | Integers) -> Integers:
        """See :meth:`~research.placement.experiment.Placer.plan`."""
        shapes = check_tiles(tiles)
        best, best_area = np.full(len(shapes), NOT_PLACED, np.int64), -1
        if len(shapes) == 0:
            return best
        first = _ways_to_begin(int(shapes[0]))
        for width, noise in self._stages:
            plan = np.full(len(shapes), NOT_PLACED, np.int64)
            area = _search(shapes, first, width, noise, plan)
            if area > best_area:
                best, best_area = plan, area
            if area == NUM_CELLS:
                break
        return best


def _check_stage(stage: tuple[int, int]) -> Stage:
    width, noise = stage
    return Stage(
        check_at_least_one(width, "the width of a stage"),
        check_between(noise, 1, MAX_NOISE, "the noise of a stage"),
    )


@functools.cache
def _ways_to_begin(shape: int) -> Integers:
    """Of each set of symmetric placements on an empty quilt, the first one."""
    seen: set[frozenset[int]] = set()
    ways = []
    for placement in range(STARTS[shape, 0], STARTS[shape + 1, 0]):
        cells = [row * QUILT_SIZE + column for row, column in cells_at(placement)]
        images = [frozenset(after[cells].tolist()) for after in CELLS_AFTER]
        if seen.isdisjoint(images):
            ways.append(placement)
        seen.update(images)
    return np.array(ways, np.int64)


# --- the search -------------------------------------------------------------------------------------------


class _Steps(NamedTuple):
    """Steps from the quilts of the beam: from which, by which placement, how loose; and the steps' order."""

    parents: npt.NDArray[np.int32]
    placements: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


class _Table(NamedTuple):
    """A set of quilts, by open addressing; an entry counts if it was made in the present step."""

    quilts: npt.NDArray[np.uint64]
    made_in: npt.NDArray[np.int64]


@kernel(allocates=True)
def _search(tiles: Integers, first: Integers, width: int, noise: int, plan: Integers) -> int:
    """Writes the plan of one search, filled with ``NOT_PLACED`` before, and returns the area that it covers.

    Args:
        tiles: The shapes to place in turn, at least one.
        first: The placements of the first tile that are tried.
        width: The number of quilts that are kept after every tile.
        noise: The number of different values of the noise.
        plan: The array that receives the placements.
    """
    beam, next_beam = np.zeros((width, 2), np.uint64), np.zeros((width, 2), np.uint64)
    parents = np.empty((len(tiles), width), np.int32)
    placements = np.empty((len(tiles), width), np.int32)
    steps, table = _new_steps(width), _new_table(width)
    kept, last = 1, 0
    for k in range(len(tiles)):
        if k == 0:
            number = _begin(tiles[0], first, noise, steps)
        else:
            number = _expand(beam, kept, tiles[k], noise, steps)
        _sort(steps, number)
        kept = _select(beam, tiles[k:], steps, number, table, k + 1, next_beam, parents[k], placements[k])
        beam, next_beam, last = next_beam, beam, k
        if count_cells(beam[0, 0], beam[0, 1]) == NUM_CELLS:
            break
    best = _fullest(beam, kept)
    area = count_cells(beam[best, 0], beam[best, 1])
    for k in range(last, -1, -1):
        plan[k] = placements[k, best]
        best = parents[k, best]
    return area


@kernel(allocates=True)
def _new_steps(width: int) -> _Steps:
    capacity = width * MAX_PLACEMENTS
    return _Steps(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
    )


@kernel(allocates=True)
def _new_table(width: int) -> _Table:
    size = 1
    while size < _TABLE_FACTOR * width:
        size *= 2
    return _Table(np.empty((size, 2), np.uint64), np.zeros(size, np.int64))


@kernel
def _begin(shape: int, first: Integers, noise: int, steps: _Steps) -> int:
    for k in range(len(first)):
        word_0, word_1 = cells_of(shape, first[k])
        _write(steps, k, 0, first[k], word_0, word_1, noise)
    return len(first)


@kernel(allocates=True)
def _expand(beam: npt.NDArray[np.uint64], kept: int, shape: int, noise: int, steps: _Steps) -> int:
    """Lists all steps with one tile and returns their number; where it does not fit, the step skips it."""
    found = np.empty(MAX_PLACEMENTS + 1, np.int64)
    number = 0
    for parent in range(kept):
        covered_0, covered_1 = beam[parent, 0], beam[parent, 1]
        count = list_placements(covered_0, covered_1, shape, found)
        if count == 0:
            _write(steps, number, parent, NOT_PLACED, covered_0, covered_1, noise)
            number += 1
        for placement in found[:count]:
            word_0, word_1 = cells_of(shape, placement)
            _write(steps, number, parent, placement, covered_0 | word_0, covered_1 | word_1, noise)
            number += 1
    return number


@kernel(inline=True)
def _write(
    steps: _Steps,
    k: int,
    parent: int,
    placement: int,
    covered_0: np.uint64,
    covered_1: np.uint64,
    noise: int,
) -> None:
    steps.parents[k] = parent
    steps.placements[k] = placement
    empty = NUM_CELLS - count_cells(covered_0, covered_1)
    looseness = _EMPTY_WEIGHT * empty - _JOINT_WEIGHT * count_joints(covered_0, covered_1)
    chance = np.int64(_hash(covered_0, covered_1) >> _U(40)) % noise
    steps.values[k] = _LEAST + looseness + chance if empty else 0  # nothing is better than a full quilt


@kernel(inline=True)
def _hash(covered_0: np.uint64, covered_1: np.uint64) -> np.uint64:
    """A number that looks random; its last steps are those of SplitMix64."""
    word = covered_0 * _U(0x9E3779B97F4A7C15) ^ (covered_1 >> _U(45)) * _U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> _U(27))) * _U(0x94D049BB133111EB)
    return word ^ (word >> _U(31))


@kernel(allocates=True)
def _sort(steps: _Steps, number: int) -> None:
    """Sorts the steps by value; steps of equal value keep their order."""
    starts = np.zeros(_NUM_VALUES + 1, np.int64)
    for k in range(number):
        starts[steps.values[k] + 1] += 1
    for value in range(_NUM_VALUES):
        starts[value + 1] += starts[value]
    for k in range(number):
        steps.order[starts[steps.values[k]]] = k
        starts[steps.values[k]] += 1


@kernel
def _select(
    beam: npt.NDArray[np.uint64],
    tiles: Integers,
    steps: _Steps,
    number: int,
    table: _Table,
    mark: int,
    next_beam: npt.NDArray[np.uint64],
    parents: npt.NDArray[np.int32],
    placements: npt.NDArray[np.int32],
) -> int:
    """Takes the steps to the best different quilts, as many as the beam is wide, and returns how many.

    Args:
        beam: The quilts that the steps start from.
        tiles: The tile of the steps, and the tiles after it.
        steps: The steps in the order of their values.
        number: The number of steps.
        table: The set of the quilts that have been taken.
        mark: The number that marks entries of the present step in this set.
        next_beam: The array that receives the quilts.
        parents: The array that receives, for each of them, the index of the quilt that it comes from.
        placements: The array that receives the placement that leads to each of them.
    """
    kept = 0
    for fussy in (True, False):
        for k in steps.order[:number]:
            if kept == len(next_beam):
                return kept
            parent, placement = steps.parents[k], steps.placements[k]
            covered_0, covered_1 = beam[parent, 0], beam[parent, 1]
            if placement != NOT_PLACED:
                word_0, word_1 = cells_of(tiles[0], placement)
                covered_0, covered_1 = covered_0 | word_0, covered_1 | word_1
            entry = _find(table, mark, covered_0, covered_1)
            if table.made_in[entry] == mark or (
                fussy and not _may_be_filled(covered_0, covered_1, tiles[1:])
            ):
                continue
            table.made_in[entry] = mark
            table.quilts[entry, 0], table.quilts[entry, 1] = covered_0, covered_1
            next_beam[kept, 0], next_beam[kept, 1] = covered_0, covered_1
            parents[kept], placements[kept] = parent, placement
            kept += 1
    return kept


@kernel
def _find(table: _Table, mark: int, covered_0: np.uint64, covered_1: np.uint64) -> int:
    """The index of the entry of a quilt, or of the free entry where it belongs."""
    last = len(table.made_in) - 1
    entry = np.int64(_hash(covered_0, covered_1) & _U(last))
    while table.made_in[entry] == mark and (
        table.quilts[entry, 0] != covered_0 or table.quilts[entry, 1] != covered_1
    ):
        entry = (entry + 1) & last
    return int(entry)


@kernel
def _may_be_filled(covered_0: np.uint64, covered_1: np.uint64, tiles: Integers) -> bool:
    """Whether every empty cell can be covered by one of the tiles."""
    empty_0, empty_1 = ~covered_0 & FULL_WORD, ~covered_1 & FULL_WORD
    if SINGLE_CELL in tiles:
        return True
    for shape in tiles:
        if empty_0 | empty_1 == 0:
            return True
        word_0, word_1 = coverable(covered_0, covered_1, shape)
        empty_0, empty_1 = empty_0 & ~word_0, empty_1 & ~word_1
    return bool(empty_0 | empty_1 == 0)


@kernel
def _fullest(beam: npt.NDArray[np.uint64], kept: int) -> int:
    """The index of the quilt that covers the most cells, the first one of equals."""
    best, most = 0, -1
    for k in range(kept):
        area = count_cells(beam[k, 0], beam[k, 1])
        if area > most:
            best, most = k, area
    return best
