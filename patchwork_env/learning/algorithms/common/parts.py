"""Self-play in parts, one for each thread: what is dealt to them, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from patchwork_env.core.checks import seed_streams
from patchwork_env.core.random import Streams

_Positions = TypeVar("_Positions", bound=tuple[Any, ...])


def sizes_of_parts(games: int, threads: int) -> list[int]:
    """How many of the games each part has; a part has one at least."""
    return [len(part) for part in np.array_split(np.arange(games), threads) if len(part)]


def draw_seed(random: np.random.Generator) -> np.uint64:
    """The seed of an iteration's games."""
    return random.integers(2**64, dtype=np.uint64)


def deal_streams(parts: Sequence[Streams], random: np.random.Generator) -> None:
    """Starts the streams of all parts; what a game gets does not depend on how the games are split."""
    numbers = [len(part) for part in parts]
    streams = seed_streams(draw_seed(random), sum(numbers))
    for part, dealt in zip(parts, np.split(streams, np.cumsum(numbers[:-1])), strict=True):
        part[:] = dealt


def joined(parts: Iterable[_Positions]) -> _Positions:
    """Positions of several origins, named tuples of arrays of one type, as one."""
    listed = list(parts)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))
