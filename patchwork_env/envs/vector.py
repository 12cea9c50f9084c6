"""What the Gymnasium vector environments of both games have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import check_seed
from patchwork_env.envs.self_play import check_batch
from patchwork_env.errors import IllegalActionError

Flags = npt.NDArray[np.bool_]
Infos = dict[str, Any]


def check_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """The seed of every game: ``seed + i`` or ``seed[i]``, None where there is none.

    Raises:
        ValueError: A seed is not allowed, or their number is not that of the games.
    """
    if seed is None:
        return [None] * num_envs
    if not isinstance(seed, Sequence | np.ndarray):
        first = check_seed(seed)
        return [check_seed(first + i) for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"there are {len(seed)} seeds for {num_envs} games")
    return [None if value is None else check_seed(value) for value in seed]


def as_int64(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[np.int64]:
    """Actions of a batch, int64 ``(num_envs,)``.

    Raises:
        ValueError: They have another shape or type.
    """
    return check_batch(actions, num_envs).astype(np.int64)


def refuse(actions: npt.NDArray[np.int64], wrong: Flags) -> None:
    """Raises an IllegalActionError that names the first ``wrong`` action, if there is one."""
    if wrong.any():
        game = int(wrong.argmax())
        raise IllegalActionError(f"action {actions[game]} of game {game} is not legal; no game was changed")


def add_info(infos: Infos, key: str, values: Any, present: Flags) -> None:
    """Adds an entry as Gymnasium lays it out: the values, and which games have one; nothing if none has."""
    if present.any():
        infos[key], infos[f"_{key}"] = values, present.copy()
