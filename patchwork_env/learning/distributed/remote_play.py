"""Self-play of a learner by workers, iteration by iteration."""

from __future__ import annotations

import pickle
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch

from patchwork_env.learning.algorithms.common.parts import draw_seed
from patchwork_env.learning.algorithms.common.trainer import TrainerState
from patchwork_env.learning.config import ClusterRun
from patchwork_env.learning.distributed.dispatcher import Dispatcher
from patchwork_env.learning.distributed.players import SharedGames
from patchwork_env.learning.distributed.worker import Order


class _Task(NamedTuple):
    """The games of an iteration: what they depend on."""

    order: Order
    seed: np.uint64


class RemotePlay:
    """Has workers play the games of each iteration, and if asked those of the next while the learner learns.

    Games depend on the weights, the progress and the seed that they begin with. Who plays them changes
    nothing, and games that were in flight when a run stopped are played again when it goes on.

    Args:
        games: What is played.
        dispatcher: Has the workers.
        config: Of the run.
    """

    def __init__(self, games: SharedGames, dispatcher: Dispatcher, config: ClusterRun) -> None:
        self._games, self._dispatcher, self._config = games, dispatcher, config
        self._thread = ThreadPoolExecutor(1, "dispatcher")
        self._version = 0
        self._ahead: _Task | None = None
        self._playing: Future[list[Any]] | None = None
        self._waited = self._passed = 0.0
        self._bytes_out = self._bytes_back = 0
        self._ended = time.perf_counter()

    def play(self, progress: float, random: np.random.Generator) -> tuple[Any, dict[str, float]]:
        """What there is to learn from the games of an iteration, and their statistics.

        Args:
            progress: Fraction of the run that is over.
            random: Draws the seed of games that begin now.

        Raises:
            NoWorkersError: There is nobody to play them.
        """
        began = time.perf_counter()
        task = self._ahead or self._new_task(progress, random)
        results = (self._playing or self._begin(task)).result()
        self._ahead = self._playing = None
        self._bytes_back = bytes_of(results)
        ended = time.perf_counter()
        self._waited, self._passed, self._ended = ended - began, ended - self._ended, ended
        return self._games.together(results)

    def play_ahead(self, progress: float, random: np.random.Generator) -> None:
        """Begins the games of the next iteration, if they are to be played while the learner learns.

        Args:
            progress: Fraction of the run that is over.
            random: Draws their seed.
        """
        if self._config.cluster.ahead:
            self._ahead = self._new_task(progress, random)
            self._playing = self._begin(self._ahead)

    def wait(self) -> None:
        """Waits until no games are in flight. Only who measures something else needs that."""
        if self._playing is not None:
            self._playing.result()

    def _new_task(self, progress: float, random: np.random.Generator) -> _Task:
        return _Task(Order(self._version, self._games.weights(), progress), draw_seed(random))

    def _begin(self, task: _Task) -> Future[list[Any]]:
        order = task.order._replace(version=self._version)
        self._version += 1
        jobs = self._games.jobs(task.seed, self._config.cluster.games_per_job)
        self._bytes_out = bytes_of(jobs) + bytes_of(order) * self._dispatcher.machines
        return self._thread.submit(self._dispatcher.do, order, jobs)

    def metrics(self, steps: int) -> dict[str, float]:
        """Metrics by name of the last games, which had so many turns."""
        return {
            "time/learner_idle_share": self._waited / self._passed,
            "cluster/workers": self._dispatcher.workers,
            "cluster/jobs_lost": self._dispatcher.lost,
            "cluster/bytes_out_per_step": self._bytes_out / steps,
            "cluster/bytes_back_per_step": self._bytes_back / steps,
        }

    def state(self) -> TrainerState:
        """What :meth:`restore` needs of games that are in flight."""
        if self._ahead is None:
            return TrainerState({}, {})
        order, seed = self._ahead
        tensors = {name: torch.from_numpy(array) for name, array in order.weights.items()}
        return TrainerState({"progress": order.progress, "seed": int(seed)}, tensors)

    def restore(self, state: TrainerState) -> None:
        """The next games are those that were in flight."""
        values, tensors = state
        if values:
            weights = {name: tensor.numpy() for name, tensor in tensors.items()}
            self._ahead = _Task(Order(0, weights, values["progress"]), np.uint64(values["seed"]))

    def close(self) -> None:
        """Gives up the games that are in flight."""
        self._dispatcher.stop()
        self._thread.shutdown()


def split_in_jobs(number: int, size: int) -> list[slice]:
    """``number`` games in jobs of ``size``; the last one may have less."""
    return [slice(begin, min(begin + size, number)) for begin in range(0, number, size)]


def bytes_of(value: Any) -> int:
    """What is sent of a value."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)
