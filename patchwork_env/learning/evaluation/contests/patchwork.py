"""Matches of Patchwork: every circle is played twice, with seats and the first turn swapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.contests.base import Block, Contest, Integers
from patchwork_env.learning.evaluation.results import BaseGames, Kind
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL
from patchwork_env.patchwork.components import NUM_PLAYERS, VARIANTS
from patchwork_env.patchwork.figures import FROM_ADVANCING, FROM_INCOME, SPENT, apply_counting
from patchwork_env.patchwork.state import States, empty_states

FIGURES = {
    "score": "scores",
    "empty_cells": "empty_cells",
    "bonus_tile": "bonus_tiles",
    "income": "incomes",
    "buttons": "buttons",
    "buttons_spent": "spent",
    "buttons_from_income": "from_income",
    "buttons_from_advancing": "from_advancing",
    "patches": "patches",
    "special_patches": "special_patches",
    "turns": "turns",
}

_PATCHES, _SPECIALS = 3, 4
_NUM_COUNTED = 5
"""What is counted while games are played: the columns of an economy, patches and special patches."""


@dataclass(frozen=True)
class Games(BaseGames):
    """Figures of every game of a match; rows ``2 k`` and ``2 k + 1`` are the pair played with circle ``k``.

    Attributes:
        empty_cells: int64 ``(n, 2)``, at the end; of the agent and of the opponent, as in all following ones.
        bonus_tiles: bool ``(n, 2)``, who owns the bonus tile.
        incomes: int64 ``(n, 2)``, income buttons on the quilt at the end.
        buttons: int64 ``(n, 2)``, at the end.
        spent: int64 ``(n, 2)``, buttons paid for patches.
        from_income: int64 ``(n, 2)``, buttons received at income marks.
        from_advancing: int64 ``(n, 2)``, buttons received for advancing.
        patches: int64 ``(n, 2)``, bought.
        special_patches: int64 ``(n, 2)``, placed.
    """

    empty_cells: npt.NDArray[np.int64]
    bonus_tiles: npt.NDArray[np.bool_]
    incomes: npt.NDArray[np.int64]
    buttons: npt.NDArray[np.int64]
    spent: npt.NDArray[np.int64]
    from_income: npt.NDArray[np.int64]
    from_advancing: npt.NDArray[np.int64]
    patches: npt.NDArray[np.int64]
    special_patches: npt.NDArray[np.int64]

    kind = Kind(
        game=PATCHWORK,
        set_up="circle",
        variant="special_patches",
        is_solitary=False,
        figures=FIGURES,
        shares=("bonus_tile",),
        shown={"score": "score", "empty_cells": "empty cells"},
    )


class PatchworkContest(Contest):
    """Pairs of games: in both the same seat has the first turn, and the agent takes one seat in each."""

    kind = Games.kind
    games_type = Games
    variants = VARIANTS

    def _set_up(self, block: Block) -> None:
        streams = seed_streams(block.seed, block.end)[block.begin :]
        circles = empty_states(len(streams))
        for k in range(len(circles)):
            first_player = (block.begin + k) % NUM_PLAYERS
            engine.restart(circles, k, streams, VARIANTS.index(block.variant), first_player)
        self.states = np.repeat(circles, 2)
        self.seats = np.tile(np.arange(NUM_PLAYERS), len(circles))
        self._counts = np.zeros((NUM_PLAYERS, len(self.states), _NUM_COUNTED), np.int64)

    def _apply(self, games: Integers, actions: Integers, side: int) -> None:
        _play_all(self.states, games, actions, self._counts[side])

    def figures(self) -> Games:
        """See :meth:`Contest.figures`."""
        states, players, counts = self.states, self.players, self._counts
        return Games(
            seats=self.seats,
            agent_starts=self.agent_starts,
            agent_wins=np.array([engine.winner(states, i) for i in range(len(states))]) == self.seats,
            scores=self._of_players(engine.score),
            turns=self.turns,
            empty_cells=self._of_players(engine.empty_cells),
            bonus_tiles=states["bonus_owner"][:, None] == players,
            incomes=np.take_along_axis(states["income"], players, axis=1).astype(np.int64),
            buttons=np.take_along_axis(states["buttons"], players, axis=1).astype(np.int64),
            spent=counts[..., SPENT].T,
            from_income=counts[..., FROM_INCOME].T,
            from_advancing=counts[..., FROM_ADVANCING].T,
            patches=counts[..., _PATCHES].T,
            special_patches=counts[..., _SPECIALS].T,
        )

    @staticmethod
    def winner(game: Any) -> int | None:
        """See :meth:`Contest.winner`; there are no draws."""
        winner: int | None = game.winner()
        return winner


@kernel
def _play_all(states: States, games: Integers, actions: Integers, counts: Integers) -> None:
    for k in range(len(games)):
        action, counted = actions[k], counts[games[k]]
        apply_counting(states, games[k], action, counted)
        counted[_PATCHES] += ADVANCE < action < FIRST_SPECIAL
        counted[_SPECIALS] += action >= FIRST_SPECIAL
