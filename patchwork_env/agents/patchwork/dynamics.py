"""Patchwork as searches need it: the rules for batches, payoffs, and moves that leave no choice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.batches import list_games, list_over, loop, play_forced, play_listed
from patchwork_env.core.checks import as_number
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.engine import LegalSet, legal, nth_legal, outcome, score
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import States

NO_ACTION = -1
"""Stands for an action where there is none."""


class PatchworkDynamics:
    """The rules for batches of states, and the payoffs of the end of a game.

    The payoff is ``outcome`` for a win or minus ``outcome`` for a loss, plus ``margin`` times the difference
    of the scores, which is divided by ``margin_scale`` points and clipped to -1 ... 1. The first two are at
    least 0, one of them is above, as is the scale.
    """

    def __init__(self, outcome: float = 1.0, margin: float = 0.0, margin_scale: float = 40.0) -> None:
        self.outcome = as_number(outcome, "outcome", least=0)
        self.margin = as_number(margin, "margin", least=0)
        self.margin_scale = as_number(margin_scale, "margin_scale", above=0)
        if self.outcome == self.margin == 0:
            raise ValueError("outcome and margin are both 0: the end of a game would be worth nothing")

    @property
    def value_range(self) -> float:
        """The highest payoff minus the lowest."""
        return 2 * (self.outcome + self.margin)

    def step(self, states: States, actions: npt.NDArray[np.int64]) -> None:
        """Plays a legal action in every game, in place, and then all moves that have no alternative."""
        loop(play_listed, RULES)(states, np.arange(len(states)), actions)
        loop(play_forced, RULES)(states)

    def finished(self, states: States) -> npt.NDArray[np.bool_]:
        """Which games are over, bool ``(n,)``."""
        finished = np.zeros(len(states), np.bool_)
        finished[list_games(list_over, RULES, states)] = True
        return finished

    def players(self, states: States) -> npt.NDArray[np.int64]:
        """The players to move, int64 ``(n,)``."""
        return states["current_player"].astype(np.int64)

    def returns(self, states: States) -> npt.NDArray[np.float32]:
        """The payoffs of player 0 in games that are over, float32 ``(n,)``."""
        payoffs = np.empty(len(states), np.float32)
        _write_payoffs(states, self.outcome, self.margin, self.margin_scale, payoffs)
        return payoffs


@kernel
def only_action(states: States, i: int, legal_set: LegalSet) -> int:
    """The only legal action of a game, or ``NO_ACTION`` if there are several; ``legal_set`` is a buffer."""
    return nth_legal(legal_set, 0) if legal(states, i, legal_set) == 1 else NO_ACTION


@kernel
def _write_payoffs(
    states: States, weight: float, margin: float, margin_scale: float, payoffs: npt.NDArray[np.float32]
) -> None:
    for i in range(len(states)):
        payoffs[i] = weight * outcome(states, i, 0) + margin * clipped_margin(states, i, margin_scale)


@kernel(inline=True)
def clipped_margin(states: States, i: int, scale: float) -> float:
    """The difference of the scores of players 0 and 1 in units of ``scale`` points, within -1 ... 1."""
    return min(max((score(states, i, 0) - score(states, i, 1)) / scale, -1.0), 1.0)
