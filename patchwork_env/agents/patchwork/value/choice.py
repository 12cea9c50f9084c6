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
    """What a player is after.

    Attributes:
        outcome: What a win is worth, and minus a loss.
        margin: What a point of one's own is worth.
        denial: How much of it a point is worth that the other does not get: 1 if nothing but the difference
            of the scores counts, below 0 if it is welcome that the other gets points.
    """

    outcome: float
    margin: float
    denial: float = 1.0


TO_WIN = Payoffs(1.0, 1 / 300)
"""To win; and by how much, where that is safe or lost."""
TO_WIN_RICHLY = Payoffs(1.0, 1 / 70, -1.0)
"""To win games with many points: a win instead of a loss is worth 140 of them, whoever gets them."""
FOR_MARGIN = Payoffs(0.0, 1 / 40)
"""For the difference of the scores alone."""
FOR_SCORE = Payoffs(0.0, 1 / 40, 0.1)
"""For one's own points: each is worth as much as ten that the other does not get."""


@kernel(inline=True)
def utility(payoffs: Payoffs, own: float, other: float, win: float) -> float:
    """What expected scores, one's own and the other player's, and a probability to win are worth together."""
    return payoffs.outcome * (2 * win - 1) + payoffs.margin * (own - payoffs.denial * other)


@kernel(inline=True)
def worth(payoffs: Payoffs, expansion: Expansion, k: int) -> float:
    """What the ``k``-th action is worth to the player who acts."""
    return utility(payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])


@kernel
def best_action(expansion: Expansion, count: int, payoffs: Payoffs) -> int:
    """Index of the action of most utility among the first ``count``; the first of them on equal terms."""
    best, most = 0, -math.inf
    for k in range(count):
        value = worth(payoffs, expansion, k)
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
    """Index of an action drawn with probabilities in proportion to ``exp(utility / temperature)``."""
    worths = np.empty(count)
    for k in range(count):
        worths[k] = worth(payoffs, expansion, k)
    return int(draw_by_softmax(worths, temperature, streams, i))
