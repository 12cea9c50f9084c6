"""An agent of NMBR 9 that plays the placement whose table has the best value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.compiled.files import read_weights
from patchwork_env.agents.nmbr9.value.expansion import LIKELY, Expansion, best_action, expand, new_expansion
from patchwork_env.agents.nmbr9.value.network import WEIGHTS, Weights
from patchwork_env.core.compile import kernel
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9.state import FREE, States


class ValueAgent(BatchAgent):
    """Plays the placement with the highest value, without looking further ahead.

    It uses the tile in hand and how many of each digit are left, but not their order, even if it is known.
    Other players' tables do not matter: it maximizes its own points. The weights are not copied: later
    changes change how the agent plays.
    """

    games = (NMBR9,)

    def __init__(self, weights: Weights, name: str = "nmbr9 value") -> None:
        self.name = name
        self._weights = weights

    def _new_workspace(self) -> Expansion:
        return new_expansion()

    def act_batch(self, states: States) -> Actions:
        """See :meth:`Agent.act_batch`.

        Raises:
            ValueError: A game is over or not one of NMBR 9, or players choose their tiles.
        """
        self.check_states(states)
        check_tiles(states, self.name)
        actions = np.empty(len(states), np.int64)
        _choose(states, self._weights, self.workspace(), actions)
        return actions


def read_value(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Reads a value and what was remembered of its making.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, of another game, version or kind of policy, of other shapes, or not finite.
    """
    return read_weights(folder, NMBR9, WEIGHTS)


def load(path: str | Path) -> ValueAgent:
    """The agent that plays by the value of a checkpoint folder. For errors see :func:`read_value`."""
    weights, _ = read_value(Path(path))
    return ValueAgent(weights, Path(path).name)


def check_tiles(states: States, name: str) -> None:
    """Raises ValueError if players choose their tiles in one of the games."""
    if (states["order"] == FREE).any():
        raise ValueError(f"agent {name!r} places tiles as they come; it does not choose digits")


@kernel
def _choose(states: States, weights: Weights, expansion: Expansion, actions: Actions) -> None:
    for i in range(len(states)):
        count = expand(states, i, LIKELY, weights, expansion)
        actions[i] = expansion.actions[best_action(expansion, count)]
