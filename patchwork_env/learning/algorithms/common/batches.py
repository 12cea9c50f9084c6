"""Games that are divided into parts, and the batches that come back, which are named tuples of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

_Batch = TypeVar("_Batch", bound=tuple[Any, ...])


def draw_seed(random: np.random.Generator) -> np.uint64:
    """A random seed for the games of an iteration."""
    return random.integers(2**64, dtype=np.uint64)


def even_parts(number: int, parts: int) -> list[slice]:
    """``number`` games in ``parts`` parts of about the same size; parts without a game are left out."""
    ends = np.cumsum([len(part) for part in np.array_split(np.arange(number), parts)]).tolist()
    return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if begin < end]


def parts_of_size(number: int, size: int) -> list[slice]:
    """``number`` games in parts of ``size`` games; the last part may have fewer."""
    return [slice(begin, min(begin + size, number)) for begin in range(0, number, size)]


def concatenated(batches: Iterable[_Batch]) -> _Batch:
    """Batches of one type, at least one of them, put together."""
    listed = list(batches)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))
