"""Trainers that learn from the games of the last iterations, which the processors of a Ray cluster can play.

Games depend on the configuration, the weights, the progress and the seed with which they begin, and on
nothing else: neither on the number of workers, nor on which of them play what and which are lost.
"""

from __future__ import annotations

import pickle
import platform
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from patchwork_env.errors import NoWorkersError, WorkerError
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import (
    Arrays,
    State,
    Trainer,
    as_arrays,
    as_tensors,
    prefixed,
)
from patchwork_env.learning.config import ClusterRun, trainer_class
from patchwork_env.learning.distributed import RayPool, connected
from patchwork_env.learning.system import made_with, tune_malloc

Statistics = dict[str, float]
_Batch = TypeVar("_Batch", bound=tuple[Any, ...])


class RemoteTrainer(Trainer):
    """A trainer that learns from the last iterations, whose games its own threads play, or workers.

    ``window`` has named tuples of arrays, oldest first, such as ``no_examples``; one array is ``states``.
    ``learner.update`` takes all of them as one, the progress and random numbers, and returns losses.
    """

    config: ClusterRun
    no_examples: Any
    learner: Any

    def __init__(self, config: ClusterRun) -> None:
        super().__init__(config)
        self.random = np.random.default_rng(config.seed)
        self.window: deque[Any] = deque(maxlen=config.learning.window)
        self._remote: RemotePlay | None = None

    @abstractmethod
    def play_here(self) -> tuple[Any, Statistics]:
        """Plays the games of an iteration in this process; returns the same as :meth:`combine`."""

    @classmethod
    @abstractmethod
    def play_job(cls, config: Any, weights: Arrays, progress: float, job: Any) -> Any:
        """Plays a job in the process of a worker: a tuple with ``examples`` that depends on these alone."""

    @abstractmethod
    def weights(self) -> Arrays:
        """A copy of the weights that play."""

    @abstractmethod
    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """The games of an iteration in jobs of ``size`` games; the last job may have fewer."""

    @abstractmethod
    def combine(self, results: Sequence[Any]) -> tuple[Any, Statistics]:
        """The examples of all jobs in their order, and statistics, with the number of ``turns``."""

    @abstractmethod
    def check_examples(self, examples: Any) -> None:
        """Raises ValueError for arrays that do not fit each other: kernels check no bounds."""

    def step(self) -> dict[str, float]:
        """Plays the games of an iteration and learns from the window."""
        began = time.perf_counter()
        examples, statistics = self.play_here() if self._remote is None else self._remote.play()
        turns = int(statistics.pop("turns"))
        if self._remote is not None and self.steps + turns < self.config.total_steps:
            self._remote.play_ahead()
        self.window.append(examples)
        collected = time.perf_counter()
        losses = self.learner.update(concatenated(self.window), self.progress, self.random)
        learned = time.perf_counter()
        return (
            prefixed("games", statistics)
            | prefixed("losses", losses)
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
            | ({} if self._remote is None else self._remote.metrics(turns))
            | self._count_iteration(turns, began)
        )

    @contextmanager
    def played_by(self, pool: RayPool) -> Iterator[RemotePlay]:
        """Has the workers of a pool play the games within the block."""
        with closing(RemotePlay(self, pool)) as remote:
            self._remote = remote
            yield remote
        self._remote = None

    def checked(self, arrays: Arrays) -> Any:
        """Examples from a file or a worker, after all checks that kernels rely on."""
        own = self.no_examples._asdict().items()
        examples = type(self.no_examples)(**{name: _like(arrays[name], array) for name, array in own})
        rules_of(self.config.game).check_many(examples.states)
        self.check_examples(examples)
        return examples

    def state_dict(self) -> State:
        """The random numbers, the window, and what the games of workers that play ahead began with."""
        ahead = {} if self._remote is None else {"in_flight": self._remote.state_dict()}
        window = {str(number): as_tensors(batch._asdict()) for number, batch in enumerate(self.window)}
        random = self.random.bit_generator.state
        return super().state_dict() | {"random": random, "window": window} | ahead

    def load_state_dict(self, state: State) -> None:
        """Goes on, also without workers."""
        super().load_state_dict(state)
        self.random.bit_generator.state = state["random"]
        self.window.clear()
        for number in range(len(state["window"])):
            self.window.append(self.checked(as_arrays(state["window"][str(number)])))
        if self._remote is not None and state.get("in_flight"):
            self._remote.load_state_dict(state["in_flight"])


class IterationWork(NamedTuple):
    """What the games of an iteration depend on; their jobs follow from the seed."""

    config: ClusterRun
    versions: dict[str, str]
    weights: Arrays
    progress: float
    seed: np.uint64


