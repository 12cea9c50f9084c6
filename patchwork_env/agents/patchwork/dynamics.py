"""Patchwork as searches need it: the rules for batches, payoffs, and moves that leave no choice."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.engine import NUM_MAPS, LegalSet, apply, is_over, legal, nth_legal, score, winner
from patchwork_env.patchwork.state import States

NO_ACTION = -1
"""Stands for an action where there is none."""


class PatchworkDynamics:
    """The rules for batches of states, and the payoffs of the end of a game.

    The payoff is ``outcome`` for a win or minus ``outcome`` for a loss, plus ``margin`` times the difference
    of the scores, which is divided by ``margin_scale`` and clipped to -1 ... 1.

    Args:
        outcome: The payoff of a win, at least 0.
        margin: The weight of the difference of the scores, at least 0.
        margin_scale: The difference of the scores that counts as 1, in points, above 0.

    Raises:
        ValueError: An argument is not allowed, or both ``outcome`` and ``margin`` are 0.
    """

    def __init__(self, outcome: float = 1.0, margin: float = 0.0, margin_scale: float = 40.0) -> None:
        for name, value in (("outcome", outcome), ("margin", margin)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value!r}; it must be at least 0")
        if not 0 < margin_scale < math.inf:
            raise ValueError(f"margin_scale is {margin_scale!r}; it must be above 0")
        if outcome == margin == 0:
            raise ValueError("outcome and margin are both 0: the end of a game would be worth nothing")
        self.outcome, self.margin, self.margin_scale = float(outcome), float(margin), float(margin_scale)

    @property
    def value_range(self) -> float:
        """The highest payoff minus the lowest."""
        return 2 * (self.outcome + self.margin)

    def step(self, states: States, actions: npt.NDArray[np.int64]) -> None:
        """Plays a legal action in every game, in place, and then all moves that have no alternative."""
        _step(states, actions)

    def finished(self, states: States) -> npt.NDArray[np.bool_]:
        """Which games are over, bool ``(n,)``."""
        finished = np.empty(len(states), np.bool_)
        _write_finished(states, finished)
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
def only_action(states: States, i: int, anchors: LegalSet) -> int:
    """The only legal action of a game, or ``NO_ACTION`` if there are several; ``anchors`` is a buffer."""
    return nth_legal(anchors, 0) if legal(states, i, anchors) == 1 else NO_ACTION


@kernel
def play_forced(states: States, i: int, anchors: LegalSet) -> None:
    """Plays as long as there is no choice; ``anchors`` is a buffer."""
    while legal(states, i, anchors) == 1:
        apply(states, i, nth_legal(anchors, 0))


@kernel(allocates=True)
def _step(states: States, actions: npt.NDArray[np.int64]) -> None:
    anchors = np.empty((2, NUM_MAPS), np.uint64)
    for i in range(len(states)):
        apply(states, i, actions[i])
        play_forced(states, i, anchors)


@kernel
def _write_finished(states: States, finished: npt.NDArray[np.bool_]) -> None:
    for i in range(len(states)):
        finished[i] = is_over(states, i)


@kernel
def _write_payoffs(
    states: States, outcome: float, margin: float, margin_scale: float, payoffs: npt.NDArray[np.float32]
) -> None:
    for i in range(len(states)):
        difference = (score(states, i, 0) - score(states, i, 1)) / margin_scale
        won = 1 - 2 * winner(states, i)
        payoffs[i] = outcome * won + margin * min(max(difference, -1.0), 1.0)
