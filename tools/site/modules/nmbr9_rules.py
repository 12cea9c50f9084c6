"""Exports of NMBR 9: the rules, and agents that need no learned value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.core.random import random_below, start_streams
from patchwork_env.nmbr9 import engine
from tools.site.modules.nmbr9_room import room


def new_game(players: int, order: int, max_digit: int, copies: int, rounds: int) -> int:
    """Sets up a game with an ascending deck."""
    engine.new(room().states, 0, players, order, max_digit, copies, rounds)
    return 0


def seed_stream(high: int, low: int) -> int:
    """Starts the random stream with a seed, given by its upper and lower 32 bits."""
    start_streams(room().streams, (np.uint64(high) << np.uint64(32)) | np.uint64(low))
    return 0


def shuffle() -> int:
    """Shuffles the deck of a new game."""
    engine.shuffle(room().states, 0, room().streams, 0)
    return 0


def legal_actions() -> int:
    """Lists the legal actions; returns their number."""
    here = room()
    count = engine.legal(here.states, 0, here.maps)
    return engine.write_actions(here.maps, here.actions) if count > 0 else 0


def is_legal(action: int) -> int:
    """Whether an action, any number, is legal."""
    return int(engine.is_legal(room().states, 0, action))


def play(action: int) -> int:
    """Plays an action if it is legal and does not meet the edge of the table; returns whether it did."""
    return int(engine.play(room().states, 0, action))


def is_over() -> int:
    """Whether the game has ended."""
    return int(engine.is_over(room().states, 0))


def score(player: int) -> int:
    """The score of a player as if the game ended now."""
    return engine.score(room().states, 0, player)


def digit_to_place() -> int:
    """The digit of the tile to be placed in a game that is not over; 10 if one is to be chosen."""
    return engine.digit_to_place(room().states, 0)


def num_placed(player: int) -> int:
    """The number of tiles on a player's table."""
    return engine.num_placed(room().states, 0, player)


def count_supply(player: int) -> int:
    """Counts the tiles of each digit that a player in free order may still choose."""
    engine.supply(room().states, 0, player, room().supply)
    return 0


# --- agents -----------------------------------------------------------------------------------------------


def choose_at_random() -> int:
    """The action of the agent ``random``."""
    here = room()
    count = engine.legal(here.states, 0, here.maps)
    return engine.nth_legal(here.maps, random_below(here.streams, 0, count))


def choose_greedily() -> int:
    """The action of the agent ``greedy``."""
    return greedy.choose_action(room().states, 0)


EXPORTS: tuple[Callable[..., float], ...] = (
    *(new_game, seed_stream, shuffle, legal_actions, is_legal, play, is_over, score),
    *(digit_to_place, num_placed, count_supply, choose_at_random, choose_greedily),
)
