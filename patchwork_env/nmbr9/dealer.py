"""How the games of an environment begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from patchwork_env.core.checks import check_keys, seed_streams
from patchwork_env.nmbr9.options import Variant, beginning
from patchwork_env.nmbr9.state import States
from patchwork_env.nmbr9.turns import Games, restart_listed

RESET_OPTIONS = ("deck",)


class Dealer:
    """Begins games, each with a deck from a random stream of its own.

    Args:
        num_games: Number of streams, which start with fresh random numbers.
        variant: What is played.
        players: Of every game, 1-4.

    Raises:
        ValueError: An option is not allowed.
    """

    def __init__(self, num_games: int, variant: Variant, players: int = 1) -> None:
        self._variant = variant
        self._beginning = beginning(variant, players)
        self._streams = seed_streams(None, num_games)

    def reseed(self, game: int, seed: int) -> None:
        """Starts the stream of one game anew; the next deck is that of ``Game(seed)``."""
        self._streams[game : game + 1] = seed_streams(seed)

    def check_set_up(self, options: Mapping[str, Any] | None, ignored: tuple[str, ...] = ()) -> States | None:
        """Reads the ``options`` of a ``reset``: ``deck``, the digits in the order in which they come.

        Args:
            options: None or empty for random decks; a value of None is like no option.
            ignored: Further keys that are allowed and have no effect.

        Returns:
            The state in which a game with that deck begins; None for random decks.

        Raises:
            ValueError: An option is unknown or its value not allowed.
        """
        deck = check_keys(options, RESET_OPTIONS, ignored).get("deck")
        if deck is None:
            return None
        players = int(self._beginning[0]["num_players"])
        return beginning(Variant(self._variant.order, deck_size=self._variant.deck_size), players, deck)

    def deal(self, states: States, games: Games, set_up: States | None = None) -> None:
        """Begins the listed games of a batch anew, with random decks or as ``set_up`` says."""
        start = self._beginning if set_up is None else set_up
        restart_listed(states, np.asarray(games, np.int64), self._streams, start, set_up is None)
