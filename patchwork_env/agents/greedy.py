"""The agent that takes what looks best now, without looking ahead.

:mod:`patchwork_env.patchwork.greedy` and :mod:`patchwork_env.nmbr9.greedy` say what that is in each game.
"""

from __future__ import annotations

import numpy as np

from patchwork_env._games import States, room
from patchwork_env.agents.base import Actions, BatchAgent


class GreedyAgent(BatchAgent):
    """Plays what looks best now, in either game; draws nothing at random."""

    name = "greedy"

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        game = self.check_states(states)
        actions = np.empty(len(states), np.int64)
        room(game, "greedy").choose_actions(states, actions)
        return actions
