"""Self-play by workers, iteration by iteration."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from patchwork_env.errors import WorkerError
from patchwork_env.learning.algorithms.common.batches import draw_seed
from patchwork_env.learning.algorithms.common.state import State, as_arrays, as_tensors
from patchwork_env.learning.config import ClusterRun
from patchwork_env.learning.distributed.worker_pool import WorkerPool

Weights = dict[str, npt.NDArray[Any]]


class Player(Protocol):
    """Plays games for a learner, in the process of a worker.

    The result of :meth:`play` depends only on the configuration, the weights and its arguments.
    """

    def set_weights(self, weights: Weights) -> None:
        """Plays with these weights from now on, and does not write to them."""

    def play(self, progress: float, job: Any) -> Any:
        """Plays the games of a job; ``progress`` is the fraction of the run that is over."""


class RemoteGames(Protocol):
    """The learner's side: divides the games of an iteration into jobs, and puts the results together."""

    def weights(self) -> Weights:
        """A copy of the weights that play."""

    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """The games of an iteration in jobs of ``size`` games; the last job may have fewer."""

    def check(self, result: Any) -> None:
        """Raises ValueError for the result of a job that no worker can have, before anything changes.

        It is quick, as there may be 100,000 positions per second.
        """

    def combine(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """What the trainer learns from, and statistics; the results are in the order of the jobs."""


class Inputs(NamedTuple):
    """What the jobs of an iteration have in common: weights, their number, and the run's progress."""

    version: int
    weights: Weights
    progress: float


class PlayService:
    """The ``Service`` with which a worker plays games."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._version = -1

    def work(self, shared: Inputs, job: Any) -> Any:
        """Plays the games of a job."""
        if shared.version != self._version:
            self._player.set_weights(shared.weights)
            self._version = shared.version
        return self._player.play(shared.progress, job)


class _Iteration(NamedTuple):
    """What the games of an iteration depend on."""

    inputs: Inputs
    seed: np.uint64


class RemotePlay:
    """Has workers play the games of each iteration, and those of the next one ahead if the run asks for that.

    Games depend only on the weights, the progress and the seed with which they begin, not on the workers that
    play them. Games that were in flight when a run stopped are played again when it goes on.
    """

    def __init__(self, games: RemoteGames, pool: WorkerPool, config: ClusterRun) -> None:
        self._games, self._pool, self._config = games, pool, config
        self._thread = ThreadPoolExecutor(1, "worker pool")
        self._version = 0
        self._ahead: _Iteration | None = None
        self._playing: Future[list[Any]] | None = None
        self._waited = self._passed = 0.0
        self._bytes_out = self._bytes_back = 0
        self._ended = time.perf_counter()

    def play(self, progress: float, random: np.random.Generator) -> tuple[Any, dict[str, float]]:
        """Waits for the games of an iteration; returns what there is to learn from, and statistics.

        ``progress`` is the fraction of the run that is over; ``random`` draws the seed of games that begin
        now.

        Raises:
            NoWorkersError: There is no worker to play them.
            WorkerError: A worker sent what no game can be. The next call has the games played again.
        """
        began = time.perf_counter()
        iteration = self._ahead = self._ahead or self._new_iteration(progress, random)
        results = (self._playing or self._begin(iteration)).result()
        self._playing = None
        self._bytes_back = bytes_of(results)
        ended = time.perf_counter()
        self._waited, self._passed, self._ended = ended - began, ended - self._ended, ended
        combined = self._combine(results)
        self._ahead = None
        return combined

    def _combine(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """What there is to learn from results, after checks: compiled code checks no bounds."""
        try:
            for result in results:
                self._games.check(result)
            return self._games.combine(results)
        except ValueError as error:
            raise WorkerError(f"a worker sent games that cannot be: {error}") from None

    def play_ahead(self, progress: float, random: np.random.Generator) -> None:
        """Begins the games of the next iteration, if the run asks for that; see :meth:`play`."""
        if self._config.cluster.ahead:
            self._ahead = self._new_iteration(progress, random)
            self._playing = self._begin(self._ahead)

    def wait(self) -> None:
        """Waits until no games are in flight, as benchmarks do before they measure something else."""
        if self._playing is not None:
            self._playing.result()

    def _new_iteration(self, progress: float, random: np.random.Generator) -> _Iteration:
        return _Iteration(Inputs(self._version, self._games.weights(), progress), draw_seed(random))

    def _begin(self, iteration: _Iteration) -> Future[list[Any]]:
        inputs = iteration.inputs._replace(version=self._version)
        self._version += 1
        jobs = self._games.jobs(iteration.seed, self._config.cluster.games_per_job)
        self._bytes_out = bytes_of(jobs) + bytes_of(inputs) * self._pool.machines
        return self._thread.submit(self._pool.map, inputs, jobs)

    def metrics(self, steps: int) -> dict[str, float]:
        """Metrics of the last games, by name; ``steps`` is the number of their turns."""
        return {
            "time/learner_idle_share": self._waited / self._passed,
            "cluster/workers": self._pool.workers,
            "cluster/jobs_lost": self._pool.lost,
            "cluster/bytes_out_per_step": self._bytes_out / steps,
            "cluster/bytes_back_per_step": self._bytes_back / steps,
        }

    def state_dict(self) -> State:
        """What the games in flight began with, for :meth:`load_state_dict`; empty without any."""
        if self._ahead is None:
            return {}
        inputs, seed = self._ahead
        return {"progress": inputs.progress, "seed": int(seed), "weights": as_tensors(inputs.weights)}

    def load_state_dict(self, state: State) -> None:
        """Makes the games that were in flight the next ones to be played.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: The state does not fit.
        """
        if state:
            weights = as_arrays(state["weights"])
            given, expected = (
                {name: (array.shape, array.dtype) for name, array in arrays.items()}
                for arrays in (weights, self._games.weights())
            )
            if given != expected:
                raise ValueError("the weights of the games in flight are not of this run's network")
            self._ahead = _Iteration(Inputs(0, weights, state["progress"]), np.uint64(state["seed"]))

    def close(self) -> None:
        """Gives up the games that are in flight."""
        self._pool.stop()
        self._thread.shutdown()


def bytes_of(value: Any) -> int:
    """The number of bytes that are sent for a value."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)
