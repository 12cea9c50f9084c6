"""Exports that both games have, each for the memory of one game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from patchwork_env.core.kernels import ILLEGAL, Kernels
from patchwork_env.core.random import random_below, start_streams

Export = Callable[..., float]


def rules(memory: Any, game: Kernels) -> tuple[Export, ...]:
    """The exports that are the same for all games, and the agent ``random``."""

    def seed_stream(high: int, low: int) -> int:
        """Starts the random stream with a seed, given by its upper and lower 32 bits."""
        start_streams(memory().streams, (np.uint64(high) << np.uint64(32)) | np.uint64(low))
        return 0

    def legal_actions() -> int:
        """Lists the legal actions; returns their number."""
        here = memory()
        count = game.legal(here.states, 0, here.legal_set)
        return game.write_actions(here.legal_set, here.actions) if count > 0 else 0

    def play(action: int) -> int:
        """Plays an action if the game allows it; returns whether it does."""
        return int(game.play(memory().states, 0, action) != ILLEGAL)

    def is_over() -> int:
        """Whether the game has ended."""
        return int(game.is_over(memory().states, 0))

    def score(player: int) -> int:
        """The score of a player as if the game ended now."""
        return game.score(memory().states, 0, player)

    def choose_at_random() -> int:
        """The action of the agent ``random``."""
        here = memory()
        count = game.legal(here.states, 0, here.legal_set)
        return game.nth_legal(here.legal_set, random_below(here.streams, 0, count))

    return seed_stream, legal_actions, play, is_over, score, choose_at_random
