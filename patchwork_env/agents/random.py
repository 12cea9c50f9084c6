"""The agent that plays at random: the floor of every comparison."""

from __future__ import annotations

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.core.batches import loop, sample_actions
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.rules import States
from patchwork_env.games import rules_of


class RandomAgent(BatchAgent):
    """Plays each legal action of any game with the same probability.

    Args:
        seed: The seed of its random numbers, ``0 ... 2**64 - 1``; None for fresh ones.
    """

    name = "random"

    def __init__(self, seed: int | None = None) -> None:
        self.reseed(seed)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        game = self.check_states(states)
        actions = np.empty(len(states), np.int64)
        loop(sample_actions, rules_of(game))(states, self._stream, actions)
        return actions

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers anew."""
        self._stream = seed_streams(seed)
