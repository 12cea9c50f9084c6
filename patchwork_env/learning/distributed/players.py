"""What workers and learners need of algorithms whose games workers can play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.config import RunConfig, class_named

Weights = dict[str, npt.NDArray[Any]]


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
    assert config.PLAYER is not None, "only configurations with a player have workers"
    player: Player = class_named(config.PLAYER)(config)
    return player
