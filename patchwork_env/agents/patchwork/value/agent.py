"""An agent that plays the action whose successor has the best value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.compiled.files import read_weights
from patchwork_env.agents.patchwork.value.choice import TO_WIN, Payoffs, best_action
from patchwork_env.agents.patchwork.value.expansion import LIKELY, Expansion, expand_likely, new_expansion
from patchwork_env.agents.patchwork.value.network import WEIGHTS, Weights
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.state import States


class ValueAgent(BatchAgent):
    """Plays the action with the highest utility, without looking further ahead.

    The weights are not copied: later changes change how the agent plays.
    """

    games = (PATCHWORK,)

    def __init__(self, weights: Weights, payoffs: Payoffs, name: str = "value") -> None:
        self.name = name
        self._weights, self._payoffs = weights, payoffs

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`."""
        self.check_states(states)
        actions = np.empty(len(states), np.int64)
        _choose(states, self._weights, self._payoffs, self.workspace(), actions)
        return actions


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, of other shapes, or not finite.
    """
    return read_weights(folder, PATCHWORK, WEIGHTS)


def load(path: str | Path) -> ValueAgent:
    """The agent that plays to win by the value of a checkpoint folder. For errors see :func:`read_value`."""
    weights, _ = read_value(Path(path))
    return ValueAgent(weights, TO_WIN, Path(path).name)


@kernel
def _choose(
    states: States, weights: Weights, payoffs: Payoffs, expansion: Expansion, actions: Actions
) -> None:
    for i in range(len(states)):
        count = expand_likely(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count, payoffs)]
