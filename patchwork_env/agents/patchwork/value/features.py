"""The features of a position, and the patterns of its quilts, as rows of two tables.

Features are from the view of the player to move. Each feature has a range of rows, and a position selects one
of them; numbers outside a range are clipped. Only the rows of :func:`list_fit_rows` and
:func:`list_square_rows` depend on the places of patches on a quilt. The rows of :func:`list_left_rows` hardly
change from one position to the next.

The second table has the patterns in small windows of a quilt. A quilt has 81 windows of 3x3 cells, one around
each cell, and 64 windows of 4x4 cells, which extend beyond the border by at most one row and one column.
Cells beyond the border count as covered. Windows that are turns or flips of each other share a row, so all
eight symmetric views of a quilt have the same rows. The rows of the 3x3 windows also depend on the distance
of their middle from the border.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import Rows
from patchwork_env.patchwork import components, tables
from patchwork_env.patchwork.engine import count_placements, empty_cells
from patchwork_env.patchwork.state import NOBODY, States

_SPACES = components.LAST_SPACE + 1
_BUTTONS, _INCOMES, _PROJECTED = 100, 40, 200
_SEEN, _AHEAD = 16, 8
"""The number of next patches whose order is a feature, and of those whose placements are counted."""
_BEHIND, _LEADS = 10, 64
"""The range of the lead of the other player in spaces: ``_LEADS`` rows from ``-_BEHIND`` on."""
_MARGINS = 100
_OFFERS = 16
"""The number of classes of an offered patch: see :func:`_offer_class`."""
_SQUARE_CELLS = components.BONUS_SQUARE**2

_FIT_CLASSES = np.searchsorted([0, 1, 2, 3, 5, 8, 14, 24, 40], np.arange(450)).astype(np.int64)
_NUM_FIT_CLASSES = int(_FIT_CLASSES.max()) + 1
"""Classes of numbers of placements: 0, 1, 2, 3, 4-5, 6-8, 9-14, 15-24, 25-40 and more."""


_NEXT_SPECIAL = np.array(
    [
        [min((special for special in spaces if special > space), default=0) for space in range(_SPACES)]
        for spaces in components.SPECIAL_SPACES.values()
    ],
    np.int64,
)
"""By variant and space, the next space after it with a special patch; 0 if there is none."""

# The first row of each feature; features with a factor 2 have a range for each player.
_POSITION = 0
_MONEY = _POSITION + 2 * _SPACES
_INCOME = _MONEY + 2 * _BUTTONS
_EMPTY = _INCOME + 2 * _INCOMES
_PROJECTION = _EMPTY + 2 * (components.NUM_CELLS + 1)
_TO_SPECIAL = _PROJECTION + 2 * _PROJECTED
_SPECIALS_LEFT = _TO_SPECIAL + 2 * (_SPACES + 1)
_LEAD = _SPECIALS_LEFT + len(components.VARIANTS) * 6
_NEXT = _LEAD + _LEADS
_OFFERED = _NEXT + _SEEN * (components.NUM_PATCHES + 1)
_LEFT = _OFFERED + components.NUM_OFFERED * (components.NUM_PATCHES + 1) * _OFFERS
_NUM_LEFT = _LEFT + components.NUM_PATCHES
_PENDING = _NUM_LEFT + components.NUM_PATCHES + 1
_FINISHER = _PENDING + 2
_FITS = _FINISHER + 3
_BONUS = _FITS + 2 * components.NUM_PATCHES * _NUM_FIT_CLASSES
_MISSING = _BONUS + 3
_MARGIN = _MISSING + 2 * (_SQUARE_CELLS + 1)
NUM_ROWS = _MARGIN + 2 * _MARGINS + 1
"""The number of rows of the table."""
MAX_GAME_ROWS = 2 * 6 + 5 + _SEEN + components.NUM_OFFERED
MAX_ROWS = components.NUM_PATCHES + MAX_GAME_ROWS + 2 * _AHEAD + 4
"""The maximum number of rows of a position."""

# Word 1 of a quilt repeats the rows of word 0 except the first two.
_BELOW_WORD_0 = np.uint64((tables.WORD_ROWS - tables.SECOND_WORD_ROW) * components.QUILT_SIZE)


@kernel(inline=True)
def signed(field: Any) -> int:
    """Return a field as a signed integer; Numba converts mixed unsigned and signed integers to floats."""
    return int(np.int64(field))


@kernel
def list_game_rows(states: States, i: int, rows: Rows) -> int:
    """List all rows of a game except those of quilts and of patches left; return their number."""
    state = states[i]
    mover, variant, position = signed(state["current_player"]), signed(state["variant"]), state["position"]
    furthest = max(position[0], position[1])
    count = 0
    for role in range(2):
        player = mover if role == 0 else 1 - mover
        space, buttons = signed(position[player]), signed(state["buttons"][player])
        rows[count] = _POSITION + role * _SPACES + space
        rows[count + 1] = _MONEY + role * _BUTTONS + _clip(buttons, _BUTTONS)
        rows[count + 2] = _INCOME + role * _INCOMES + _clip(signed(state["income"][player]), _INCOMES)
        rows[count + 3] = _EMPTY + role * (components.NUM_CELLS + 1) + empty_cells(states, i, player)
        projected = projected_buttons(states, i, player)
        rows[count + 4] = _PROJECTION + role * _PROJECTED + _clip(projected, _PROJECTED)
        special = signed(_NEXT_SPECIAL[variant, furthest])
        to_special = special - space if special else _SPACES
        rows[count + 5] = _TO_SPECIAL + role * (_SPACES + 1) + to_special
        count += 6
    specials_left = signed(tables.SPECIALS_UP_TO[variant, components.LAST_SPACE]) - signed(
        tables.SPECIALS_UP_TO[variant, furthest]
    )
    lead = signed(position[1 - mover]) - signed(position[mover])
    rows[count] = _SPECIALS_LEFT + variant * 6 + specials_left
    rows[count + 1] = _LEAD + _clip(lead + _BEHIND, _LEADS)
    rows[count + 2] = _PENDING + signed(state["pending_special"])
    rows[count + 3] = _FINISHER + _relative(signed(state["first_finisher"]), mover)
    return _list_circle(states, i, mover, rows, count + 4)


@kernel
def _clip(number: int, length: int) -> int:
    return min(max(number, 0), length - 1)


@kernel(inline=True)
def _relative(player: int, mover: int) -> int:
    """Return 0 for the player to move, 1 for the other player, and ``NOBODY`` as it is."""
    return NOBODY if player == NOBODY else int(player != mover)


@kernel(inline=True)
def projected_buttons(states: States, i: int, player: int) -> int:
    """Return a player's final buttons without further purchases and without buttons for advancing."""
    state = states[i]
    space = state["position"][player]
    marks = signed(tables.INCOMES_UP_TO[components.LAST_SPACE]) - signed(tables.INCOMES_UP_TO[space])
    return signed(state["buttons"][player]) + marks * signed(state["income"][player])


