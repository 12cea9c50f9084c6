"""The likely placements, which a learned value then evaluates, found in two steps without the value.

The first step keeps the placements that leave the most joints, pairs of neighboring empty cells. A patch that
covers empty cells takes away the joints between these cells and their empty neighbors. The joints among its
own cells are the same wherever it lies. So the most joints are left where the sum of the numbers of empty
neighbors over its cells is the lowest. These sums are bit-sliced: bit ``b`` of the sums of all anchors of a
map is kept in one word, so that all anchors of a map are added up and compared at once.

The second step keeps the most compact of these: the placements after which the most covered cells have no
empty neighbor left, or only one. It looks at every placement by itself, and tells better than the joints
which ones the value will prefer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.heuristics import can_be_placed, footprint_of, kind_of
from patchwork_env.agents.patchwork.joints import compactness, count_neighbors
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.bits import lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, SLOT_SIZE
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED, PATCHES, QUILT_SIZE
from patchwork_env.patchwork.engine import NUM_MAPS, SPECIAL_MAP, LegalSet, placed_words
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import SECOND_WORD_ROW, SHIFTS

_SUM_BITS = 6
"""The bits of a sum: no patch has more than 8 cells, and no cell more than 4 neighbors."""
_OPEN, _CHOSEN, _NEIGHBORS = _SUM_BITS, _SUM_BITS + 1, _SUM_BITS + 2
_NO_BITS = np.uint64(0)
_HAS_CELL = np.array(
    [[~_NO_BITS if cell < patch.size else _NO_BITS for cell in range(SHIFTS.shape[1])] for patch in PATCHES]
)
"""``_HAS_CELL[patch, cell]``: all ones, or all zeros where ``SHIFTS`` repeats a cell."""

RankingBuffer = npt.NDArray[np.uint64]
"""A buffer in which the placements of one patch are ranked, ``(_SUM_BITS + 5, 2, NUM_ORIENTATIONS)``. For
each word and orientation it holds the bits of the sums, the anchors that are still open, the anchors that are
chosen, and, in the first column, the bits of the number of empty neighbors of each cell."""


def new_ranking_buffer() -> RankingBuffer:
    """A buffer for one thread."""
    return np.zeros((_NEIGHBORS + 3, 2, NUM_ORIENTATIONS), np.uint64)


@kernel(inline=True)
def first_of_kind(kind: int) -> int:
    """The first action of a kind of placements, legal or not."""
    return FIRST_BUY + (kind - 1) * SLOT_SIZE


@kernel
def list_likely(
    states: States,
    i: int,
    width: int,
    anchors: LegalSet,
    ranking: RankingBuffer,
    actions: npt.NDArray[np.int16],
) -> int:
    """Lists advancing, if it is legal, and the placements of each patch that leave the most joints.

    Of each patch up to ``width`` placements are listed; ties go to the first ones. The actions are ascending;
    returns their number.
    """
    quilt = states[i]["quilt"][states[i]["current_player"]]
    upper, lower = count_neighbors(quilt[0], quilt[1])
    for digit in range(3):
        ranking[_NEIGHBORS + digit, 0, 0] = upper[digit]
        ranking[_NEIGHBORS + digit, 1, 0] = lower[digit]
    if can_be_placed(anchors, NUM_OFFERED):
        _add_up_cell(ranking)
        return _list_fewest(anchors, SPECIAL_MAP, NUM_MAPS, width, ranking, actions, 0)
    actions[0], count = ADVANCE, 1
    for slot in range(NUM_OFFERED):
        first = slot * NUM_ORIENTATIONS
        if can_be_placed(anchors, slot):
            _add_up_patch(signed(states[i]["circle"][slot]), ranking)
            count = _list_fewest(anchors, first, first + NUM_ORIENTATIONS, width, ranking, actions, count)
    return count


@kernel
def keep_most_compact(
    states: States,
    i: int,
    width: int,
    actions: npt.NDArray[np.int16],
    count: int,
    sort_keys: npt.NDArray[np.int64],
) -> int:
    """Drops all but the ``width`` most compact placements of each patch; ties go to the first ones.

    The ``count`` actions are ascending; those that stay move to the front, and their number is returned.
    ``sort_keys`` is a buffer, as long as the longest list of placements that is cut.
    """
    kept = begin = 0
    while begin < count:
        end = _end_of_kind(actions, begin, count)
        if end - begin > width:
            _write_sort_keys(states, i, actions[begin:end], sort_keys)
            least = _nth_highest(sort_keys[: end - begin], width)
        for k in range(begin, end):
            if end - begin <= width or sort_keys[k - begin] >= least:
                actions[kept] = actions[k]
                kept += 1
        begin = end
    return kept


@kernel(inline=True)
def _end_of_kind(actions: npt.NDArray[np.int16], begin: int, count: int) -> int:
    end = begin + 1
    while end < count and kind_of(signed(actions[end])) == kind_of(signed(actions[begin])):
        end += 1
    return end


@kernel(inline=True)
def _write_sort_keys(
    states: States, i: int, actions: npt.NDArray[np.int16], sort_keys: npt.NDArray[np.int64]
) -> None:
    """Writes the compactness of placements as numbers that all differ; ties go to the first placement."""
    quilt = states[i]["quilt"][states[i]["current_player"]]
    for k in range(len(actions)):
        number = signed(actions[k]) - FIRST_BUY
        word_0, word_1 = placed_words(footprint_of(states, i, number // NUM_CELLS), number % NUM_CELLS)
        sort_keys[k] = (compactness(quilt[0] | word_0, quilt[1] | word_1) + 1) * len(actions) - k


@kernel(inline=True)
def _nth_highest(numbers: npt.NDArray[np.int64], n: int) -> int:
    """The ``n``-th highest of some numbers above 0 that differ."""
    highest = np.int64(2**62)
    for _ in range(n):
        following = np.int64(0)
        for number in numbers:
            if following < number < highest:
                following = number
        highest = following
    return int(highest)


@kernel(inline=True)
def _add_up_cell(ranking: RankingBuffer) -> None:
    """Writes the sums for a patch of one cell."""
    for bit in range(_SUM_BITS):
        for word in range(2):
            ranking[bit, word, 0] = ranking[_NEIGHBORS + bit, word, 0] if bit < 3 else _NO_BITS


@kernel(inline=True)
def _add_up_patch(patch: int, ranking: RankingBuffer) -> None:
    """Writes the sums for all orientations of a patch; loops of fixed lengths become vector operations."""
    for word in range(2):
        ones, twos = ranking[_NEIGHBORS, word, 0], ranking[_NEIGHBORS + 1, word, 0]
        fours = ranking[_NEIGHBORS + 2, word, 0]
        for o in range(NUM_ORIENTATIONS):
            s0 = s1 = s2 = s3 = s4 = s5 = _NO_BITS
            for cell in range(SHIFTS.shape[1]):
                shift, mask = SHIFTS[patch, cell, o], _HAS_CELL[patch, cell]
                n0, n1, n2 = ones >> shift & mask, twos >> shift & mask, fours >> shift & mask
                carry = s0 & n0
                s0 ^= n0
                half, more = s1 ^ n1, s1 & n1
                s1, carry = half ^ carry, more | half & carry
                half, more = s2 ^ n2, s2 & n2
                s2, carry = half ^ carry, more | half & carry
                s3, carry = s3 ^ carry, s3 & carry
                s4, carry = s4 ^ carry, s4 & carry
                s5 |= carry
            ranking[0, word, o], ranking[1, word, o], ranking[2, word, o] = s0, s1, s2
            ranking[3, word, o], ranking[4, word, o], ranking[5, word, o] = s3, s4, s5


@kernel(inline=True)
def _list_fewest(
    anchors: LegalSet,
    first: int,
    end: int,
    width: int,
    ranking: RankingBuffer,
    actions: npt.NDArray[np.int16],
    count: int,
) -> int:
    """Appends the placements of the maps ``first ... end - 1`` with the lowest sums to ``count`` actions."""
    for k in range(first, end):
        for word in range(2):
            ranking[_OPEN, word, k - first] = anchors[word, k]
            ranking[_CHOSEN, word, k - first] = _NO_BITS
    left = _choose_fewest(ranking, end - first, width)
    for k in range(first, end):
        for word in range(2):
            chosen, still_open = ranking[_CHOSEN, word, k - first], ranking[_OPEN, word, k - first]
            bits = chosen | still_open if left else chosen
            begin = FIRST_BUY + k * NUM_CELLS + word * SECOND_WORD_ROW * QUILT_SIZE
            while bits:
                lowest = bits & (_NO_BITS - bits)
                bits ^= lowest
                if chosen & lowest or left:
                    left -= not chosen & lowest
                    actions[count] = begin + lowest_bit(lowest)
                    count += 1
    return count


@kernel(inline=True)
def _choose_fewest(ranking: RankingBuffer, maps: int, width: int) -> int:
    """Chooses anchors with low sums; returns how many of the open ones, with equal sums, may join them."""
    left = width
    for bit in range(_SUM_BITS - 1, -1, -1):
        number = 0
        for word in range(2):
            for k in range(maps):
                number += popcount(ranking[_OPEN, word, k] & ~ranking[bit, word, k])
        for word in range(2):
            for k in range(maps):
                low = ranking[_OPEN, word, k] & ~ranking[bit, word, k]
                if number < left:
                    ranking[_CHOSEN, word, k] |= low
                    ranking[_OPEN, word, k] &= ranking[bit, word, k]
                else:
                    ranking[_OPEN, word, k] = low
        if number < left:
            left -= number
    return left
