"""Games that are dealt out in parts, and what comes back as batches: named tuples of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

_Batch = TypeVar("_Batch", bound=tuple[Any, ...])


def draw_seed(random: np.random.Generator) -> np.uint64:
    """The seed of an iteration's games."""
    return random.integers(2**64, dtype=np.uint64)


def even_parts(number: int, parts: int) -> list[slice]:
    """``number`` games in so many parts of about the same size; parts without a game are left out."""
    ends = np.cumsum([len(part) for part in np.array_split(np.arange(number), parts)]).tolist()
    return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if begin < end]


def parts_of_size(number: int, size: int) -> list[slice]:
    """``number`` games in parts of ``size``; the last one may have less."""
    return [slice(begin, min(begin + size, number)) for begin in range(0, number, size)]


def concatenated(batches: Iterable[_Batch]) -> _Batch:
    """Batches of one type, at least one, as one."""
    listed = list(batches)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))
