"""Greedy play of Row, and its levels for people."""

from patchwork_env.agents.base import Actions
from patchwork_env.agents.partner import CHAMPION, Player
from patchwork_env.core.batches import loop, sample_actions
from patchwork_env.core.kernels import States
from patchwork_env.core.random import Streams, random_below
from tests.toy import RULES


def choose_actions(states: States, actions: Actions) -> None:
    """Write the last legal action of each state, which covers two cells if possible."""
    for i in range(len(states)):
        actions[i] = RULES.game.unchecked(states, i).legal_actions()[-1]


def new_player(level: int) -> Player:
    """Return a player that is greedy in ``level`` of five moves, and random in the others."""

    def play(states: States, streams: Streams, actions: Actions) -> None:
        loop(sample_actions, RULES)(states, streams, actions)
        if random_below(streams, 0, CHAMPION) < level:
            choose_actions(states, actions)

    return play
