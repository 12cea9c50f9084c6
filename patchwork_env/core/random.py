"""Random numbers for compiled kernels: streams of SplitMix64, one 64-bit word each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)

Streams = npt.NDArray[np.uint64]
"""Random streams, a uint64 array ``(n,)``; every draw from stream ``i`` changes word ``i``."""


@kernel
def mix(word: np.uint64) -> np.uint64:
    """Return the output function of SplitMix64 (Steele, Lea, Flood 2014)."""
    word = (word ^ (word >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> _U(27))) * _U(0x94D049BB133111EB)
    return word ^ (word >> _U(31))


@kernel
def random_below(streams: Streams, i: int, bound: int) -> int:
    """Draw an integer of ``0 ... bound - 1``, ``bound < 2**31``; its bias is below ``bound / 2**32``."""
    streams[i] += _GOLDEN
    return int(np.int64(((mix(streams[i]) >> _U(32)) * _U(bound)) >> _U(32)))


@kernel
def start_streams(streams: Streams, seed: np.uint64) -> None:
    """Start all streams; stream ``i`` depends on ``seed`` and ``i`` alone."""
    for i in range(len(streams)):
        streams[i] = mix(mix(seed + _GOLDEN) + _U(i) * _GOLDEN)