class RemotePlay:
    """Has workers play the games of each iteration, ahead of the learning if the run asks for that."""

    def __init__(self, trainer: RemoteTrainer, pool: RayPool) -> None:
        self._trainer, self._pool, self._cluster = trainer, pool, trainer.config.cluster
        self._thread = ThreadPoolExecutor(1, "workers")
        self._work: IterationWork | None = None  # of the games that are in flight, or were when an error came
        self._playing: Future[list[Any]] | None = None
        self._waited = self._passed = 0.0
        self._bytes_out = self._bytes_back = 0
        self._ended = time.perf_counter()

    def play(self) -> tuple[Any, Statistics]:
        """Waits for the games of an iteration; returns what there is to learn from, and statistics.

        After a WorkerError the next call has the games played again.
        """
        began = time.perf_counter()
        if self._playing is None:
            self._begin(self._work or self._new_work())
        playing, self._playing = self._playing, None
        assert playing is not None
        results = playing.result()
        self._bytes_back = bytes_of(results)
        ended = time.perf_counter()
        self._waited, self._passed, self._ended = ended - began, ended - self._ended, ended
        try:
            self._trainer.checked(concatenated(result.examples for result in results)._asdict())
            combined = self._trainer.combine(results)
        except ValueError as error:
            raise WorkerError(f"a worker sent games that cannot be: {error}") from None
        self._work = None
        return combined

    def play_ahead(self) -> None:
        """Begins the games of the next iteration, if the run asks for that; see :meth:`play`."""
        if self._cluster.ahead:
            self._begin(self._new_work())

    def wait(self) -> None:
        """Waits until no games are in flight, as benchmarks do before they measure something else."""
        if self._playing is not None:
            self._playing.result()

    def _new_work(self) -> IterationWork:
        trainer = self._trainer
        seed = draw_seed(trainer.random)
        return IterationWork(trainer.config, versions(), trainer.weights(), trainer.progress, seed)

    def _begin(self, work: IterationWork) -> None:
        self._work = work
        jobs = self._trainer.jobs(work.seed, self._cluster.games_per_job)
        self._playing = self._thread.submit(self._results, work, jobs)

    def _results(self, work: IterationWork, jobs: Sequence[Any]) -> list[Any]:
        results = dict(self._pool.imap(play_job, work, jobs))
        self._bytes_out = bytes_of(jobs) + bytes_of(work) * len({place[0] for place in self._pool.places})
        return [results[number] for number in range(len(jobs))]

    def metrics(self, turns: int) -> dict[str, float]:
        """Metrics of the last games, of so many turns, by name."""
        return {
            "time/learner_idle_share": self._waited / self._passed,
            "cluster/workers": len(self._pool.places),
            "cluster/jobs_lost": self._pool.lost,
            "cluster/bytes_out_per_step": self._bytes_out / turns,
            "cluster/bytes_back_per_step": self._bytes_back / turns,
        }

    def state_dict(self) -> State:
        """What the games in flight began with; empty without any."""
        if self._work is None:
            return {}
        weights, progress, seed = as_tensors(self._work.weights), self._work.progress, int(self._work.seed)
        return {"weights": weights, "progress": progress, "seed": seed}

    def load_state_dict(self, state: State) -> None:
        """Makes the games that were in flight the next ones to be played."""
        weights, own = as_arrays(state["weights"]), self._trainer.weights()
        if weights.keys() != own.keys() or any(
            _kind_of(weights[name]) != _kind_of(own[name]) for name in own
        ):
            raise ValueError("the weights of the games in flight are not of this run's network")
        seed = np.uint64(state["seed"])
        self._work = IterationWork(self._trainer.config, versions(), weights, state["progress"], seed)

    def close(self) -> None:
        """Gives up the games that are in flight."""
        self._pool.stop()
        self._thread.shutdown()


@contextmanager
def played_on_cluster(trainer: RemoteTrainer) -> Iterator[RemotePlay]:
    """Has the cluster of the configuration play the games within the block."""
    cluster = trainer.config.cluster
    with connected(cluster.address, cluster.workers) as ray:
        pool = RayPool(ray, cluster.workers, cluster.patience)
        pool.wait_for_processor()
        with trainer.played_by(pool) as remote:
            yield remote


def play_job(work: IterationWork, job: Any) -> Any:
    """Plays a job in the process of a worker; NoWorkersError if it has other versions of packages."""
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


def _like(array: npt.NDArray[Any], own: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array from outside, of which only the length may differ; records may come as bytes."""
    array = array.view(own.dtype) if own.dtype.names else array
    if not array.ndim or _kind_of(array[:0]) != _kind_of(own):
        raise ValueError(f"an array has {array.shape} of {array.dtype}; it must be like {own.dtype}")
    return array


def _kind_of(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    return array.dtype, array.shape
