"""Choosing among evaluated actions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.drawing import draw_by_softmax
from patchwork_env.agents.patchwork.value.expansion import Expansion
from patchwork_env.core.compile import kernel


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
