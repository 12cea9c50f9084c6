"""Exports of Patchwork: the rules, and agents that need no learned value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from patchwork_env.agents.patchwork import greedy
from patchwork_env.core.random import random_below, start_streams
from patchwork_env.patchwork import engine
from tools.site.modules.patchwork_room import room


def new_game(variant: int, first_player: int) -> int:
    """Sets up a game with the patches in the order of their indices."""
    engine.new(room().states, 0, variant, first_player)
    return 0


def seed_stream(high: int, low: int) -> int:
    """Starts the random stream with a seed, given by its upper and lower 32 bits."""
    start_streams(room().streams, (np.uint64(high) << np.uint64(32)) | np.uint64(low))
    return 0


def shuffle() -> int:
    """Shuffles the circle of a new game."""
    engine.shuffle(room().states, 0, room().streams)
    return 0


def legal_actions() -> int:
    """Lists the legal actions; returns their number."""
    here = room()
    count = engine.legal(here.states, 0, here.anchors)
    return engine.write_actions(here.anchors, here.actions) if count > 0 else 0


def play(action: int) -> int:
    """Plays an action if it is legal; returns whether it was."""
    return int(engine.play(room().states, 0, action))


def is_over() -> int:
    """Whether the game has ended."""
    return int(engine.is_over(room().states, 0))


def score(player: int) -> int:
    """The score of a player as if the game ended now."""
    return engine.score(room().states, 0, player)


def winner() -> int:
    """The winner of a game that is over."""
    return engine.winner(room().states, 0)


def choose_at_random() -> int:
    """The action of the agent ``random``."""
    here = room()
    count = engine.legal(here.states, 0, here.anchors)
    return engine.nth_legal(here.anchors, random_below(here.streams, 0, count))


def choose_greedily() -> int:
    """The action of the agent ``greedy``."""
    return greedy.choose_action(room().states, 0, room().anchors)


EXPORTS: tuple[Callable[..., float], ...] = (
    *(new_game, seed_stream, shuffle, legal_actions, play, is_over, score, winner),
    *(choose_at_random, choose_greedily),
)
