"""Matches of Patchwork: every circle is played twice, with seats and the first turn swapped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.contests.base import SIDES, Block, Contest, Figure, Integers
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_PLAYERS, VARIANTS
from patchwork_env.patchwork.figures import FROM_ADVANCING, FROM_INCOME, SPENT, apply_counting
from patchwork_env.patchwork.state import States

_PATCHES, _SPECIALS = 3, 4
_NUM_COUNTED = 5
"""What is counted while games are played: the columns of an economy, patches and special patches."""


class PatchworkContest(Contest):
    """Pairs of games in which the same seat has the first turn; the agent takes each seat once."""

    game = PATCHWORK
    set_up = "circle"
    variant = "special_patches"
    variants = VARIANTS
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure(lambda contest: contest.of_players(engine.score), "score"),
        "empty_cells": Figure(lambda contest: contest.of_players(engine.empty_cells), "empty cells"),
        "bonus_tile": Figure(
            lambda contest: contest.states["bonus_owner"][:, None] == contest.players, is_share=True
        ),
        "income": Figure(lambda contest: contest.by_side("income")),
        "buttons": Figure(lambda contest: contest.by_side("buttons")),
        "buttons_spent": Figure(lambda contest: contest.counted(SPENT)),
        "buttons_from_income": Figure(lambda contest: contest.counted(FROM_INCOME)),
        "buttons_from_advancing": Figure(lambda contest: contest.counted(FROM_ADVANCING)),
        "patches": Figure(lambda contest: contest.counted(_PATCHES)),
        "special_patches": Figure(lambda contest: contest.counted(_SPECIALS)),
        "turns": Figure(lambda contest: contest.turns),
    }

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(block, **options)
        self._counts = np.zeros((SIDES, len(self.states), _NUM_COUNTED), np.int64)

    def _deal(self, block: Block) -> States:
        circles, deal = self.rules.empty_states(len(self._streams)), self.rules.kernels.deal
        options = {**self.rules.options, "special_patches": block.variant}
        by_first = [self.rules.set_up(options, {"first_player": first}) for first in range(NUM_PLAYERS)]
        for k in range(len(circles)):
            beginning = by_first[(block.begin + k) % NUM_PLAYERS]
            deal(circles, k, self._streams, beginning.beginning, beginning.chance)
        return circles

    def _apply(self, games: Integers, actions: Integers, side: int) -> None:
        _play_all(self.states, games, actions, self._counts[side])

    def counted(self, column: int) -> Integers:
        """A column of the counts, of the agent and of the opponent, ``(n, 2)``."""
        return self._counts[..., column].T

    def _agent_wins(self) -> npt.NDArray[np.bool_]:
        """There are no draws."""
        return np.array([engine.winner(self.states, i) for i in range(len(self.states))]) == self.seats


CONTEST = PatchworkContest


@kernel
def _play_all(states: States, games: Integers, actions: Integers, counts: Integers) -> None:
    for k in range(len(games)):
        action, counted = actions[k], counts[games[k]]
        apply_counting(states, games[k], action, counted)
        counted[_PATCHES] += ADVANCE < action < FIRST_SPECIAL
        counted[_SPECIALS] += action >= FIRST_SPECIAL
