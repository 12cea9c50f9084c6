"""What a table and the tiles left show beside the relief, as rows of one table and a few numbers.

Each feature has a range of rows of its own; numbers beyond a range count as its last. Tiles are seen as a
deck of unknown order has them: how many of each digit are left, not which comes next.
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
"""That many tiles of a digit left, or more, are alike."""
_LEVELS = 7
"""Levels above the table itself that are told apart: 1 ... ``_LEVELS``."""
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
"""Rows of the table."""
MAX_ROWS = 1 + 2 * NUM_DIGITS + NUM_DIGITS * _LEVELS + 2 * (_LEVELS + 1)
"""The most rows of a table."""
NUM_INPUTS = 4
"""Numbers beside the rows."""

FIELDS = {
    "fits": (np.int64, (MAX_LEVELS + 2, NUM_DIGITS)),
    "tiles_on": (np.int64, (MAX_LEVELS + 2,)),
    "area": (np.int64, (MAX_LEVELS + 2,)),
    "remaining": (np.int64, (NUM_DIGITS,)),
    "inputs": (np.float32, (NUM_INPUTS,)),
}
"""What :func:`list_rows` needs of a memory: per level the placements of each digit, the tiles and the covered
cells; and the tiles left. It writes ``inputs``."""


@kernel
def list_rows(memory: Record, number: int, left: int, rows: Rows) -> int:
    """Lists the rows of a table with ``number`` levels and ``left`` tiles to come, and writes the numbers.

    Args:
        memory: See :data:`FIELDS`; levels from ``number`` on have no tiles, and fits are those of levels up
            to ``number``.
        number: The number of levels.
        left: Tiles that will still be placed.
        rows: Receives the rows.

    Returns:
        How many they are.
    """
    remaining, fits = memory["remaining"], memory["fits"]
    rows[0] = _LEFT + min(left, MAX_CARDS)
    count = 1
    cards, digits, promised = 0, 0, 0
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
        promised += tiles * digit * best
    for level in range(min(number, _LEVELS + 1)):
        rows[count] = _TILES_ON + level * _TILES + min(memory["tiles_on"][level], _TILES - 1)
        open_cells = memory["area"][level] - memory["area"][level + 1]
        rows[count + 1] = _OPEN + level * _AREAS + min(open_cells // 2, _AREAS - 1)
        count += 2
    _write_inputs(memory["inputs"], left, cards, digits, promised)
    return count


@kernel(inline=True)
def _write_inputs(inputs: npt.NDArray[np.float32], left: int, cards: int, digits: int, promised: int) -> None:
    """Tiles left; what they would bring where they fit best now, all of them and one; and their digits."""
    share = left / cards if cards > 0 else 0.0
    inputs[0] = left / 20
    inputs[1] = promised * share / 60
    inputs[2] = promised / cards / 10 if cards > 0 else 0.0
    inputs[3] = digits * share / 90
