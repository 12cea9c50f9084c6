"""The features of a player's table besides the relief, and of the tiles left: table rows and a few numbers.

Each feature has a range of rows of its own; numbers beyond a range count as its last one. Only the number of
tiles left of each digit counts, not which comes next, as in a deck of unknown order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.value.fits import Record
from patchwork_env.core.compile import kernel
from patchwork_env.nmbr9.components import MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.engine import MAX_LEVELS

Rows = npt.NDArray[np.int32]

_COPIES = 3
"""Digits with that many tiles left, or more, count as alike."""
_LEVELS = 7
"""The highest level that is told apart from those above it; level 0 lies on the table itself."""
_FIT_CLASSES = np.searchsorted([0, 1, 2, 4, 7, 12, 20, 36], np.arange(513)).astype(np.int64)
_NUM_FIT_CLASSES = int(_FIT_CLASSES.max())
"""Classes of numbers of placements above 0, which has no row: 1, 2, 3-4, 5-7, 8-12, 13-20, 21-36 and more."""
_TILES, _AREAS = 10, 60

_LEFT = 0
_REMAINING = _LEFT + MAX_CARDS + 1
_BEST = _REMAINING + NUM_DIGITS * (_COPIES + 1)
_FITS = _BEST + NUM_DIGITS * 2 * (_LEVELS + 1)
_TILES_ON = _FITS + NUM_DIGITS * 2 * _LEVELS * _NUM_FIT_CLASSES
_OPEN = _TILES_ON + (_LEVELS + 1) * _TILES
NUM_ROWS = _OPEN + (_LEVELS + 1) * _AREAS
"""The number of rows of the table."""
MAX_ROWS = 1 + 2 * NUM_DIGITS + NUM_DIGITS * _LEVELS + 2 * (_LEVELS + 1)
"""The most rows of a table."""
NUM_INPUTS = 4
"""The number of inputs besides the rows."""

FIELDS = {
    "fits": (np.int64, (MAX_LEVELS + 2, NUM_DIGITS)),
    "tiles_on": (np.int64, (MAX_LEVELS + 2,)),
    "area": (np.int64, (MAX_LEVELS + 2,)),
    "remaining": (np.int64, (NUM_DIGITS,)),
    "inputs": (np.float32, (NUM_INPUTS,)),
}
"""The fields of a buffer that :func:`list_rows` needs: for each level the placements of each digit, the tiles
and the covered cells; and the tiles left of each digit. It writes ``inputs``."""


@kernel
def list_rows(buffer: Record, number: int, left: int, rows: Rows) -> int:
    """Lists the rows of a table with ``number`` levels and ``left`` tiles to come; returns how many.

    The buffer has the fields of :data:`FIELDS` and receives the numbers. Its levels from ``number`` on have
    no tiles, and fits are those of levels up to ``number``.
    """
    remaining, fits = buffer["remaining"], buffer["fits"]
    rows[0] = _LEFT + min(left, MAX_CARDS)
    count = 1
    cards, digits, best_points = 0, 0, 0
    for digit in range(NUM_DIGITS):
        tiles = remaining[digit]
        rows[count] = _REMAINING + digit * (_COPIES + 1) + min(tiles, _COPIES)
        count += 1
        if tiles == 0:
            continue
        several, best = min(tiles, 2) - 1, 0
        for level in range(1, min(number, _LEVELS) + 1):
            fit_class = _FIT_CLASSES[min(fits[level, digit], len(_FIT_CLASSES) - 1)]
            if fit_class > 0:
                best = level
                kind = (digit * 2 + several) * _LEVELS + level - 1
                rows[count] = _FITS + kind * _NUM_FIT_CLASSES + fit_class - 1
                count += 1
        rows[count] = _BEST + (digit * 2 + several) * (_LEVELS + 1) + best
        count += 1
        cards += tiles
        digits += tiles * digit
        best_points += tiles * digit * best
    for level in range(min(number, _LEVELS + 1)):
        rows[count] = _TILES_ON + level * _TILES + min(buffer["tiles_on"][level], _TILES - 1)
        open_cells = buffer["area"][level] - buffer["area"][level + 1]
        rows[count + 1] = _OPEN + level * _AREAS + min(open_cells // 2, _AREAS - 1)
        count += 2
    _write_inputs(buffer["inputs"], left, cards, digits, best_points)
    return count


@kernel(inline=True)
def _write_inputs(
    inputs: npt.NDArray[np.float32], left: int, cards: int, digits: int, best_points: int
) -> None:
    """Writes tiles left, their points where they fit best now, in sum and on average, and their digits."""
    share = left / cards if cards > 0 else 0.0
    inputs[0] = left / 20
    inputs[1] = best_points * share / 60
    inputs[2] = best_points / cards / 10 if cards > 0 else 0.0
    inputs[3] = digits * share / 90
