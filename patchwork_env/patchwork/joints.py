"""How well the empty cells of a quilt hang together."""

from __future__ import annotations

import numpy as np

from patchwork_env._bits import popcount
from patchwork_env._compile import kernel
from patchwork_env.patchwork.components import QUILT_SIZE
from patchwork_env.patchwork.tables import FULL_WORD, SECOND_WORD_ROW

_U = np.uint64
_U1, _ROW = _U(1), _U(QUILT_SIZE)
_ROWS_0_TO_4 = _U((1 << 5 * QUILT_SIZE) - 1)
_ROWS_5_TO_8 = _U(((1 << 4 * QUILT_SIZE) - 1) << (5 - SECOND_WORD_ROW) * QUILT_SIZE)
_NOT_LAST_COLUMN = _U(sum(1 << bit for bit in range(63) if (bit + 1) % QUILT_SIZE))


@kernel
def count_joints(covered_0: np.uint64, covered_1: np.uint64) -> int:
    """Pairs of neighboring empty cells on a quilt, given as its two words; see :mod:`.state`.

    Each pair counts where its upper or left cell lies: in rows 0-4, read from word 0, or in rows 5-8, read
    from word 1. Both words hold the row below as well.
    """
    return _joints(~covered_0 & FULL_WORD, _ROWS_0_TO_4) + _joints(~covered_1 & FULL_WORD, _ROWS_5_TO_8)


@kernel
def _joints(empty: np.uint64, rows: np.uint64) -> int:
    beside = empty & (empty >> _U1) & _NOT_LAST_COLUMN
    below = empty & (empty >> _ROW)
    return popcount(beside & rows) + popcount(below & rows)
