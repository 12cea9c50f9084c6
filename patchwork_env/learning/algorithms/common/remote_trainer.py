"""Trainers whose games workers can play."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from patchwork_env.learning.algorithms.common.remote_play import (
    Player,
    PlayService,
    RemoteGames,
    RemotePlay,
)
from patchwork_env.learning.algorithms.common.state import State
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.config import ClusterRun, trainer_class
from patchwork_env.learning.distributed.ray_cluster import connected
from patchwork_env.learning.distributed.ray_workers import RayBackend
from patchwork_env.learning.distributed.worker_pool import WorkerPool


class RemoteTrainer(Trainer):
    """A trainer whose games are played by its own threads or by workers.

    Attributes:
        random: The generator of the games' seeds and of all other random numbers.
    """

    config: ClusterRun

    def __init__(self, config: ClusterRun) -> None:
        super().__init__(config)
        self.random = np.random.default_rng(config.seed)
        self._remote: RemotePlay | None = None

    @classmethod
    @abstractmethod
    def player(cls, config: Any) -> Player:
        """What a worker plays the games of a run with."""

    @abstractmethod
    def remote_games(self) -> RemoteGames:
        """The games as jobs for workers."""

    @abstractmethod
    def _play_here(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration in this process; returns what there is to learn, and statistics."""

    @contextmanager
    def played_by(self, pool: WorkerPool) -> Iterator[RemotePlay]:
        """Has the workers of a pool play the games within the block."""
        with closing(RemotePlay(self.remote_games(), pool, self.config)) as remote:
            self._remote = remote
            yield remote
        self._remote = None

    def _play(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration in this process, or has workers play them."""
        return self._play_here() if self._remote is None else self._remote.play(self.progress, self.random)

    def _play_ahead(self, steps: int) -> None:
        """Lets workers begin the next games, after games of ``steps`` turns, unless the run is over."""
        if self._remote is not None and self.steps + steps < self.config.total_steps:
            self._remote.play_ahead(self.progress, self.random)

    def _metrics_of_workers(self, steps: int) -> dict[str, float]:
        """Metrics of the workers, which have played games of ``steps`` turns; empty without workers."""
        return {} if self._remote is None else self._remote.metrics(steps)

    def state_dict(self) -> State:
        """The random numbers, and the games that workers play ahead."""
        ahead = {} if self._remote is None else {"in_flight": self._remote.state_dict()}
        return super().state_dict() | {"random": self.random.bit_generator.state} | ahead

    def load_state_dict(self, state: State) -> None:
        """See :meth:`Trainer.load_state_dict`; a state of a run without workers has no games in flight."""
        super().load_state_dict(state)
        self.random.bit_generator.state = state["random"]
        if self._remote is not None:
            self._remote.load_state_dict(state.get("in_flight", {}))


def new_service(config: ClusterRun) -> PlayService:
    """What a worker plays the games of a run with."""
    return PlayService(trainer_class(config).player(config))


@contextmanager
def played_on_cluster(trainer: RemoteTrainer) -> Iterator[RemotePlay]:
    """Has the cluster of the configuration play the trainer's games within the block.

    Raises:
        ConnectionError: There is no cluster, or no worker can be started.
        ModuleNotFoundError: Ray is not installed.
    """
    cluster = trainer.config.cluster
    with connected(cluster.address, cluster.workers) as ray:
        backend = RayBackend(ray, new_service, trainer.config)
        with closing(WorkerPool(backend, cluster.workers, cluster.patience)) as pool:
            pool.open()
            with trainer.played_by(pool) as remote:
                yield remote
