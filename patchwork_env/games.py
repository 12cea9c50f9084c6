"""The games by name. The rules of a game are imported on its first use.

Another game is a module with a class ``Game``, which has its :class:`~patchwork_env.core.rules.Rules` as
``rules``. A package registers the module by an entry point of the group ``patchwork_env.games``, or for one
process by ``games.register("name", "package.module")``. A second module may have the
:class:`~patchwork_env.core.parts.GameParts` as ``PARTS``; its entry point is in the group
``patchwork_env.parts``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from patchwork_env.core.names import nearest, short_repr
from patchwork_env.core.parts import GameParts

if TYPE_CHECKING:
    from patchwork_env.core.kernels import States
    from patchwork_env.core.rules import Rules

__all__ = ["GAMES", "NMBR9", "PATCHWORK", "register", "rules_of"]

PATCHWORK, NMBR9 = "patchwork", "nmbr9"

ENTRY_POINT_GROUP, PARTS_GROUP = "patchwork_env.games", "patchwork_env.parts"
_MODULES = {PATCHWORK: "patchwork_env.patchwork", NMBR9: "patchwork_env.nmbr9"}
_PARTS = {PATCHWORK: "patchwork_env.agents.patchwork.parts", NMBR9: "patchwork_env.agents.nmbr9.parts"}


@cache
def _modules() -> dict[str, str]:
    """Return the modules of the rules of games by name, also those of installed packages."""
    return _with_installed(_MODULES, ENTRY_POINT_GROUP)


@cache
def _parts() -> dict[str, str]:
    """Return the modules of the parts of games by name, also those of installed packages."""
    return _with_installed(_PARTS, PARTS_GROUP)


def _with_installed(known: dict[str, str], group: str) -> dict[str, str]:
    from importlib.metadata import entry_points  # slow to import

    for point in entry_points(group=group):
        known.setdefault(point.name, point.module)
    return known


class _Names(Sequence[str]):
    def __init__(self, part: str | None = None) -> None:
        self._part = part

    def _listed(self) -> list[str]:
        return [name for name in _modules() if name in self]

    def __getitem__(self, i: Any) -> Any:
        return self._listed()[i]

    def __contains__(self, name: object) -> bool:
        if self._part is None or name not in _modules():
            return name in _modules()
        try:
            return getattr(parts_of(str(name)), self._part) is not None
        except ValueError:  # the parts cannot be loaded
            return False

    def __len__(self) -> int:
        return len(self._listed())

    def __repr__(self) -> str:
        return repr(tuple(self))


GAMES: Sequence[str] = _Names()
"""The names of all games in specs, checkpoints, configurations and results."""


def register(name: str, module: str, parts: str | None = None) -> None:
    """Register the ``Game`` of a module by name in this process, and the ``PARTS`` of another module.

    Raises:
        ValueError: Another game has this name.
    """
    known = _modules().setdefault(name, module)
    if known != module or (parts is not None and _parts().setdefault(name, parts) != parts):
        raise ValueError(f"there is a game {name!r} already, of {known}")


def rules_of(game: str | States) -> Rules:
    """Return the rules of a game from its name or from an array of its records, else ValueError."""
    if isinstance(game, str):
        return _load(_known(game))
    if not isinstance(game, np.ndarray) or game.ndim != 1:
        raise ValueError(f"states must be an array (n,) of records of a game, not {short_repr(game)}")
    return _of_records(game.dtype)


def _known(game: str) -> str:
    if game in GAMES:
        return game
    close = nearest(game, GAMES)
    suggestion = f" (did you mean {close!r}?)" if close else ""
    raise ValueError(f"there is no game {short_repr(game)}{suggestion}; there are {', '.join(GAMES)}")


def games_with(part: str) -> Sequence[str]:
    """Return the names of the games that have a part; the sequence follows later registrations."""
    return _Names(part)


def parts_of(game: str) -> GameParts:
    """Return the parts of a game, without loading its rules; ValueError if there is no such game."""
    module = _parts().get(_known(game))
    try:
        parts: GameParts = GameParts() if module is None else import_module(module).PARTS
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the parts of game {game!r} cannot be loaded: {error}") from error
    return parts


def part_of(game: str, part: str) -> Any:
    """Return a part of a game, an attribute of ``GameParts``; ValueError if the game has none."""
    reference = getattr(parts_of(game), part)
    if reference is None:
        others = ", ".join(games_with(part)) or "no game"
        raise ValueError(f"the game {game!r} has no part {part!r}; those with one: {others}")
    return reference if part == "champion" else resolve_name(reference)


@cache
def _of_records(dtype: np.dtype[Any]) -> Rules:
    for name in sorted(GAMES, key=lambda name: _modules()[name] not in sys.modules):  # loaded ones first
        with suppress(ValueError):  # a game that cannot be loaded has no records
            if dtype == _load(name).dtype:
                return _load(name)
    raise ValueError(f"the records of the states, {short_repr(dtype)}, are not those of a game")


@cache
def _load(name: str) -> Rules:
    from patchwork_env.core.rules import load  # imports Numba, which names do not need

    module = _modules()[name]
    try:
        rules = load(module)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"game {name!r} cannot be loaded: {error}") from error
    if rules.name != name:
        raise ValueError(f"{module} has the rules of {rules.name!r}, not of {name!r}")
    return rules