@kernel
def _list_circle(states: States, i: int, mover: int, rows: Rows, count: int) -> int:
    left, circle = signed(states[i]["num_patches"]), states[i]["circle"]
    rows[count] = _NUM_LEFT + left
    count += 1
    for k in range(_SEEN):
        patch = signed(circle[k]) if k < left else components.NUM_PATCHES
        rows[count] = _NEXT + k * (components.NUM_PATCHES + 1) + patch
        count += 1
        if k < components.NUM_OFFERED:
            offer = k * (components.NUM_PATCHES + 1) + patch
            rows[count] = _OFFERED + offer * _OFFERS + _offer_class(states, i, mover, patch)
            count += 1
    return count


@kernel(inline=True)
def _offer_class(states: States, i: int, mover: int, patch: int) -> int:
    """Return four bits: the other player can pay for a patch; the mover can pay, moves again, gets income."""
    if patch == components.NUM_PATCHES:
        return 0
    buttons, position = states[i]["buttons"], states[i]["position"]
    space, price = signed(position[mover]), tables.PRICES[patch]
    next_space = min(space + signed(tables.TIMES[patch]), components.LAST_SPACE)
    earns = tables.INCOMES_UP_TO[next_space] > tables.INCOMES_UP_TO[space]
    return int(
        (buttons[1 - mover] >= price)
        + 2 * (buttons[mover] >= price)
        + 4 * (next_space <= signed(position[1 - mover]))
        + 8 * earns
    )


@kernel
def list_left_rows(states: States, i: int, rows: Rows) -> int:
    """List the rows of the patches that are left; return their number."""
    left = signed(states[i]["num_patches"])
    for k in range(left):
        rows[k] = left_row(signed(states[i]["circle"][k]))
    return left


@kernel(inline=True)
def left_row(patch: int) -> int:
    """Return the row for a patch that is left."""
    return _LEFT + patch


@kernel(inline=True)
def list_fit_rows(states: States, i: int, role: int, rows: Rows) -> int:
    """List the rows of the fits of the next patches on the quilt of a role; return their number."""
    mover = signed(states[i]["current_player"])
    quilt = states[i]["quilt"][mover if role == 0 else 1 - mover]
    count = num_ahead(states, i)
    for k in range(count):
        patch = signed(states[i]["circle"][k])
        rows[k] = fit_row(role, patch, fit_class(quilt[0], quilt[1], patch))
    return count


@kernel(inline=True)
def num_ahead(states: States, i: int) -> int:
    """Return the number of patches, from the neutral token on, whose fits count."""
    return min(_AHEAD, signed(states[i]["num_patches"]))


