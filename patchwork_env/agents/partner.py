"""Levels for people: agents that play as people of different strength do, from a beginner to the champion.

The package ``partner`` in the folder of each game's agents defines what the levels see, miss and get wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.core.checks import check_between, seed_streams
from patchwork_env.core.kernels import States
from patchwork_env.core.random import Streams
from patchwork_env.games import NMBR9, PATCHWORK

BEGINNER, CHAMPION = 1, 5
"""The lowest and the highest level."""
DEFAULT_LEVEL = 3


class Player(Protocol):
    """One level of one game, with memory of its own."""

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """Writes the actions of games, none of which is over; random numbers come from ``streams[0]``."""


class KernelPlayer:
    """A player whose choices a kernel makes.

    Args:
        choose: The kernel; it takes the states, ``arguments``, the streams and the actions that it writes.
        arguments: What the player knows, and room for what it thinks.
    """

    def __init__(self, choose: Callable[..., None], *arguments: Any) -> None:
        self._choose, self._arguments = choose, arguments

    def choose(self, states: States, streams: Streams, actions: Actions) -> None:
        """See :meth:`Player.choose`."""
        self._choose(states, *self._arguments, streams, actions)


class PartnerAgent(BatchAgent):
    """Plays like people of a level: weaker by mistakes that they make, not by random moves.

    Args:
        seed: The seed of its random numbers, ``0 ... 2**64 - 1``; None for fresh ones.
        level: The level, from 1, a beginner's, to 5, the champion's; None for :data:`DEFAULT_LEVEL`.

    Raises:
        ValueError: There is no such level, or the seed is not allowed.
    """

    games = (PATCHWORK, NMBR9)

    _streams: Streams

    def __init__(self, seed: int | None = None, level: int | None = None) -> None:
        if level is not None:
            check_between(level, BEGINNER, CHAMPION, "level")
        self.name = "partner" if level is None else f"partner:level={level}"
        self.level = DEFAULT_LEVEL if level is None else level
        self.reseed(seed)

    def _new_workspace(self) -> dict[str, Player]:
        """The players of the games that were met so far."""
        return {}

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        game, players = self.check_states(states), self.workspace()
        if game not in players:
            module = import_module(f"patchwork_env.agents.{game}.partner.player")
            players[game] = module.new_player(self.level)
        streams, actions = self._streams.copy(), np.empty(len(states), np.int64)
        players[game].choose(np.ascontiguousarray(states), streams, actions)
        self._streams = streams  # not before there are answers to all, whatever interrupts the call
        return actions

    def reseed(self, seed: int | None = None) -> None:
        """See :meth:`Agent.reseed`."""
        self._streams = seed_streams(seed)
