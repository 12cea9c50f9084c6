"""Whose self-play workers can do, and what that needs. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from patchwork_env.learning.config import RunConfig

Weights = dict[str, npt.NDArray[Any]]

PLAYERS: Mapping[str, str] = {
    "td": "patchwork_env.learning.algorithms.td.player:TdPlayer",
    "solo_td": "patchwork_env.learning.algorithms.solo_td.player:SoloTdPlayer",
    "alphazero": "patchwork_env.learning.algorithms.alphazero.shared_games:AlphaZeroPlayer",
}
"""By algorithm: the class of its :class:`Player`, by module and name."""

ON_CLUSTERS = (*PLAYERS, "rllib_ppo")
"""The algorithms that use the cluster of a configuration; RLlib has workers of its own."""


class Player(Protocol):
    """Plays games for a learner, in a process of its own.

    What :meth:`play` returns depends on the configuration and on what was given to the two methods last.
    """

    def take(self, weights: Weights) -> None:
        """Plays with these weights from now on; they are not to be written to."""

    def play(self, progress: float, job: Any) -> Any:
        """Does a job when the fraction ``progress`` of the run is over."""


class SharedGames(Protocol):
    """The learner's side: cuts the games of an iteration into jobs, and puts together what was played."""

    def weights(self) -> Weights:
        """A copy of the weights that play."""

    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """The games of an iteration in jobs of ``size`` games; the last one may have less."""

    def together(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """What the trainer learns from, and statistics, from the results in the order of the jobs."""


def player_of(config: RunConfig) -> Player:
    """The player of a run's algorithm."""
    module, _, name = PLAYERS[config.algorithm].partition(":")
    player: Player = getattr(import_module(module), name)(config)
    return player
