"""Matches of NMBR 9: both agents play the same deck, each on a table of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import seed_streams
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.games import NMBR9
from patchwork_env.learning.evaluation.contests.base import Block, Contest, Integers
from patchwork_env.learning.evaluation.results import BaseGames, Kind
from patchwork_env.nmbr9 import engine, turns
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.nmbr9.engine import shuffle
from patchwork_env.nmbr9.options import Variant, beginning
from patchwork_env.nmbr9.state import UNKNOWN, States, empty_states

_SIDES = 2
_HIGH = 4
"""The lowest of the levels that are counted as one."""

FIGURES = {
    "score": "scores",
    "levels": "levels",
    "tiles_on_the_table": "on_table",
    "tiles_on_level_1": "on_level_1",
    "tiles_on_level_2": "on_level_2",
    "tiles_on_level_3": "on_level_3",
    "tiles_higher_up": "higher",
}


@dataclass(frozen=True)
class Games(BaseGames):
    """Figures of every game of a match; row ``k`` is the game with deck ``k``.

    Attributes:
        levels: int64 ``(n, 2)``, with tiles on them, the table itself included; of the agent and of the
            opponent, as in all following ones.
        on_table: int64 ``(n, 2)``, tiles on level 0.
        on_level_1: int64 ``(n, 2)``.
        on_level_2: int64 ``(n, 2)``.
        on_level_3: int64 ``(n, 2)``.
        higher: int64 ``(n, 2)``, tiles on level 4 and above.
    """

    levels: npt.NDArray[np.int64]
    on_table: npt.NDArray[np.int64]
    on_level_1: npt.NDArray[np.int64]
    on_level_2: npt.NDArray[np.int64]
    on_level_3: npt.NDArray[np.int64]
    higher: npt.NDArray[np.int64]

    kind = Kind(
        game=NMBR9,
        set_up="deck",
        variant="order",
        is_solitary=True,
        figures=FIGURES,
        shares=(),
        shown={"score": "score", "levels": "levels"},
    )


class Nmbr9Contest(Contest):
    """Games of two players, whose seats change from deck to deck, though it makes no difference.

    Where the order of the cards is unknown, agents are shown those to come in another, random one: nothing
    that they could look at betrays the real one.
    """

    kind = Games.kind
    games_type = Games
    variants = ORDERS

    def _set_up(self, block: Block) -> None:
        self._streams = seed_streams(block.seed, block.end)[block.begin :]
        self.states = empty_states(len(self._streams))
        turns.restart_games(self.states, self._streams, beginning(Variant(block.variant), _SIDES), True)
        self.seats = np.arange(block.begin, block.end) % _SIDES

    def shown(self, games: Integers) -> States:
        """See :meth:`Contest.shown`."""
        states, streams = self.states[games], self._streams[games]
        _hide(states, streams)
        self._streams[games] = streams
        return states

    def _apply(self, games: Integers, actions: Integers, side: int) -> None:
        turns.play_listed(self.states, games, actions)

    def figures(self) -> Games:
        """See :meth:`Contest.figures`."""
        scores = self._of_players(engine.score)
        tiles = self.states["level"][:, :_SIDES, : self.states[0]["num_rounds"]]
        levels = np.take_along_axis(tiles, self.players[:, :, None], axis=1)
        counts = [(levels == level).sum(2) for level in range(_HIGH)]
        return Games(
            seats=self.seats,
            agent_starts=self.agent_starts,
            agent_wins=(1 + np.sign(scores[:, 0] - scores[:, 1])) / 2,
            scores=scores,
            turns=self.turns,
            levels=levels.max(2).astype(np.int64) + 1,
            on_table=counts[0],
            on_level_1=counts[1],
            on_level_2=counts[2],
            on_level_3=counts[3],
            higher=(levels >= _HIGH).sum(2),
        )

    @staticmethod
    def winner(game: Any) -> int | None:
        """See :meth:`Contest.winner`."""
        winners: tuple[int, ...] = game.winners()
        return winners[0] if len(winners) == 1 else None


@kernel
def _hide(states: States, streams: Streams) -> None:
    """Brings the cards that nobody can know into another order; stream ``i`` is that of game ``i``."""
    for i in range(len(states)):
        if states[i]["order"] == UNKNOWN:
            shuffle(states, i, streams, states[i]["round"] + 1)
