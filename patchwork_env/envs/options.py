"""Checks of what users pass to environments: each names the offending value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import OUTCOME, REWARDS, SCORE
from patchwork_env.core.checks import check_one_of
from patchwork_env.core.names import hint, shorten
from patchwork_env.errors import UnknownOptionError

ILLEGAL_ACTION = ("terminate", "raise")
"""What an action does that is not legal: it ends the episode, or raises an error and changes nothing."""
ILLEGAL_REWARD = -1.0
LAYOUTS = ("flat", "dict")
"""How an observation may be laid out: one vector, or named tensors of the same content."""


def complete(
    given: Mapping[str, Any], defaults: Mapping[str, Any], further: Iterable[str], owner: str
) -> dict[str, Any]:
    """The options of a game, those that were not given at their defaults.

    Args:
        given: Options by name.
        defaults: All options of the game.
        further: Names of options of the environment, which a misspelt one may have meant.
        owner: Name of the environment.

    Raises:
        UnknownOptionError: An option is not known; names the nearest.
    """
    for name in given:
        if name not in defaults:
            names = (*further, *defaults)
            raise UnknownOptionError(f"{owner} has no option {shorten(name)}; {hint(name, names)}")
    return {**defaults, **given}


def check_rewards(rewards: Any, players: int) -> int:
    """The kind of rewards; for None the score alone, and the outcome for several players.

    Raises:
        ValueError: There is no such kind, or it is one for several players.
    """
    if rewards is None:
        return OUTCOME if players > 1 else SCORE
    kind = REWARDS.index(check_one_of(rewards, REWARDS, "rewards"))
    if kind != SCORE and players == 1:
        raise ValueError(f"rewards is {rewards!r}, which needs 2 players at least; alone there is 'score'")
    return kind


def check_layout(observation: Any) -> bool:
    """Whether observations are laid out as named tensors.

    Raises:
        ValueError: It is none of :data:`LAYOUTS`.
    """
    return bool(check_one_of(observation, LAYOUTS, "observation") == "dict")


def check_batch(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[np.int64]:
    """Actions of a batch, int64 ``(num_envs,)``.

    Raises:
        ValueError: They have another shape or type.
    """
    array = np.asarray(actions)
    if array.shape != (num_envs,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"actions have shape {array.shape} and type {array.dtype}; they must be {num_envs} integers"
        )
    return array.astype(np.int64)
