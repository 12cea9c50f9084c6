"""Exports of Patchwork: the rules, and agents that need no learned value."""

from __future__ import annotations

from patchwork_env.agents.patchwork import greedy
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.rules import RULES
from tools.site.modules.exports import Export, rules
from tools.site.modules.patchwork_memory import memory


def new_game(variant: int, first_player: int) -> int:
    """Sets up a game with the patches in the order of their indices."""
    engine.new(memory().states, 0, variant, first_player)
    return 0


def shuffle() -> int:
    """Shuffles the circle of a new game."""
    engine.shuffle(memory().states, 0, memory().streams)
    return 0


def winner() -> int:
    """The winner of a game that is over."""
    return engine.winner(memory().states, 0)


def choose_greedily() -> int:
    """The action of the agent ``greedy``."""
    return greedy.choose_action(memory().states, 0, memory().greedy)


EXPORTS: tuple[Export, ...] = (*rules(memory, RULES.kernels), new_game, shuffle, winner, choose_greedily)
