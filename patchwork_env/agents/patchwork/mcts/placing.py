"""Where a patch goes in a playout: where it leaves the empty cells best connected, for all places at once.

The measure is that of the greedy agent, joints: pairs of neighboring empty cells. A placement destroys the
joints of the cells that it covers. The joints within the patch are always the same, so the best placements
are those whose cells have the lowest sum of empty neighbors. The number of empty neighbors of every cell,
0-4, is kept as three words, one for each binary digit, and the sum for every anchor as six. An addition of
words adds for all anchors of an orientation. The compiler handles all orientations in one vector, as long as
it reads their number from an array: it unrolls loops whose length it knows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.heuristics import FIRST_LOWER_ANCHOR
from patchwork_env.agents.patchwork.joints import Digits, count_neighbors
from patchwork_env.core.bits import lowest_bit, nth_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import random_below
from patchwork_env.patchwork.actions import FIRST_BUY, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_CELLS, PATCHES, QUILT_SIZE
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.tables import FITS, FULL_WORD, SHIFTS, WORD_ROWS

NOWHERE = -1
"""Stands for an action where a patch has no placement."""

_U = np.uint64
_U0 = _U(0)
_WORD_BITS = WORD_ROWS * QUILT_SIZE
_DIGITS = 6
"""The binary digits of a sum over at most 8 cells with 4 neighbors each."""


def _padded_shifts() -> npt.NDArray[np.uint64]:
    """``SHIFTS`` whose repeated cells point to a bit that is always 0."""
    shifts = SHIFTS.copy()
    for patch, cells in enumerate(PATCHES):
        shifts[patch, cells.size :] = _WORD_BITS
    return shifts


_SHIFTS = _padded_shifts()

Sums = npt.NDArray[np.uint64]
"""A buffer ``(2, _DIGITS + 1, NUM_ORIENTATIONS)``: for each word the digits of the sums, and the anchors."""


def new_sums() -> Sums:
    """A buffer for :func:`best_placement`."""
    return np.zeros((2, _DIGITS + 1, NUM_ORIENTATIONS), np.uint64)


@kernel(inline=True)
def _full_add(x: np.uint64, y: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The digit and the carry of a sum of three bits."""
    odd = x ^ y
    return odd ^ carry, (x & y) | (odd & carry)


