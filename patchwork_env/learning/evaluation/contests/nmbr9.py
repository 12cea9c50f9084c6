"""Matches of NMBR 9: both agents play the same deck, each on a table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.game import BaseGame
from patchwork_env.core.random import Streams
from patchwork_env.games import NMBR9
from patchwork_env.learning.evaluation.contests.base import SIDES, Block, Contest, Figure, Integers
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.nmbr9.engine import shuffle
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.state import UNKNOWN, States

_HIGH = 4
"""The lowest of the levels that are counted as one."""


class Nmbr9Contest(Contest):
    """Games of two players, who change seats from deck to deck.

    If the order of the cards is unknown, agents are shown the cards to come in another, random order: nothing
    that they could look at betrays the real one.
    """

    game = NMBR9
    set_up = "deck"
    variant = "order"
    variants = ORDERS
    is_solitary = True
    games_per_set_up = 1
    figures: ClassVar[Mapping[str, Figure]] = {
        "score": Figure(lambda contest: contest.of_players(engine.score), "score"),
        "levels": Figure(lambda contest: contest.levels.max(2).astype(np.int64) + 1, "levels"),
        "tiles_on_the_table": Figure(lambda contest: (contest.levels == 0).sum(2)),
        "tiles_on_level_1": Figure(lambda contest: (contest.levels == 1).sum(2)),
        "tiles_on_level_2": Figure(lambda contest: (contest.levels == 2).sum(2)),
        "tiles_on_level_3": Figure(lambda contest: (contest.levels == 3).sum(2)),
        "tiles_higher_up": Figure(lambda contest: (contest.levels >= _HIGH).sum(2)),
    }

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(block, **options)
        self._beginnings = self.states.copy()

    def shown(self, games: Integers) -> States:
        """See :meth:`Contest.shown`."""
        states, streams = self.states[games], self._streams[games]
        _hide(states, streams)
        self._streams[games] = streams
        return states

    def game_for_agent(self, i: int, shown: States, k: int) -> BaseGame[Any]:
        """See :meth:`Contest.game_for_agent`; the cards to come lie as they are shown."""
        beginning = self._beginnings[i : i + 1].copy()
        beginning["deck"] = shown[k]["deck"]
        game = Game._of_record(beginning)
        for action in self._tracked[i].history:
            game.play(action)
        return game

    @cached_property
    def levels(self) -> npt.NDArray[np.int8]:
        """The level of each tile of the agent and of the opponent, ``(n, 2, tiles)``, at the end."""
        tiles = self.states["level"][:, :SIDES, : self.states[0]["num_rounds"]]
        return np.take_along_axis(tiles, self.players[:, :, None], axis=1)


CONTEST = Nmbr9Contest


@kernel
def _hide(states: States, streams: Streams) -> None:
    """Shuffles the cards to come where their order is unknown; game ``i`` has stream ``i``."""
    for i in range(len(states)):
        if states[i]["order"] == UNKNOWN:
            shuffle(states, i, streams, states[i]["round"] + 1)
