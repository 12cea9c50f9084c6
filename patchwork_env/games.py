"""The games by name. Their rules are imported when they are asked for, so that playing one loads no other.

One call adds a further game: ``games.register("name", "package.module")`` names the module that defines its
:class:`~patchwork_env.core.rules.Rules` as ``RULES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from patchwork_env.core import rules
from patchwork_env.core.names import nearest, shorten
from patchwork_env.core.rules import Rules, States

__all__ = ["GAMES", "NMBR9", "PATCHWORK", "register", "rules_of"]

PATCHWORK, NMBR9 = "patchwork", "nmbr9"

_MODULES = {PATCHWORK: "patchwork_env.patchwork.rules", NMBR9: "patchwork_env.nmbr9.rules"}


class _Names(Sequence[str]):
    """The names of the games that are known now."""

    def __getitem__(self, i: Any) -> Any:
        return list(_MODULES)[i]

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __len__(self) -> int:
        return len(_MODULES)

    def __repr__(self) -> str:
        return repr(tuple(_MODULES))


GAMES: Sequence[str] = _Names()
"""The names of all games in specs, checkpoints, configurations and results; :func:`register` adds to them."""


def register(name: str, module: str) -> None:
    """Makes a game known by name.

    Args:
        name: The name of the game.
        module: The name of the module that defines the rules of the game as ``RULES``.

    Raises:
        ValueError: Another game already has this name.
    """
    if _MODULES.get(name, module) != module:
        raise ValueError(f"there is a game {name!r} already, of {_MODULES[name]}")
    _MODULES[name] = module


def rules_of(game: str | States) -> Rules:
    """The rules of a game, which is given by its name or by an array of its records.

    Raises:
        ValueError: There is no game of that name, or none with such records.
    """
    if isinstance(game, str):
        if game not in _MODULES:
            close = nearest(game, GAMES)
            hint = f" (did you mean {close!r}?)" if close else ""
            raise ValueError(f"there is no game {shorten(game)}{hint}; there are {', '.join(GAMES)}")
        return rules.load(_MODULES[game])
    if not isinstance(game, np.ndarray) or game.ndim != 1:
        raise ValueError(f"states are an array (n,) of records of a game, not {shorten(game)}")
    dtype = game.dtype
    for module in _MODULES.values():
        found = rules.load(module)
        if dtype is found.dtype or dtype == found.dtype:
            return found
    raise ValueError(f"the records of the states, {shorten(dtype)}, are those of no game")