@kernel(inline=True)
def _two_cells(
    patch: int, cell: int, o: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The digits of the sum over two cells of a patch, for every anchor."""
    first, second = _SHIFTS[patch, cell, o], _SHIFTS[patch, cell + 1, o]
    x, y = ones >> first, ones >> second
    s1, carry = _full_add(twos >> first, twos >> second, x & y)
    s2, s3 = _full_add(fours >> first, fours >> second, carry)
    return x ^ y, s1, s2, s3


@kernel(inline=True)
def _four_cells(
    patch: int, cell: int, o: int, ones: np.uint64, twos: np.uint64, fours: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """The digits of the sum over four cells of a patch, for every anchor."""
    x0, x1, x2, x3 = _two_cells(patch, cell, o, ones, twos, fours)
    y0, y1, y2, y3 = _two_cells(patch, cell + 2, o, ones, twos, fours)
    s1, carry = _full_add(x1, y1, x0 & y0)
    s2, carry = _full_add(x2, y2, carry)
    s3, s4 = _full_add(x3, y3, carry)
    return x0 ^ y0, s1, s2, s3, s4


@kernel(inline=True)
def _add_up(patch: int, word: int, empty: np.uint64, neighbors: Digits, sums: Sums) -> None:
    """Writes the legal anchors in one word, and their sums over the cells of the patch."""
    # The bit behind the cells counts for none: shifts of cells that a patch does not have end there.
    ones, twos, fours = neighbors[0] & FULL_WORD, neighbors[1] & FULL_WORD, neighbors[2] & FULL_WORD
    covered = empty ^ FULL_WORD
    for o in range(sums.shape[2]):
        x0, x1, x2, x3, x4 = _four_cells(patch, 0, o, ones, twos, fours)
        y0, y1, y2, y3, y4 = _four_cells(patch, 4, o, ones, twos, fours)
        s1, carry = _full_add(x1, y1, x0 & y0)
        s2, carry = _full_add(x2, y2, carry)
        s3, carry = _full_add(x3, y3, carry)
        s4, s5 = _full_add(x4, y4, carry)
        sums[word, 0, o], sums[word, 1, o], sums[word, 2, o] = x0 ^ y0, s1, s2
        sums[word, 3, o], sums[word, 4, o], sums[word, 5, o] = s3, s4, s5
    for o in range(sums.shape[2]):
        blocked = _U0
        for cell in range(_SHIFTS.shape[1]):
            blocked |= covered >> _SHIFTS[patch, cell, o]
        sums[word, _DIGITS, o] = FITS[patch, word, o] & ~blocked


@kernel(inline=True)
def _has_anchor(sums: Sums) -> bool:
    found = _U0
    for word in range(2):
        for o in range(sums.shape[2]):
            found |= sums[word, _DIGITS, o]
    return bool(found != _U0)


@kernel(inline=True)
def _keep_lowest(sums: Sums) -> None:
    """Keeps only the anchors with the lowest sum."""
    for k in range(_DIGITS):
        digit = _DIGITS - 1 - k
        found = _U0
        for word in range(2):
            for o in range(sums.shape[2]):
                found |= sums[word, _DIGITS, o] & ~sums[word, digit, o]
        if found:
            for word in range(2):
                for o in range(sums.shape[2]):
                    sums[word, _DIGITS, o] &= ~sums[word, digit, o]


@kernel(inline=True)
def _draw(sums: Sums, streams: npt.NDArray[np.uint64], stream: int) -> int:
    """A random one of the anchors, as ``orientation * 81 + cell``."""
    count = 0
    for word in range(2):
        for o in range(sums.shape[2]):
            count += popcount(sums[word, _DIGITS, o])
    n = random_below(streams, stream, count)
    for word in range(2):
        for o in range(sums.shape[2]):
            here = popcount(sums[word, _DIGITS, o])
            if n < here:
                cell = word * FIRST_LOWER_ANCHOR + nth_bit(sums[word, _DIGITS, o], n)
                return o * NUM_CELLS + cell
            n -= here
    return NOWHERE


@kernel
def best_placement(
    states: States, i: int, slot: int, sums: Sums, streams: npt.NDArray[np.uint64], stream: int
) -> int:
    """The action that leaves the most joints, a random one of the best, or ``NOWHERE``.

    No special patch is pending, and the current player can pay for the patch in ``slot``.
    """
    player = states[i]["current_player"]
    empty_0 = states[i]["quilt"][player, 0] ^ FULL_WORD
    empty_1 = states[i]["quilt"][player, 1] ^ FULL_WORD
    patch = states[i]["circle"][slot]
    upper, lower = count_neighbors(states[i]["quilt"][player, 0], states[i]["quilt"][player, 1])
    _add_up(patch, 0, empty_0, upper, sums)
    _add_up(patch, 1, empty_1, lower, sums)
    if not _has_anchor(sums):
        return NOWHERE
    _keep_lowest(sums)
    return FIRST_BUY + slot * NUM_ORIENTATIONS * NUM_CELLS + _draw(sums, streams, stream)


@kernel
def most_enclosed_cell(states: States, i: int) -> int:
    """The action that places a special patch on a cell with the fewest empty neighbors, the first of them."""
    player = states[i]["current_player"]
    empty_0 = states[i]["quilt"][player, 0] ^ FULL_WORD
    empty_1 = states[i]["quilt"][player, 1] ^ FULL_WORD
    (a, b, c), (d, e, f) = count_neighbors(states[i]["quilt"][player, 0], states[i]["quilt"][player, 1])
    for ones_0, twos_0, ones_1, twos_1 in ((~a, ~b, ~d, ~e), (a, ~b, d, ~e), (~a, b, ~d, e), (a, b, d, e)):
        upper = empty_0 & ones_0 & twos_0 & ~c
        lower = empty_1 & ones_1 & twos_1 & ~f
        if upper:
            return FIRST_SPECIAL + lowest_bit(upper)
        if lower:
            return FIRST_SPECIAL + FIRST_LOWER_ANCHOR + lowest_bit(lower)
    return FIRST_SPECIAL + (lowest_bit(empty_0) if empty_0 else FIRST_LOWER_ANCHOR + lowest_bit(empty_1))
