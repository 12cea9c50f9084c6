"""Checks of what users pass in: each names the offending value and what is allowed."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.patchwork import engine
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS, START_PATCH, VARIANTS
from patchwork_env.patchwork.state import NOBODY

_NUM_SEEDS = 2**64


def as_integer(value: Any, what: str) -> int:
    """``value`` as an int if it is a whole number of any integer type, bool excepted."""
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ValueError(f"{what} must be an integer, not {value!r} of type {type(value).__name__}")


def check_one_of(value: Any, allowed: Iterable[Any], what: str) -> Any:
    """``value`` if it is among ``allowed`` and of the same type."""
    allowed = tuple(allowed)
    if not any(value == option and isinstance(value, type(option)) for option in allowed):
        raise ValueError(f"{what} is {value!r}; allowed are {', '.join(map(repr, allowed))}")
    return value


def check_at_least_one(number: Any, what: str) -> int:
    """A number of things, at least 1."""
    value = as_integer(number, what)
    if value < 1:
        raise ValueError(f"{what} is {value}; it must be at least 1")
    return value


def check_player(player: Any, what: str = "player") -> int:
    """A player's number."""
    number = as_integer(player, what)
    if number not in range(NUM_PLAYERS):
        raise ValueError(f"{what} is {number}; allowed are 0 and 1")
    return number


def check_variant(special_patches: Any) -> int:
    """The index of a print of the time track."""
    return VARIANTS.index(check_one_of(special_patches, VARIANTS, "special_patches"))


def check_first_player(first_player: Any) -> int:
    """0, 1, or ``NOBODY`` for ``"random"``."""
    if isinstance(first_player, str):
        check_one_of(first_player, ("random",), "first_player, if not 0 or 1,")
        return NOBODY
    return check_player(first_player, "first_player")


def check_circle(circle: Iterable[Any]) -> list[int]:
    """A permutation of all patches that ends in the 1x2 patch."""
    if not isinstance(circle, Iterable):
        raise ValueError(f"circle is {circle!r}; it must list each of 0 to {NUM_PATCHES - 1} once")
    patches = [as_integer(patch, "a patch in the circle") for patch in circle]
    if len(patches) != NUM_PATCHES:
        raise ValueError(
            f"the circle has {len(patches)} patches; it must hold each of 0 to {NUM_PATCHES - 1} once"
        )
    unknown = sorted(set(patches) - set(range(NUM_PATCHES)))
    if unknown:
        raise ValueError(f"the circle holds {unknown}; patches are 0 to {NUM_PATCHES - 1}")
    missing = sorted(set(range(NUM_PATCHES)) - set(patches))
    if missing:
        raise ValueError(f"the circle repeats patches and lacks {missing}; it must hold each patch once")
    if patches[-1] != START_PATCH:
        raise ValueError(
            f"the circle ends in patch {patches[-1]}; it must end in patch {START_PATCH}, the 1x2 patch"
        )
    return patches


def check_seed(seed: Any) -> int:
    """A seed ``0 ... 2**64 - 1``; a fresh random one for None."""
    if seed is None:
        return secrets.randbits(64)
    number = as_integer(seed, "seed")
    if not 0 <= number < _NUM_SEEDS:
        raise ValueError(f"seed is {number}; allowed are 0 to 2**64 - 1")
    return number


def seed_streams(seed: Any, n: int = 1) -> npt.NDArray[np.uint64]:
    """``n`` random streams for the engine; stream ``i`` depends on ``seed`` and ``i`` alone."""
    streams = np.empty(n, np.uint64)
    engine.seed_streams(streams, np.uint64(check_seed(seed)))
    return streams
