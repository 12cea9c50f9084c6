"""Games that are divided into parts, and the batches that come back, which are named tuples of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr

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


def check_like(value: Any, like: Any, game: type[BaseGame], name: str = "the result") -> None:
    """Checks a value from outside: tuples and dictionaries of arrays, with the state records of a game.

    Args:
        value: The value.
        like: A value of the types that it must have; the lengths of arrays may differ.
        game: The game; its records are checked quickly.
        name: The name of the value in messages.

    Raises:
        ValueError: The value has other types, or holds records that no game can have.
    """
    if hasattr(like, "_asdict") and type(value) is type(like):
        value, like = value._asdict(), like._asdict()
    if type(value) is not type(like) or _kind_of(value) != _kind_of(like):
        raise ValueError(f"{name} is {short_repr(value)}; it must be like {short_repr(like)}")
    if isinstance(like, dict):
        for key, entry in like.items():
            check_like(value[key], entry, game, key)
    elif isinstance(like, np.ndarray) and like.dtype.names:
        game.rules.storage.check_many(value)


def _kind_of(value: Any) -> Any:
    """What must be the same in two values besides their types."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.shape[1:]
    return list(value) if isinstance(value, dict) else None
