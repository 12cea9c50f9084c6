"""The agent that takes what looks best now, without looking ahead.

The module ``greedy`` in the folder of each game's agents defines what looks best there.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.core.rules import States
from patchwork_env.games import NMBR9, PATCHWORK


class GreedyAgent(BatchAgent):
    """Plays what looks best now, in the games that define it; draws nothing at random."""

    name = "greedy"
    games = (PATCHWORK, NMBR9)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        game = self.check_states(states)
        actions = np.empty(len(states), np.int64)
        import_module(f"patchwork_env.agents.{game}.greedy").choose_actions(states, actions)
        return actions
