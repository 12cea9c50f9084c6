"""A cache of quilts: most positions of a search have quilts in common.

The hash of a quilt gives its only index, where it replaces an older entry. All entries are for one set of
weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled import record_type
from patchwork_env.agents.patchwork.value.features import missing_cells
from patchwork_env.agents.patchwork.value.network import HIDDEN, QUILT_WIDTH
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS

MOST_CHOICES = 4
"""The maximum number of likely placements of a patch in an entry."""
UNKNOWN = 255
"""Sentinel for a number that has not been computed yet."""
POSITION_CACHE_SIZE, SEARCH_CACHE_SIZE = 1 << 6, 1 << 13
"""The number of quilts in the cache of one position, and in that of a search, which takes 10 megabytes."""
_HASH_0, _HASH_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(44)

KNOWN_QUILT = record_type(
    {
        "key": (np.uint64, (3,)),  # the two words of the quilt, and the number of the search
        "has_product": (np.uint8, (NUM_PLAYERS,)),
        "missing": (np.uint8, (1,)),  # empty cells of the fullest 7x7 square
        "fits": (np.uint8, (NUM_PATCHES,)),  # class of the number of placements of each patch, or UNKNOWN
        # The number of likely placements of each patch, and last of a special patch; or UNKNOWN.
        "num_choices": (np.uint8, (NUM_PATCHES + 1,)),
        "sum": (np.int32, (QUILT_WIDTH,)),  # the sum of its pattern rows, not rectified
        "products": (np.int16, (NUM_PLAYERS, HIDDEN)),  # its part of the first layer in each role
        # The likely placements of each patch, minus the first action of their kind.
        "choices": (np.int16, (NUM_PATCHES + 1, MOST_CHOICES)),
    }
)


class QuiltCache(NamedTuple):
    """The entries, and the number of the present search; entries with other numbers are invalid."""

    quilts: npt.NDArray[np.void]  # of KNOWN_QUILT
    search: npt.NDArray[np.uint64]  # (1,), the number of the search
    added: npt.NDArray[np.int64]  # (1,), the number of quilts added in this search


@kernel
def forget(cache: QuiltCache) -> None:
    """Start a new search, which invalidates all entries."""
    cache.search[0] += np.uint64(1)
    cache.added[0] = 0


@kernel(inline=True)
def place_of(cache: QuiltCache, word_0: np.uint64, word_1: np.uint64) -> int:
    """Return the index of a quilt, given as its two words."""
    return int((word_0 * _HASH_0 ^ word_1 * _HASH_1) >> _SHIFT) & (len(cache.quilts) - 1)


@kernel(inline=True)
def knows(cache: QuiltCache, place: int, word_0: np.uint64, word_1: np.uint64) -> bool:
    """Whether an entry is that of a quilt; if not, it becomes an entry of this quilt without products."""
    quilt = cache.quilts[place]
    key = quilt["key"]
    if key[0] == word_0 and key[1] == word_1 and key[2] == cache.search[0]:
        return True
    key[0], key[1], key[2] = word_0, word_1, cache.search[0]
    cache.added[0] += 1
    for player in range(NUM_PLAYERS):
        quilt["has_product"][player] = 0
    quilt["missing"][0] = missing_cells(word_0, word_1)
    for patch in range(NUM_PATCHES):
        quilt["fits"][patch] = quilt["num_choices"][patch] = UNKNOWN
    quilt["num_choices"][NUM_PATCHES] = UNKNOWN
    return False
