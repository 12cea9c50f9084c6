"""Starts games and assigns the learner's player number in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from patchwork_env.core.batches import Games, deal_listed, loop
from patchwork_env.core.checks import check_between, check_keys, check_one_of, seed_streams
from patchwork_env.core.kernels import States
from patchwork_env.core.random import random_below
from patchwork_env.core.rules import Rules, SetUp


class Dealer:
    """Starts games, each with a random stream of its own, and assigns the learner's player numbers.

    ``seat`` is the learner's player number. With ``"alternate"`` each new game has the next number, starting
    with ``seed % players`` after :meth:`reseed`; with ``"random"`` a random one.

    Attributes:
        players: The number of players.
        streams: uint64 ``(num_games,)``, for dealing.
        fixed_seats: int64 ``(num_games,)``, the learner's player number where it is fixed, else 0.
    """

    def __init__(self, rules: Rules, num_games: int, options: Mapping[str, Any], seat: int | str = 0) -> None:
        self._rules = rules
        self._options = options
        self._usual = rules.set_up(options, {})
        self.players = self._usual.players
        is_text = isinstance(seat, str)
        self._rule = check_one_of(seat, ("alternate", "random"), "seat") if is_text else None
        fixed = 0 if is_text else check_between(seat, 0, self.players - 1, "seat")
        self.fixed_seats = np.full(num_games, fixed, np.int64)
        self.streams = seed_streams(None, num_games)
        self._seat_streams = seed_streams(None, num_games)
        self._next = (self._seat_streams % np.uint64(self.players)).astype(np.int64)

    def set_up(self, options: Mapping[str, Any] | None, ignored: tuple[str, ...] = ()) -> SetUp:
        """Return the set-up of games with the ``options`` of a ``reset``, except the ``ignored`` ones."""
        checked = check_keys(options, self._rules.reset_options, ignored)
        given = {key: checked[key] for key in self._rules.reset_options if checked.get(key) is not None}
        return self._rules.set_up(self._options, given) if given else self._usual

    def reseed(self, game: int, seed: int) -> None:
        """Restart the random numbers of one game; its next game is that of ``Game(seed)``."""
        self.streams[game : game + 1] = seed_streams(seed)
        self._seat_streams[game : game + 1] = ~seed_streams(seed)
        self._next[game] = seed % self.players

    def deal(self, states: States, games: Games, set_up: SetUp | None = None) -> None:
        """Start new games at the listed indices of a batch."""
        initial_state, flags, _ = set_up or self._usual
        loop(deal_listed, self._rules)(states, games, self.streams, initial_state, flags)

    def assign_seats(self, seats: Games, games: Games) -> None:
        """Write the learner's player number in the listed games to ``seats``, unless it is fixed."""
        if self._rule == "alternate":
            seats[games] = self._next[games]
            self._next[games] = (self._next[games] + 1) % self.players
        elif self._rule == "random":
            seats[games] = [random_below(self._seat_streams, game, self.players) for game in games]
