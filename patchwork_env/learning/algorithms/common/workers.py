"""Self-play by workers: trainers whose games the processors of a Ray cluster can play.

Games depend on the configuration, the weights, the progress and the seed with which they begin, and on
nothing else: neither on the number of workers, nor on which of them play what and which are lost.
"""

from __future__ import annotations

import pickle
import platform
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.errors import NoWorkersError, WorkerError
from patchwork_env.learning.algorithms.common.state import State, as_arrays, as_tensors
from patchwork_env.learning.algorithms.common.trainer import Trainer
from patchwork_env.learning.config import ClusterRun, trainer_class
from patchwork_env.learning.distributed.ray_cluster import RayPool, connected
from patchwork_env.learning.system.machine import made_with, tune_malloc

Weights = dict[str, npt.NDArray[Any]]
_Batch = TypeVar("_Batch", bound=tuple[Any, ...])


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

    @abstractmethod
    def _play_here(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration in this process; returns what there is to learn, and statistics."""

    @classmethod
    @abstractmethod
    def play_job(cls, config: Any, weights: Weights, progress: float, job: Any) -> Any:
        """Plays the games of a job in the process of a worker; the result depends on the arguments alone.

        ``progress`` is the fraction of the run that is over; weights are not written to.
        """

    @abstractmethod
    def weights(self) -> Weights:
        """A copy of the weights that play."""

    @abstractmethod
    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """The games of an iteration in jobs of ``size`` games; the last job may have fewer."""

    @abstractmethod
    def check_result(self, result: Any) -> None:
        """Raises ValueError for the result of a job that no worker can have, before anything changes.

        It is quick, as there may be 100,000 positions per second.
        """

    @abstractmethod
    def combine(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """What there is to learn, and statistics, from the results of all jobs in their order."""

    @contextmanager
    def played_by(self, pool: RayPool) -> Iterator[RemotePlay]:
        """Has the workers of a pool play the games within the block."""
        with closing(RemotePlay(self, pool)) as remote:
            self._remote = remote
            yield remote
        self._remote = None

    def _play(self) -> tuple[Any, dict[str, float]]:
        """Plays the games of an iteration in this process, or has workers play them."""
        return self._play_here() if self._remote is None else self._remote.play()

    def _play_ahead(self, steps: int) -> None:
        """Lets workers begin the next games, after games of ``steps`` turns, unless the run is over."""
        if self._remote is not None and self.steps + steps < self.config.total_steps:
            self._remote.play_ahead()

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


class _Iteration(NamedTuple):
    """What the games of an iteration depend on."""

    weights: Weights
    progress: float
    seed: np.uint64


class RemotePlay:
    """Has workers play the games of each iteration, and those of the next one ahead if the run asks for that.

    Games that were in flight when a run stopped are played again when it goes on.
    """

    def __init__(self, trainer: RemoteTrainer, pool: RayPool) -> None:
        self._trainer, self._pool, self._cluster = trainer, pool, trainer.config.cluster
        self._thread = ThreadPoolExecutor(1, "workers")
        self._ahead: _Iteration | None = None
        self._playing: Future[list[Any]] | None = None
        self._waited = self._passed = 0.0
        self._bytes_out = self._bytes_back = 0
        self._ended = time.perf_counter()

    def play(self) -> tuple[Any, dict[str, float]]:
        """Waits for the games of an iteration; returns what there is to learn from, and statistics.

        Raises:
            NoWorkersError: There is no worker to play them.
            WorkerError: A job was lost too often, or a worker sent what no game can be. The next call has the
                games played again.
        """
        began = time.perf_counter()
        self._ahead = self._ahead or self._new_iteration()
        playing, self._playing = self._playing or self._begin(self._ahead), None
        results = playing.result()
        self._bytes_back = bytes_of(results)
        ended = time.perf_counter()
        self._waited, self._passed, self._ended = ended - began, ended - self._ended, ended
        try:  # compiled code, which learns from them, checks no bounds
            for result in results:
                self._trainer.check_result(result)
            combined = self._trainer.combine(results)
        except ValueError as error:
            raise WorkerError(f"a worker sent games that cannot be: {error}") from None
        self._ahead = None
        return combined

    def play_ahead(self) -> None:
        """Begins the games of the next iteration, if the run asks for that; see :meth:`play`."""
        if self._cluster.ahead:
            self._ahead = self._new_iteration()
            self._playing = self._begin(self._ahead)

    def wait(self) -> None:
        """Waits until no games are in flight, as benchmarks do before they measure something else."""
        if self._playing is not None:
            self._playing.result()

    def _new_iteration(self) -> _Iteration:
        trainer = self._trainer
        return _Iteration(trainer.weights(), trainer.progress, draw_seed(trainer.random))

    def _begin(self, iteration: _Iteration) -> Future[list[Any]]:
        work = Work(self._trainer.config, versions(), iteration.weights, iteration.progress)
        jobs = self._trainer.jobs(iteration.seed, self._cluster.games_per_job)
        return self._thread.submit(self._results, work, jobs)

    def _results(self, work: Work, jobs: Sequence[Any]) -> list[Any]:
        results = dict(self._pool.imap(play_job, work, jobs))
        self._bytes_out = bytes_of(jobs) + bytes_of(work) * len({place[0] for place in self._pool.places})
        return [results[number] for number in range(len(jobs))]

    def metrics(self, steps: int) -> dict[str, float]:
        """Metrics of the last games, by name; ``steps`` is the number of their turns."""
        return {
            "time/learner_idle_share": self._waited / self._passed,
            "cluster/workers": len(self._pool.places),
            "cluster/jobs_lost": self._pool.lost,
            "cluster/bytes_out_per_step": self._bytes_out / steps,
            "cluster/bytes_back_per_step": self._bytes_back / steps,
        }

    def state_dict(self) -> State:
        """What the games in flight began with, for :meth:`load_state_dict`; empty without any."""
        if self._ahead is None:
            return {}
        weights, progress, seed = self._ahead
        return {"weights": as_tensors(weights), "progress": progress, "seed": int(seed)}

    def load_state_dict(self, state: State) -> None:
        """Makes the games that were in flight the next ones to be played.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: The state does not fit.
        """
        if state:
            weights = as_arrays(state["weights"])
            given, expected = (
                {name: (array.shape, array.dtype) for name, array in arrays.items()}
                for arrays in (weights, self._trainer.weights())
            )
            if given != expected:
                raise ValueError("the weights of the games in flight are not of this run's network")
            self._ahead = _Iteration(weights, state["progress"], np.uint64(state["seed"]))

    def close(self) -> None:
        """Gives up the games that are in flight."""
        self._pool.stop()
        self._thread.shutdown()


@contextmanager
def played_on_cluster(trainer: RemoteTrainer) -> Iterator[RemotePlay]:
    """Has the cluster of the configuration play the trainer's games within the block.

    Raises:
        ConnectionError: There is no cluster.
        NoWorkersError: None of its processors is free.
        ModuleNotFoundError: Ray is not installed.
    """
    cluster = trainer.config.cluster
    with connected(cluster.address, cluster.workers) as ray:
        pool = RayPool(ray, cluster.workers, cluster.patience)
        pool.wait_for_processor()
        with trainer.played_by(pool) as remote:
            yield remote


# --- in the processes of workers --------------------------------------------------------------------------


class Work(NamedTuple):
    """What the jobs of an iteration have in common.

    Attributes:
        config: The configuration of the run.
        versions: The :func:`versions` of the learner.
        weights: The weights that play.
        progress: The fraction of the run that is over.
    """

    config: ClusterRun
    versions: dict[str, str]
    weights: Weights
    progress: float


def play_job(work: Work, job: Any) -> Any:
    """Plays the games of a job; see :meth:`RemoteTrainer.play_job`.

    Raises:
        NoWorkersError: This process has other versions of packages than the learner.
    """
    own = versions()
    others = [
        f"{name} {own.get(name, 'missing')} instead of {version}"
        for name, version in work.versions.items()
        if own.get(name) != version
    ]
    if others:
        raise NoWorkersError(
            f"the machine {platform.node()} of the cluster has {', '.join(others)}: workers need what the "
            "learner has"
        )
    tune_malloc()
    return trainer_class(work.config).play_job(work.config, work.weights, work.progress, job)


@cache
def versions() -> dict[str, str]:
    """The versions of all that the results of a job depend on, by package."""
    return {name: version for name, version in made_with().items() if name != "machine"}


# --- jobs and their results -------------------------------------------------------------------------------


def draw_seed(random: np.random.Generator) -> np.uint64:
    """A random seed for the games of an iteration."""
    return random.integers(2**64, dtype=np.uint64)


def concatenated(batches: Iterable[_Batch]) -> _Batch:
    """Batches of one type, at least one of them, put together."""
    listed = list(batches)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))


def bytes_of(value: Any) -> int:
    """The number of bytes that are sent for a value."""
    return len(pickle.dumps(value))


def check_like(value: Any, like: Any, game: type[BaseGame], name: str = "the result") -> None:
    """Checks a value from outside: tuples and dictionaries of arrays, with the state records of a game.

    Args:
        value: The value.
        like: A value of the types that it must have; the lengths of arrays may differ.
        game: The game; its records are checked quickly.
        name: The name of the value in messages.

    Raises:
        ValueError: The value has other types, or holds records that no game can have.
    """
    if hasattr(like, "_asdict") and type(value) is type(like):
        value, like = value._asdict(), like._asdict()
    if type(value) is not type(like) or _kind_of(value) != _kind_of(like):
        raise ValueError(f"{name} is {short_repr(value)}; it must be like {short_repr(like)}")
    if isinstance(like, dict):
        for key, entry in like.items():
            check_like(value[key], entry, game, key)
    elif isinstance(like, np.ndarray) and like.dtype.names:
        game.rules.check_many(value)


def _kind_of(value: Any) -> Any:
    """What must be the same in two values besides their types."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.shape[1:]
    return list(value) if isinstance(value, dict) else None
