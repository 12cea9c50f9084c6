"""How the games of an environment begin: circles and first players by chance, and who sits where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.core.random import random_below
from patchwork_env.patchwork.components import NUM_PATCHES, NUM_PLAYERS
from patchwork_env.patchwork.options import (
    check_circle,
    check_first_player,
    check_keys,
    check_one_of,
    check_player,
    check_variant,
    seed_streams,
)
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork.turns import Games, restart_listed

RESET_OPTIONS = ("circle", "first_player")


class SetUp(NamedTuple):
    """The ``options`` of a ``reset``: what is to be other than the environment would have it."""

    circle: list[int] | None = None
    first_player: int | None = None


AS_USUAL = SetUp()


def check_set_up(options: Mapping[str, Any] | None, ignored: tuple[str, ...] = ()) -> SetUp:
    """Reads the ``options`` of a ``reset``; a value of None is like no option.

    Args:
        options: ``circle``, all 33 patch indices clockwise from the neutral token with the 1x2 patch (0)
            last, and ``first_player``: 0, 1 or ``"random"``.
        ignored: Further keys that are allowed and have no effect.

    Raises:
        ValueError: An option is unknown or its value not allowed.
    """
    given = check_keys(options, RESET_OPTIONS, ignored)
    circle, first_player = given.get("circle"), given.get("first_player")
    return SetUp(
        None if circle is None else check_circle(circle),
        None if first_player is None else check_first_player(first_player),
    )


class Dealer:
    """Begins games, each from a random stream of its own.

    Args:
        num_games: Number of streams, which start with fresh random numbers.
        special_patches: Print of the time track, ``"revised"`` or ``"2014"``.
        first_player: 0, 1 or ``"random"``.

    Raises:
        ValueError: An option is not of these.
    """

    def __init__(self, num_games: int, special_patches: str, first_player: int | str) -> None:
        self._variant = check_variant(special_patches)
        self._first_player = check_first_player(first_player)
        self._streams = seed_streams(None, num_games)

    def reseed(self, game: int, seed: int) -> None:
        """Starts the stream of one game anew.

        The next circle is that of ``Game(seed)``, unless chance picks the first player.
        """
        self._streams[game : game + 1] = seed_streams(seed)

    def deal(self, states: States, games: Games, set_up: SetUp = AS_USUAL) -> None:
        """Begins the listed games of a batch of ``num_games`` anew."""
        first_player = self._first_player if set_up.first_player is None else set_up.first_player
        restart_listed(states, games, self._streams, self._variant, first_player)
        if set_up.circle is not None:
            states["circle"][games, :NUM_PATCHES] = set_up.circle


class Seats:
    """Which of the two players is the learner, game after game.

    Args:
        num_games: Number of games that are played side by side.
        rule: 0 or 1; ``"alternate"``: by turns, starting with 1 after an odd seed and with 0 after an even
            one; ``"random"``: by chance.

    Raises:
        ValueError: The rule is not of these.
    """

    def __init__(self, num_games: int, rule: int | str) -> None:
        is_text = isinstance(rule, str)
        self._rule = check_one_of(rule, ("alternate", "random"), "seat, if not 0 or 1,") if is_text else None
        self._fixed = 0 if is_text else check_player(rule, "seat")
        self._streams = seed_streams(None, num_games)
        self._next = (self._streams % np.uint64(NUM_PLAYERS)).astype(np.int64)

    def reseed(self, game: int, seed: int) -> None:
        """Starts the chance or the alternation of one game anew."""
        self._streams[game : game + 1] = ~seed_streams(seed)
        self._next[game] = seed % NUM_PLAYERS

    def assign(self, seats: Games, games: Games) -> None:
        """Writes the learner's player number of the next game at each of the listed indices of ``seats``."""
        if self._rule == "alternate":
            seats[games] = self._next[games]
            self._next[games] = 1 - self._next[games]
        elif self._rule == "random":
            seats[games] = [random_below(self._streams, game, NUM_PLAYERS) for game in games]
        else:
            seats[games] = self._fixed
