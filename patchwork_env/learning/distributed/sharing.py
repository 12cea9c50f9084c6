"""Trainers whose games workers can play."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from patchwork_env.learning.algorithms.common.tensors import prefixed, with_prefix
from patchwork_env.learning.algorithms.common.trainer import Trainer, TrainerState
from patchwork_env.learning.config import ClusterRun
from patchwork_env.learning.distributed.connection import connected
from patchwork_env.learning.distributed.dispatcher import Dispatcher
from patchwork_env.learning.distributed.players import SharedGames
from patchwork_env.learning.distributed.remote_play import RemotePlay
from patchwork_env.learning.distributed.staff import RayStaff

_IN_FLIGHT = "in_flight"


class SharingTrainer(Trainer):
    """A trainer that plays here, in its own threads, or has workers play.

    Attributes:
        random: Draws the seeds of games, and all else.
    """

    config: ClusterRun

    def __init__(self, config: ClusterRun) -> None:
        super().__init__(config)
        self.random = np.random.default_rng(config.seed)
        self._remote: RemotePlay | None = None

    @contextmanager
    def playing_by(self, dispatcher: Dispatcher) -> Iterator[RemotePlay]:
        """Within the block the games are played by the dispatcher's workers."""
        with closing(RemotePlay(self.shared_games(), dispatcher, self.config)) as remote:
            self._remote = remote
            yield remote
        self._remote = None

    @abstractmethod
    def shared_games(self) -> SharedGames:
        """The games as workers see them."""

    @abstractmethod
    def _play_here(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration; what there is to learn from them, and statistics."""

    def _play(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration, or has them played."""
        return self._play_here() if self._remote is None else self._remote.play(self.progress, self.random)

    def _play_ahead(self, steps: int) -> None:
        """Begins the next games, if workers are to play ahead, after games of so many turns."""
        if self._remote is not None and self.steps + steps < self.config.total_steps:
            self._remote.play_ahead(self.progress, self.random)

    def _metrics_of_workers(self, steps: int) -> dict[str, float]:
        """What there is to say of workers that have played games of so many turns."""
        return {} if self._remote is None else self._remote.metrics(steps)

    def _with_flight(self, state: TrainerState) -> TrainerState:
        """The state, with the games that workers are playing ahead."""
        if self._remote is None:
            return state
        values, tensors = self._remote.state()
        return TrainerState(
            state.values | {_IN_FLIGHT: values}, state.tensors | prefixed(_IN_FLIGHT, tensors)
        )

    def _restore_flight(self, state: TrainerState) -> None:
        """Has workers play the games again that were in flight; without workers, others take their place."""
        if self._remote is not None and _IN_FLIGHT in state.values:
            tensors = with_prefix(_IN_FLIGHT, state.tensors)
            self._remote.restore(TrainerState(state.values[_IN_FLIGHT], tensors))


@contextmanager
def playing_on_cluster(trainer: SharingTrainer) -> Iterator[RemotePlay]:
    """Within the block the trainer's games are played by the cluster of its configuration.

    Raises:
        ConnectionError: There is no cluster, or no worker can be had.
        ModuleNotFoundError: Ray is not installed.
    """
    config = trainer.config
    with (
        connected(config.cluster) as ray,
        closing(
            Dispatcher(RayStaff(ray, config), config.cluster.workers, config.cluster.patience)
        ) as dispatcher,
    ):
        dispatcher.open()
        with trainer.playing_by(dispatcher) as remote:
            yield remote
