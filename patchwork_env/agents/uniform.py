"""The agent that plays at random: the floor of every comparison."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.base import Actions, BatchAgent, check_running
from patchwork_env.patchwork.engine import NUM_MAPS, legal, nth_legal, random_below
from patchwork_env.patchwork.options import seed_streams
from patchwork_env.patchwork.state import States


class RandomAgent(BatchAgent):
    """Plays each legal action with the same probability.

    Args:
        seed: Of its random numbers, ``0 ... 2**64 - 1``; None for fresh ones.
    """

    name = "random"

    def __init__(self, seed: int | None = None) -> None:
        self.reseed(seed)

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        check_running(states)
        actions = np.empty(len(states), np.int64)
        sample_actions(states, self._stream, actions)
        return actions

    def reseed(self, seed: int | None = None) -> None:
        """Starts the random numbers anew."""
        self._stream = seed_streams(seed)


@kernel
def sample_actions(states: States, stream: npt.NDArray[np.uint64], actions: Actions) -> None:
    """Writes a uniformly random legal action of every game.

    Args:
        states: ``(n,)`` games, none of them over.
        stream: ``(1,)``, the random numbers, drawn for one game after the other.
        actions: ``(n,)``, receives the actions.
    """
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    for i in range(len(states)):
        actions[i] = nth_legal(anchors, random_below(stream, 0, legal(states, i, anchors)))
