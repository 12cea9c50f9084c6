"""What an attack knows of a kind of object, and what the objects of all kinds need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from patchwork_env import agents, nmbr9_v0, patchwork_v0
from patchwork_env.core.game import BaseGame
from tests.attack.interrupts.stepper import Call
from tests.attack.sound import pick

MOVES = 12
"""Moves to play on and compare after an interrupt."""


class Kind(NamedTuple):
    """A kind of object to attack.

    Attributes:
        make: ``(random)`` makes one, in any situation.
        calls: ``(object, random)`` gives the calls to choose from.
        look: ``(object)`` says all that can be seen of it.
        go_on: ``(object)`` plays on in a way that depends on the object alone; yields what comes of it.
    """

    make: Callable[[Generator], Any]
    calls: Callable[[Any, Generator], list[Call]]
    look: Callable[[Any], Any]
    go_on: Callable[[Any], Iterator[Any]]


def plain(value: Any) -> Any:
    """Arrays, records and containers of them as values that can be compared."""
    if isinstance(value, np.ndarray):
        entries = plain(value.tolist()) if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, entries
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, BaseGame):
        return value.to_bytes(), value.history, value.notation(), value.current_player
    return value


def number(random: Generator) -> int:
    """A random seed."""
    return int(random.integers(2**62))


def chosen(mask: Any, turn: int) -> int:
    """A legal action that depends on the mask and on a number."""
    legal = np.flatnonzero(mask)
    return int(legal[turn * 7919 % len(legal)]) if len(legal) else 0


VARIANTS = [
    (patchwork_v0, {}),
    (patchwork_v0, {"rewards": "score"}),
    (nmbr9_v0, {"players": 1, "deck_size": 5}),
    (nmbr9_v0, {"players": 2, "order": "free", "deck_size": 4, "rewards": "margin"}),
    (nmbr9_v0, {"players": 3, "deck_size": 4, "rewards": "score"}),
]


def variant(random: Generator) -> tuple[Any, dict[str, Any]]:
    """The module of a game, and options of its environments."""
    return pick(random, VARIANTS)


class Last(agents.Agent):
    """Takes the last legal action: what an opponent draws is no part of an environment."""

    name = "last"

    def act(self, game: Any) -> int:
        return int(game.legal_actions()[-1])
