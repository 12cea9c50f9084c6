"""Kinds of moves, and the placements that keep the empty cells of a quilt together.

*Joints* are pairs of neighboring empty cells. A placement removes the joints of the cells that it covers. The
number of joints among its own cells does not depend on its place, so a placement leaves the most joints if
the sum of the empty neighbors of its cells is the lowest.

These sums are bit-sliced: the number of empty neighbors of every cell, 0-4, is three words, one for each
binary digit, and the sum for every anchor is six words. An addition of words adds for all anchors of an
orientation. Loops over orientations read their number from an array: the compiler unrolls loops with a
constant length, and makes vector operations of the others.

Of the placements that leave the most joints, a learned value evaluates the most compact ones: those after
which the most covered cells have no empty neighbor, or only one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.joints import Digits, compactness, count_joints, count_neighbors
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.bits import U1, lowest_bit, nth_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import LegalSet
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import random_below
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL, SLOT_SIZE
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED, PATCHES, QUILT_SIZE
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import FITS, FOOTPRINTS, FULL_WORD, SHIFTS, WORD_ROWS

NO_ACTION = -1  # sentinel for no action
NUM_KINDS = NUM_OFFERED + 2  # the number of kinds of actions; see `kind_of`
_U = np.uint64
_U0 = _U(0)


# --- kinds of moves -----------------------------------------------------------------------------------------


@kernel(inline=True)
def kind_of(action: int) -> int:
    """Return the kind of an action: 0 advance, 1-3 a slot, 4 special patch."""
    return 1 + (action - FIRST_BUY) // SLOT_SIZE


@kernel(inline=True)
def first_of_kind(kind: int) -> int:
    """Return the first action of a kind of placements, legal or not."""
    return FIRST_BUY + (kind - 1) * SLOT_SIZE


@kernel(inline=True)
def can_be_placed(legal_set: LegalSet, slot: int) -> bool:
    """Whether a legal set has placements of the patch in a slot; ``NUM_OFFERED`` is the special patch."""
    placements = _U0
    for k in range(slot * NUM_ORIENTATIONS, min((slot + 1) * NUM_ORIENTATIONS, engine.NUM_MAPS)):
        placements |= legal_set[0, k] | legal_set[1, k]
    return bool(placements)


@kernel
def cells_of(states: States, i: int, action: int) -> tuple[np.uint64, np.uint64]:
    """Return the cells that a placement covers, as two words of a quilt."""
    k, anchor = (action - FIRST_BUY) // NUM_CELLS, (action - FIRST_BUY) % NUM_CELLS
    footprint = U1
    if k != engine.SPECIAL_MAP:
        patch = states[i]["circle"][k // NUM_ORIENTATIONS]
        footprint = np.uint64(FOOTPRINTS[patch, k % NUM_ORIENTATIONS])
    return engine.placed_words(footprint, anchor)


@kernel(inline=True)
def insert(
    actions: npt.NDArray[np.int64], values: npt.NDArray[np.float64], count: int, action: int, value: float
) -> int:
    """Insert an action into a list in descending order of values; if the list is full, drop the lowest one.

    Return the new number of actions.
    """
    if count == len(actions):
        if value <= values[count - 1]:
            return count
        count -= 1
    k = count
    while k > 0 and value > values[k - 1]:
        actions[k], values[k] = actions[k - 1], values[k - 1]
        k -= 1
    actions[k], values[k] = action, value
    return count + 1


@kernel
def only_action(states: States, i: int, legal_set: LegalSet) -> int:
    """Return the only legal action, or ``NO_ACTION`` if there are several; ``legal_set`` is overwritten."""
    return engine.nth_legal(legal_set, 0) if engine.legal(states, i, legal_set) == 1 else NO_ACTION


@kernel(inline=True)
def clipped_margin(states: States, i: int, scale: float, cut: float) -> float:
    """Return player 0's score minus player 1's, divided by ``scale``, clipped to ``-cut ... cut``."""
    return min(max((engine.score(states, i, 0) - engine.score(states, i, 1)) / scale, -cut), cut)


@kernel
def joints_left(states: States, i: int, action: int) -> int:
    """Return the joints of the current player's quilt after a placement."""
    word_0, word_1 = cells_of(states, i, action)
    quilt = states[i]["quilt"][states[i]["current_player"]]
    return count_joints(quilt[0] | word_0, quilt[1] | word_1)


