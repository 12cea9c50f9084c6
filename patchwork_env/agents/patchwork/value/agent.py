"""Choosing among evaluated actions, and the agent that plays the one whose successor has the best value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, BatchAgent
from patchwork_env.agents.compiled.drawing import draw_by_softmax
from patchwork_env.agents.compiled.files import read_weights
from patchwork_env.agents.patchwork.value.expansion import LIKELY, Expansion, expand_likely, new_expansion
from patchwork_env.agents.patchwork.value.network import WEIGHTS, Weights
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork.state import States


class Payoffs(NamedTuple):
    """The weights of what a player wants: to win, and points.

    Attributes:
        outcome: The utility of a win, and of a loss with a minus.
        margin: The utility of a point of the player's own.
        denial: The utility of a point that the other player does not get, in units of ``margin``: 1 if only
            the difference of the scores counts, below 0 if points of the other player are welcome.
    """

    outcome: float
    margin: float
    denial: float = 1.0


TO_WIN = Payoffs(1.0, 1 / 300)
"""To win first of all, and to care for the margin where the outcome is safe or lost."""
TO_WIN_RICHLY = Payoffs(1.0, 1 / 70, -1.0)
"""To win games with many points, of both players: a win instead of a loss counts as much as 140 points."""
FOR_MARGIN = Payoffs(0.0, 1 / 40)
"""To maximize the difference of the scores alone."""
FOR_SCORE = Payoffs(0.0, 1 / 40, 0.1)
"""To maximize one's own points: each counts as much as ten points that the other player does not get."""


@kernel(inline=True)
def utility(payoffs: Payoffs, own: float, other: float, win: float) -> float:
    """The utility of expected scores, one's own and the other player's, and of a probability to win."""
    return payoffs.outcome * (2 * win - 1) + payoffs.margin * (own - payoffs.denial * other)


@kernel(inline=True)
def action_utility(payoffs: Payoffs, expansion: Expansion, k: int) -> float:
    """The utility of the ``k``-th action for the player who acts."""
    return utility(payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])


@kernel
def best_action(expansion: Expansion, count: int, payoffs: Payoffs) -> int:
    """The index of the action with the highest utility among the first ``count``; ties go to the first."""
    best, most = 0, -math.inf
    for k in range(count):
        value = action_utility(payoffs, expansion, k)
        if value > most:
            best, most = k, value
    return best


@kernel(allocates=True)
def draw_action(
    expansion: Expansion,
    count: int,
    payoffs: Payoffs,
    temperature: float,
    streams: npt.NDArray[np.uint64],
    i: int,
) -> int:
    """The index of an action drawn with probabilities in proportion to ``exp(utility / temperature)``."""
    utilities = np.empty(count)
    for k in range(count):
        utilities[k] = action_utility(payoffs, expansion, k)
    return int(draw_by_softmax(utilities, temperature, streams, i))


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
