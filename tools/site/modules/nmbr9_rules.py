"""Exports of NMBR 9: the rules, and agents that need no learned value."""

from __future__ import annotations

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.nmbr9 import decks, engine
from patchwork_env.nmbr9.rules import RULES
from tools.site.modules.exports import Export, rules
from tools.site.modules.nmbr9_memory import memory


def new_game(players: int, order: int, max_digit: int, copies: int, rounds: int) -> int:
    """Sets up a game with an ascending deck."""
    decks.new(memory().states, 0, players, order, max_digit, copies, rounds)
    return 0


def shuffle() -> int:
    """Shuffles the deck of a new game."""
    decks.shuffle(memory().states, 0, memory().streams, 0)
    return 0


def digit_to_place() -> int:
    """The digit of the tile to be placed in a game that is not over; 10 if one is to be chosen."""
    return engine.digit_to_place(memory().states, 0)


def num_placed(player: int) -> int:
    """The number of tiles on a player's table."""
    return engine.num_placed(memory().states, 0, player)


def count_supply(player: int) -> int:
    """Counts the tiles of each digit that a player in free order may still choose."""
    engine.supply(memory().states, 0, player, memory().supply)
    return 0


# --- agents -----------------------------------------------------------------------------------------------


def choose_greedily() -> int:
    """The action of the agent ``greedy``."""
    return greedy.choose_action(memory().states, 0)


EXPORTS: tuple[Export, ...] = (
    *rules(memory, RULES.kernels),
    *(new_game, shuffle, digit_to_place, num_placed, count_supply, choose_greedily),
)