# --- sums for all anchors -----------------------------------------------------------------------------------

_DIGITS = 6  # the number of binary digits of a sum over at most 8 cells with 4 neighbors each
_OPEN, _CHOSEN = _DIGITS, _DIGITS + 1

Ranking = npt.NDArray[np.uint64]
"""A buffer to rank the placements of a patch, ``RANKING_SHAPE``: for each word and orientation the digits of
the sums, then the open anchors, then the chosen anchors."""
RANKING_SHAPE = (2, _DIGITS + 2, NUM_ORIENTATIONS)


def new_ranking() -> Ranking:
    """Return a buffer for one thread."""
    return np.zeros(RANKING_SHAPE, np.uint64)


_SHIFTS = SHIFTS.copy()  # `SHIFTS` with the cells that a patch lacks pointing to a bit that is always 0
for _patch, _cells in enumerate(PATCHES):
    _SHIFTS[_patch, _cells.size :] = WORD_ROWS * QUILT_SIZE


@kernel(inline=True)
def _full_add(x: np.uint64, y: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    odd = x ^ y
    return odd ^ carry, (x & y) | (odd & carry)


@kernel(inline=True)
def _two_cells(
    patch: int, cell: int, o: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    first, second = _SHIFTS[patch, cell, o], _SHIFTS[patch, cell + 1, o]
    x, y = ones >> first, ones >> second
    s1, carry = _full_add(twos >> first, twos >> second, x & y)
    s2, s3 = _full_add(fours >> first, fours >> second, carry)
    return x ^ y, s1, s2, s3


@kernel(inline=True)
def _four_cells(
    patch: int, cell: int, o: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    x0, x1, x2, x3 = _two_cells(patch, cell, o, ones, twos, fours)
    y0, y1, y2, y3 = _two_cells(patch, cell + 2, o, ones, twos, fours)
    s1, carry = _full_add(x1, y1, x0 & y0)
    s2, carry = _full_add(x2, y2, carry)
    s3, s4 = _full_add(x3, y3, carry)
    return x0 ^ y0, s1, s2, s3, s4


@kernel(inline=True)
def _add_up(patch: int, word: int, neighbors: Digits, ranking: Ranking) -> None:
    """Write the sums over the cells of a patch for all anchors in one word."""
    # Cells that a patch lacks are shifted to the bit past the last cell, which is 0.
    ones, twos, fours = neighbors[0] & FULL_WORD, neighbors[1] & FULL_WORD, neighbors[2] & FULL_WORD
    for o in range(ranking.shape[2]):
        x0, x1, x2, x3, x4 = _four_cells(patch, 0, o, ones, twos, fours)
        y0, y1, y2, y3, y4 = _four_cells(patch, 4, o, ones, twos, fours)
        s1, carry = _full_add(x1, y1, x0 & y0)
        s2, carry = _full_add(x2, y2, carry)
        s3, carry = _full_add(x3, y3, carry)
        s4, s5 = _full_add(x4, y4, carry)
        ranking[word, 0, o], ranking[word, 1, o], ranking[word, 2, o] = x0 ^ y0, s1, s2
        ranking[word, 3, o], ranking[word, 4, o], ranking[word, 5, o] = s3, s4, s5


# --- the best placement -------------------------------------------------------------------------------------


@kernel
def keep_best_placements(states: States, i: int, slot: int, ranking: Ranking) -> bool:
    """Open the placements of an affordable patch that leave the most joints; return whether any exist."""
    quilt, patch = states[i]["quilt"][states[i]["current_player"]], states[i]["circle"][slot]
    upper, lower = count_neighbors(quilt[0], quilt[1])
    _add_up(patch, 0, upper, ranking)
    _open_legal(patch, 0, quilt[0], ranking)
    _add_up(patch, 1, lower, ranking)
    _open_legal(patch, 1, quilt[1], ranking)
    found = _U0
    for word in range(2):
        for o in range(ranking.shape[2]):
            found |= ranking[word, _OPEN, o]
    if found:
        _keep_lowest(ranking)
    return bool(found != _U0)


@kernel(inline=True)
def _open_legal(patch: int, word: int, covered: np.uint64, ranking: Ranking) -> None:
    for o in range(ranking.shape[2]):
        blocked = _U0
        for cell in range(_SHIFTS.shape[1]):
            blocked |= covered >> _SHIFTS[patch, cell, o]
        ranking[word, _OPEN, o] = FITS[patch, word, o] & ~blocked


@kernel(inline=True)
def _keep_lowest(ranking: Ranking) -> None:
    """Close all anchors but those with the lowest sum."""
    for k in range(_DIGITS):
        digit = _DIGITS - 1 - k
        found = _U0
        for word in range(2):
            for o in range(ranking.shape[2]):
                found |= ranking[word, _OPEN, o] & ~ranking[word, digit, o]
        if found:
            for word in range(2):
                for o in range(ranking.shape[2]):
                    ranking[word, _OPEN, o] &= ~ranking[word, digit, o]


@kernel(inline=True)
def first_kept(slot: int, ranking: Ranking) -> int:
    """Return the lowest action among the open placements of a patch; there must be one."""
    k = 0
    while not ranking[0, _OPEN, k] | ranking[1, _OPEN, k]:
        k += 1
    word = 0 if ranking[0, _OPEN, k] else 1
    cell = word * engine.FIRST_LOWER + lowest_bit(ranking[word, _OPEN, k])
    return FIRST_BUY + (slot * NUM_ORIENTATIONS + k) * NUM_CELLS + cell


@kernel(inline=True)
def draw_kept(slot: int, ranking: Ranking, streams: npt.NDArray[np.uint64], stream: int) -> int:
    """Draw an action among the open placements of a patch; there must be one."""
    count = 0
    for word in range(2):
        for o in range(ranking.shape[2]):
            count += popcount(ranking[word, _OPEN, o])
    n = random_below(streams, stream, count)
    for word in range(2):
        for o in range(ranking.shape[2]):
            here = popcount(ranking[word, _OPEN, o])
            if n < here:
                cell = word * engine.FIRST_LOWER + nth_bit(ranking[word, _OPEN, o], n)
                return FIRST_BUY + (slot * NUM_ORIENTATIONS + o) * NUM_CELLS + cell
            n -= here
    return -1


@kernel
def most_enclosed_cell(states: States, i: int) -> int:
    """Return the action that places a special patch on the first cell with the fewest empty neighbors."""
    quilt = states[i]["quilt"][states[i]["current_player"]]
    empty_0, empty_1 = quilt[0] ^ FULL_WORD, quilt[1] ^ FULL_WORD
    (a, b, c), (d, e, f) = count_neighbors(quilt[0], quilt[1])
    for ones_0, twos_0, ones_1, twos_1 in ((~a, ~b, ~d, ~e), (a, ~b, d, ~e), (~a, b, ~d, e)):
        upper = empty_0 & ones_0 & twos_0 & ~c
        lower = empty_1 & ones_1 & twos_1 & ~f
        if upper:
            return FIRST_SPECIAL + lowest_bit(upper)
        if lower:
            return FIRST_SPECIAL + engine.FIRST_LOWER + lowest_bit(lower)
    return -1  # never reached: left of and above the first empty cell, all is covered


# --- the likely placements ----------------------------------------------------------------------------------


@kernel
def list_likely(
    states: States, i: int, width: int, legal_set: LegalSet, ranking: Ranking, actions: npt.NDArray[np.int16]
) -> int:
    """List advancing, if it is legal, and the ``width`` placements of each patch that leave the most joints.

    The actions are ascending; ties go to the first ones. Return their number.
    """
    quilt = states[i]["quilt"][states[i]["current_player"]]
    upper, lower = count_neighbors(quilt[0], quilt[1])
    if can_be_placed(legal_set, NUM_OFFERED):
        for digit in range(_DIGITS):
            ranking[0, digit, 0] = upper[digit] if digit < 3 else _U0
            ranking[1, digit, 0] = lower[digit] if digit < 3 else _U0
        return _list_fewest(legal_set, engine.SPECIAL_MAP, engine.NUM_MAPS, width, ranking, actions, 0)
    actions[0], count = ADVANCE, 1
    for slot in range(NUM_OFFERED):
        first = slot * NUM_ORIENTATIONS
        if can_be_placed(legal_set, slot):
            patch = states[i]["circle"][slot]
            _add_up(patch, 0, upper, ranking)
            _add_up(patch, 1, lower, ranking)
            count = _list_fewest(legal_set, first, first + NUM_ORIENTATIONS, width, ranking, actions, count)
    return count


@kernel(inline=True)
def _list_fewest(
    legal_set: LegalSet,
    first: int,
    end: int,
    width: int,
    ranking: Ranking,
    actions: npt.NDArray[np.int16],
    count: int,
) -> int:
    """Append the placements of the maps ``first ... end - 1`` with the lowest sums to ``count`` actions."""
    for k in range(first, end):
        for word in range(2):
            ranking[word, _OPEN, k - first] = legal_set[word, k]
            ranking[word, _CHOSEN, k - first] = _U0
    left = _choose_fewest(ranking, end - first, width)
    for k in range(first, end):
        for word in range(2):
            chosen, still_open = ranking[word, _CHOSEN, k - first], ranking[word, _OPEN, k - first]
            bits = chosen | still_open if left else chosen
            begin = FIRST_BUY + k * NUM_CELLS + word * engine.FIRST_LOWER
            while bits:
                lowest = bits & (_U0 - bits)
                bits ^= lowest
                if chosen & lowest or left:
                    left -= not chosen & lowest
                    actions[count] = begin + lowest_bit(lowest)
                    count += 1
    return count


@kernel(inline=True)
def _choose_fewest(ranking: Ranking, maps: int, width: int) -> int:
    """Choose anchors with low sums; return how many of the open anchors, with equal sums, to add."""
    left = width
    for digit in range(_DIGITS - 1, -1, -1):
        number = 0
        for word in range(2):
            for k in range(maps):
                number += popcount(ranking[word, _OPEN, k] & ~ranking[word, digit, k])
        for word in range(2):
            for k in range(maps):
                low = ranking[word, _OPEN, k] & ~ranking[word, digit, k]
                if number < left:
                    ranking[word, _CHOSEN, k] |= low
                    ranking[word, _OPEN, k] &= ranking[word, digit, k]
                else:
                    ranking[word, _OPEN, k] = low
        if number < left:
            left -= number
    return left


@kernel
def keep_most_compact(
    states: States,
    i: int,
    width: int,
    actions: npt.NDArray[np.int16],
    count: int,
    sort_keys: npt.NDArray[np.int64],
) -> int:
    """Keep only the ``width`` most compact placements of each patch; ties go to the first ones.

    The actions are ascending; the kept ones move to the front. Return their number.
    """
    kept = begin = 0
    while begin < count:
        end = end_of_kind(actions, begin, count)
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
def end_of_kind(actions: npt.NDArray[np.signedinteger[Any]], begin: int, count: int) -> int:
    """Return the end of the run of one kind that starts at ``begin``, among the first ``count`` actions."""
    end = begin + 1
    while end < count and kind_of(signed(actions[end])) == kind_of(signed(actions[begin])):
        end += 1
    return end


@kernel(inline=True)
def _write_sort_keys(
    states: States, i: int, actions: npt.NDArray[np.int16], sort_keys: npt.NDArray[np.int64]
) -> None:
    """Write distinct sort keys of placements by compactness; ties go to the first placement."""
    quilt = states[i]["quilt"][states[i]["current_player"]]
    for k in range(len(actions)):
        word_0, word_1 = cells_of(states, i, signed(actions[k]))
        sort_keys[k] = (compactness(quilt[0] | word_0, quilt[1] | word_1) + 1) * len(actions) - k


@kernel(inline=True)
def _nth_highest(numbers: npt.NDArray[np.int64], n: int) -> int:
    """Return the ``n``-th highest of distinct numbers above 0."""
    highest = np.int64(2**62)
    for _ in range(n):
        following = np.int64(0)
        for number in numbers:
            if following < number < highest:
                following = number
        highest = following
    return int(highest)