@kernel(inline=True)
def fit_class(word_0: np.uint64, word_1: np.uint64, patch: int) -> int:
    """Return the class of the number of placements of a patch on a quilt, given by its two words."""
    return int(_FIT_CLASSES[count_placements(word_0, word_1, patch)])


@kernel(inline=True)
def fit_row(role: int, patch: int, fit: int) -> int:
    """Return the row for a patch with placements of a class on the quilt of a role."""
    return _FITS + (role * components.NUM_PATCHES + patch) * _NUM_FIT_CLASSES + fit


@kernel(inline=True)
def list_square_rows(states: States, i: int, rows: Rows) -> int:
    """List the rows of the 7x7 squares, the bonus tile and the projected margin; return their number."""
    mover = signed(states[i]["current_player"])
    own, other = states[i]["quilt"][mover], states[i]["quilt"][1 - mover]
    missing_own, missing_other = missing_cells(own[0], own[1]), missing_cells(other[0], other[1])
    return list_known_square_rows(states, i, missing_own, missing_other, rows)


@kernel(inline=True)
def list_known_square_rows(states: States, i: int, missing_own: int, missing_other: int, rows: Rows) -> int:
    """List rows like :func:`list_square_rows`, for quilts with known :func:`missing_cells`."""
    mover = signed(states[i]["current_player"])
    owner = _relative(signed(states[i]["bonus_owner"]), mover)
    rows[0] = _BONUS + owner
    margin = components.BONUS_POINTS * (int(owner == 0) - int(owner == 1))
    for role in range(2):
        player = mover if role == 0 else 1 - mover
        penalty = components.PENALTY_PER_EMPTY_CELL * empty_cells(states, i, player)
        margin += (1 - 2 * role) * (projected_buttons(states, i, player) - penalty)
    rows[1] = _MARGIN + min(max(margin, -_MARGINS), _MARGINS) + _MARGINS
    if owner != NOBODY:
        return 2
    rows[2] = _MISSING + missing_own
    rows[3] = _MISSING + _SQUARE_CELLS + 1 + missing_other
    return 4


@kernel(inline=True)
def missing_cells(word_0: np.uint64, word_1: np.uint64) -> int:
    """Return the number of empty cells in the fullest 7x7 square of a quilt, given as its two words."""
    most = 0
    for k in range(len(tables.SQUARES)):
        covered = popcount(word_0 & tables.SQUARES[k, 0])
        covered += popcount((word_1 & tables.SQUARES[k, 1]) >> _BELOW_WORD_0)
        most = max(most, covered)
    return _SQUARE_CELLS - most


# --- patterns of quilts -------------------------------------------------------------------------------------


_PADDED = components.QUILT_SIZE + 2  # rows and columns of a quilt with its border
_LARGE = _PADDED - 3  # windows of 4x4 cells along a side
NUM_WINDOWS = components.NUM_CELLS + _LARGE**2
NUM_BANDS = components.QUILT_SIZE

Bands = npt.NDArray[np.uint64]
"""A quilt with its border, ``(NUM_BANDS,)``: band ``k`` has four rows from row ``k`` on, the last band three.
Each row takes 16 bits; bit ``column`` is 1 if the cell is covered. Row 0 and column 0 are border."""


