"""Checks of what users pass in: each names the offending value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from patchwork_env.core.checks import (
    as_integer,
    check_at_least_one,
    check_keys,
    check_one_of,
    check_seed,
    seed_streams,
)
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS, START_PATCH, VARIANTS
from patchwork_env.patchwork.state import NOBODY

__all__ = [
    "as_integer",
    "check_at_least_one",
    "check_circle",
    "check_first_player",
    "check_keys",
    "check_one_of",
    "check_player",
    "check_seed",
    "check_variant",
    "seed_streams",
]


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
