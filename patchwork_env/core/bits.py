"""Bit operations for compiled kernels: counting and scanning 64 bits at once."""

from __future__ import annotations

import numpy as np

from patchwork_env.core.compile import kernel

U0, U1, U2, U4 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
_U56 = np.uint64(56)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)


@kernel
def popcount(word: np.uint64) -> int:
    """Return the number of ones in a word; LLVM recognizes the pattern and emits one instruction."""
    word = word - ((word >> U1) & _M1)
    word = (word & _M2) + ((word >> U2) & _M2)
    word = (word + (word >> U4)) & _M4
    return int(np.int64((word * _H01) >> _U56))


@kernel
def lowest_bit(word: np.uint64) -> int:
    """Return the index of the lowest one in a word, which must not be zero."""
    return popcount((word & (U0 - word)) - U1)


@kernel
def nth_bit(word: np.uint64, n: int) -> int:
    """Return the index of the ``n``-th one in a word, counted from 0; the word must have so many ones."""
    for _ in range(n):
        word &= word - U1
    return lowest_bit(word)