def _kinds_of_windows(size: int) -> npt.NDArray[np.int32]:
    """Return a number for every pattern of ``size`` x ``size`` bits, the same for symmetric patterns."""
    patterns = np.arange(1 << size**2)
    bits = (patterns[:, None] >> np.arange(size**2) & 1).reshape(-1, size, size)
    weights = 1 << np.arange(size**2).reshape(size, size)
    views = [np.rot90(flipped, turns, (0, 1)) for flipped in (weights, weights.T) for turns in range(4)]
    lowest = np.min([np.tensordot(bits, view, 2) for view in views], axis=0)
    return np.unique(lowest, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _rings() -> npt.NDArray[np.int32]:
    """Return the distance of each cell from the border."""
    along = np.minimum(np.arange(components.QUILT_SIZE), np.arange(components.QUILT_SIZE)[::-1])
    return np.minimum(along[:, None], along[None, :]).astype(np.int32)


_SMALL_KINDS = _kinds_of_windows(3)
_NUM_SMALL_KINDS = int(_SMALL_KINDS.max()) + 1
_RINGS = _rings()
_FIRST_LARGE_ROW = (int(_RINGS.max()) + 1) * _NUM_SMALL_KINDS
_LARGE_ROWS = _FIRST_LARGE_ROW + _kinds_of_windows(4)
_SMALL_ROWS = _RINGS * _NUM_SMALL_KINDS
NUM_PATTERNS = int(_LARGE_ROWS.max()) + 1
"""The number of rows of the table."""

_U = np.uint64
_ROW_MASK = _U((1 << components.QUILT_SIZE) - 1)
_BORDER_ROW = _U((1 << _PADDED) - 1)
_SIDES = _U(1 | 1 << (_PADDED - 1))
_LANE = _U(16)
_LAST_LANE = _U(48)
# The mask of a window in the low bits of each lane, and a factor that joins its rows in the product.
_SMALL_MASK, _SMALL_FACTOR, _SMALL_SHIFT = _U(0x000700070007), _U(1 | 1 << 13 | 1 << 26), _U(26)
_LARGE_MASK, _LARGE_FACTOR, _LARGE_SHIFT = _U(0x000F000F000F000F), _U(1 | 1 << 12 | 1 << 24 | 1 << 36), _U(36)
_SMALL_PATTERN, _LARGE_PATTERN = _U((1 << 9) - 1), _U((1 << 16) - 1)


@kernel(inline=True)
def write_bands(word_0: np.uint64, word_1: np.uint64, bands: Bands) -> None:
    """Write a quilt, given as its two words, with its border."""
    band = _BORDER_ROW << _LAST_LANE
    for row in range(_PADDED - 1):
        if row < tables.WORD_ROWS:
            bits = (word_0 >> _U(row * components.QUILT_SIZE)) & _ROW_MASK
        elif row < components.QUILT_SIZE:
            bits = (word_1 >> _U((row - tables.SECOND_WORD_ROW) * components.QUILT_SIZE)) & _ROW_MASK
        else:
            bits = _ROW_MASK
        band = band >> _LANE | (bits << _U(1) | _SIDES) << _LAST_LANE
        if row >= 2:
            bands[row - 2] = band
    bands[NUM_BANDS - 1] = band >> _LANE


@kernel(inline=True)
def _small_row(bands: Bands, row: int, column: int) -> int:
    """Return the table row of the 3x3 window around a cell."""
    window = bands[row] >> _U(column) & _SMALL_MASK
    pattern = window * _SMALL_FACTOR >> _SMALL_SHIFT & _SMALL_PATTERN
    return int(_SMALL_ROWS[row, column] + _SMALL_KINDS[pattern])


@kernel(inline=True)
def _large_row(bands: Bands, row: int, column: int) -> int:
    """Return the table row of the 4x4 window with its corner at a row and column, counted with the border."""
    window = bands[row] >> _U(column) & _LARGE_MASK
    pattern = window * _LARGE_FACTOR >> _LARGE_SHIFT & _LARGE_PATTERN
    return int(_LARGE_ROWS[pattern])


@kernel
def list_rows(bands: Bands, rows: Rows) -> None:
    """Write the table rows of all windows, int32 ``(NUM_WINDOWS,)``."""
    for row in range(components.QUILT_SIZE):
        for column in range(components.QUILT_SIZE):
            rows[row * components.QUILT_SIZE + column] = _small_row(bands, row, column)
    for row in range(_LARGE):
        for column in range(_LARGE):
            rows[components.NUM_CELLS + row * _LARGE + column] = _large_row(bands, row, column)


@kernel(inline=True)
def list_changes(before: Bands, after: Bands, rows: Rows, old: Rows, new: Rows) -> int:
    """List the table rows of the windows that change when cells of a quilt are covered.

    ``rows`` are the table rows of all windows before; see :func:`list_rows`. The rows in ``old`` are replaced
    by those in ``new``; return their number.
    """
    count = 0
    for row in range(NUM_BANDS):
        difference = before[row] ^ after[row]
        if difference == 0:
            continue
        first, last = _span(difference)
        for column in range(max(first - 2, 0), min(last, components.QUILT_SIZE - 1) + 1):
            window = row * components.QUILT_SIZE + column
            count = _note_change(rows[window], _small_row(after, row, column), old, new, count)
        if row == _LARGE:
            continue
        for column in range(max(first - 3, 0), min(last, _LARGE - 1) + 1):
            window = components.NUM_CELLS + row * _LARGE + column
            count = _note_change(rows[window], _large_row(after, row, column), old, new, count)
    return count


@kernel(inline=True)
def _span(band: np.uint64) -> tuple[int, int]:
    """Return the first and the last column with a one in any row of a band that is not 0."""
    columns = (band | band >> _LANE | band >> _U(32) | band >> _LAST_LANE) & _BORDER_ROW
    below = columns | columns >> _U(1)
    below |= below >> _U(2)
    below |= below >> _U(4)
    below |= below >> _U(8)
    return lowest_bit(columns), popcount(below) - 1


@kernel(inline=True)
def _note_change(old_row: int, new_row: int, old: Rows, new: Rows, count: int) -> int:
    old[count], new[count] = old_row, new_row
    return count + (old_row != new_row)
