"""Statistics of the games that are played while an algorithm learns, by game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import Rules
from patchwork_env.core.kernels import States
from patchwork_env.games import PATCHWORK
from patchwork_env.nmbr9 import figures as nmbr9
from patchwork_env.patchwork import figures as patchwork


class GameStats(Protocol):
    """Counts what happens in a batch of games, from the first turn of each to its last."""

    def count(self, states: States, actions: npt.NDArray[np.int64]) -> dict[str, float]:
        """Counts the next turns, ``(T, num_games)``; mean figures of the games that end, if there are any."""

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of the counts of the games in progress, for :meth:`restore`."""

    def restore(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Goes on from what :meth:`save` returned."""


def new_stats(rules: Rules, num_games: int) -> GameStats:
    """The counts of so many games, all of which begin now."""
    return patchwork.GameStats(num_games) if rules.name == PATCHWORK else nmbr9.GameStats()


def statistics_of_games(rules: Rules, finals: States) -> dict[str, float]:
    """Mean figures of ``(k,)`` games that are over; empty if there are none."""
    return (patchwork if rules.name == PATCHWORK else nmbr9).statistics_of_games(finals)
