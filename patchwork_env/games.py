"""The games by name. Their rules are imported when they are asked for, so that playing one loads no other.

A further game is one call: ``games.register("name", "package.module")`` of the module whose ``RULES`` are its
:class:`~patchwork_env.core.rules.Rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchwork_env.core import rules
from patchwork_env.core.names import nearest
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


GAMES: Sequence[str] = _Names()
"""What specs, checkpoints, configurations and results call the games; grows with :func:`register`."""


def register(name: str, module: str) -> None:
    """Makes a game known by name.

    Raises:
        ValueError: Another game has the name.
    """
    if _MODULES.get(name, module) != module:
        raise ValueError(f"there is a game {name!r} already, of {_MODULES[name]}")
    _MODULES[name] = module


def rules_of(game: str | States) -> Rules:
    """The rules of a game, given by its name or by records of it.

    Raises:
        ValueError: There is no such game, or the records are of none.
    """
    if isinstance(game, str):
        if game not in _MODULES:
            close = nearest(game, GAMES)
            hint = f" (did you mean {close!r}?)" if close else ""
            raise ValueError(f"there is no game {game!r}{hint}; there are {', '.join(GAMES)}")
        return rules.load(_MODULES[game])
    dtype = game.dtype
    for module in _MODULES.values():
        found = rules.load(module)
        if dtype is found.dtype or dtype == found.dtype:
            return found
    raise ValueError(f"the records of the states, {game.dtype}, are those of no game")
