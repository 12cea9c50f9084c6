"""Matches of NMBR 9: both agents play the same deck, each on a table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from patchwork_env.games import NMBR9
from patchwork_env.learning.evaluation.contests.base import SIDES, Contest, Figure
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.components import ORDERS

_HIGH = 4
"""The lowest of the levels that are counted as one."""


class Nmbr9Contest(Contest):
    """Games of two players, who change seats from deck to deck."""

    game = NMBR9
    set_up = "deck"
    variant = "order"
    variants = ORDERS
    is_solitary = True
    metric = "score"
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

    @cached_property
    def levels(self) -> npt.NDArray[np.int8]:
        """The level of each tile of the agent and of the opponent, ``(n, 2, tiles)``, at the end."""
        tiles = self.states["level"][:, :SIDES, : self.states[0]["num_rounds"]]
        return np.take_along_axis(tiles, self.players[:, :, None], axis=1)


CONTEST = Nmbr9Contest
