"""The state of a game as one small record of a NumPy structured array.

One game is an array of length 1 and a batch an array of length n; copying a record clones a game.

A quilt of 9x9 cells is two overlapping 63-bit words: word 0 holds rows 0-6 and word 1 rows 2-8, both with bit
``9 * row + column`` counted from the word's first row. Patches have at most 5 rows, so that every placement
fits into one word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS

NOBODY = 2
"""The value of ``bonus_owner`` and ``first_finisher`` for neither player."""

STATE = np.dtype(
    [
        ("quilt", "<u8", (NUM_PLAYERS, 2)),  # covered cells: rows 0-6, rows 2-8
        ("buttons", "<i2", NUM_PLAYERS),
        ("position", "u1", NUM_PLAYERS),  # space on the time track, 0-53
        ("income", "u1", NUM_PLAYERS),  # income buttons on the quilt
        ("circle", "u1", NUM_PATCHES + 1),  # patches clockwise from the neutral token, then zeros
        ("num_patches", "u1"),  # patches left in the circle
        ("current_player", "u1"),
        ("pending_special", "u1"),  # 1: the current player must place a special patch
        ("bonus_owner", "u1"),  # 0, 1 or NOBODY
        ("first_finisher", "u1"),  # the first player on the last space: 0, 1 or NOBODY
        ("variant", "u1"),  # index into VARIANTS
    ]
)
assert STATE.itemsize % 8 == 0  # aligned words and no padding, whose bytes would be arbitrary

States = npt.NDArray[np.void]
"""Array of :data:`STATE` records, shape ``(n,)``."""


def empty_states(n: int) -> States:
    """Return ``n`` records of zeros, to be set up by the engine."""
    return np.zeros(n, STATE)
