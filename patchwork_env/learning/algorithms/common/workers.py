"""Trainers that learn from the games of the last iterations, which a Ray cluster can play.

Games depend on the configuration, the weights, the progress and the seed with which they begin, and on
nothing else: neither on the number of workers, nor on which worker plays which games, nor on lost workers.
"""

from __future__ import annotations

import platform
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from patchwork_env.errors import NoWorkersError
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


class IterationWork(NamedTuple):
    """All that the games of an iteration depend on; their jobs follow from the seed."""

    config: ClusterRun
    versions: dict[str, str]
    weights: Arrays
    progress: float
    seed: np.uint64


class RemoteTrainer(Trainer):
    """A trainer that learns from the last iterations, whose games its own threads play, or workers.

    ``window`` has named tuples of arrays, oldest first, such as ``no_examples``; one array is ``states``.
    ``learner.update`` takes all of them as one, the progress and random numbers, and returns losses.
    ``playing`` are the results of the games that workers play at present.
    """

    config: ClusterRun
    no_examples: Any
    learner: Any

    def __init__(self, config: ClusterRun) -> None:
        super().__init__(config)
        self.random = np.random.default_rng(config.seed)
        self.window: deque[Any] = deque(maxlen=config.learning.window)
        self.playing: Future[list[Any]] | None = None
        self._work: IterationWork | None = None  # of the games in flight
        self._pool: RayPool | None = None
        self._thread: ThreadPoolExecutor

    @abstractmethod
    def play_here(self) -> tuple[Any, Statistics]:
        """Play the games of an iteration in this process; return the same as :meth:`combine`."""

    @classmethod
    @abstractmethod
    def play_job(cls, config: Any, weights: Arrays, progress: float, job: Any) -> Any:
        """Play a job in the process of a worker: a tuple with ``examples`` that depends on these alone."""

    @abstractmethod
    def weights(self) -> Arrays:
        """Return a copy of the weights that play."""

    @abstractmethod
    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """Divide the games of an iteration into jobs of ``size`` games; the last job may have fewer."""

    @abstractmethod
    def combine(self, results: Sequence[Any]) -> tuple[Any, Statistics]:
        """Return the examples of all jobs in their order, and statistics, with the number of ``turns``."""

    @abstractmethod
    def check_examples(self, examples: Any) -> None:
        """Raise ValueError for arrays that do not fit each other: kernels check no bounds."""

    def step(self) -> dict[str, float]:
        """Play the games of an iteration and learn from the window."""
        began, workers = time.perf_counter(), dict[str, float]()
        if self._pool is None:
            examples, statistics = self.play_here()
        else:
            examples, statistics = self._play_on(self._pool)
            workers["cluster/workers"] = len(self._pool.places)
        turns = int(statistics.pop("turns"))
        if self._pool and self.config.cluster.ahead and self.steps + turns < self.config.total_steps:
            self._begin_games(self._pool)
        self.window.append(examples)
        collected = time.perf_counter()
        losses = self.learner.update(concatenated(self.window), self.progress, self.random)
        learned = time.perf_counter()
        return (
            prefixed("games", statistics)
            | prefixed("losses", losses)
            | {"time/share_of_time_collecting": (collected - began) / (learned - began)}
            | workers
            | self._count_iteration(turns, began)
        )

    @contextmanager
    def played_by(self, pool: RayPool) -> Iterator[None]:
        """Have a pool play the games within the block; those in flight at its end are cancelled."""
        with ThreadPoolExecutor(1, "workers") as self._thread:
            self._pool = pool
            try:
                yield
            finally:
                pool.cancel()
                self._pool = None

    def _begin_games(self, pool: RayPool) -> None:
        """Begin the games of an iteration, or those that were in flight when the run was saved."""
        if self._work is None:
            seed = draw_seed(self.random)
            self._work = IterationWork(self.config, versions(), self.weights(), self.progress, seed)
        work, jobs = self._work, self.jobs(self._work.seed, self.config.cluster.games_per_job)
        self.playing = self._thread.submit(lambda: in_order(pool.imap(play_job, work, jobs)))

    def _play_on(self, pool: RayPool) -> tuple[Any, Statistics]:
        if self.playing is None:
            self._begin_games(pool)
        assert self.playing is not None
        results = self.playing.result()
        self.playing = self._work = None
        return self.combine(results)

    def state_dict(self) -> State:
        """Return the random numbers, the window, and what the games in flight began with."""
        window = {str(number): as_tensors(batch._asdict()) for number, batch in enumerate(self.window)}
        state = super().state_dict() | {"random": self.random.bit_generator.state, "window": window}
        if (work := self._work) is not None:
            weights = as_tensors(work.weights)
            state["in_flight"] = {"weights": weights, "progress": work.progress, "seed": int(work.seed)}
        return state

    def load_state_dict(self, state: State) -> None:
        """Go on from a state; without workers, games in flight are given up."""
        super().load_state_dict(state)
        self.random.bit_generator.state = state["random"]
        self.window.clear()
        for number in range(len(state["window"])):
            self.window.append(self._checked(as_arrays(state["window"][str(number)])))
        if self._pool is not None and "in_flight" in state:
            work, own = state["in_flight"], self.weights()
            weights, seed = as_arrays(work["weights"]), np.uint64(work["seed"])
            if _shapes(weights) != _shapes(own):
                raise ValueError("the weights of the games in flight do not fit the network of this run")
            self._work = IterationWork(self.config, versions(), weights, work["progress"], seed)

    def _checked(self, arrays: Arrays) -> Any:
        """Return examples from a file, after all checks that kernels rely on."""
        own = self.no_examples._asdict().items()
        examples = type(self.no_examples)(**{name: _like(arrays[name], array) for name, array in own})
        rules_of(self.config.game).check_many(examples.states)
        self.check_examples(examples)
        return examples


@contextmanager
def played_on_cluster(trainer: RemoteTrainer) -> Iterator[None]:
    """Have the cluster of the configuration play the games within the block."""
    cluster = trainer.config.cluster
    with connected(cluster.address, cluster.workers) as ray:
        pool = RayPool(ray, cluster.workers, cluster.patience)
        pool.wait_for_processor()
        with trainer.played_by(pool):
            yield


def play_job(work: IterationWork, job: Any) -> Any:
    """Play a job in the process of a worker; NoWorkersError if it has other versions of packages."""
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
    """Return the versions of all packages that the results of a job depend on."""
    return {name: version for name, version in made_with().items() if name != "machine"}


def in_order(results: Iterable[tuple[int, Any]]) -> list[Any]:
    """Return results in the order of their indices."""
    return [result for _, result in sorted(results, key=lambda numbered: numbered[0])]


def draw_seed(random: np.random.Generator) -> np.uint64:
    """Draw a seed for the games of an iteration."""
    return random.integers(2**64, dtype=np.uint64)


def concatenated(batches: Iterable[_Batch]) -> _Batch:
    """Concatenate batches of one type, at least one."""
    listed = list(batches)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))


def _shapes(arrays: Arrays) -> dict[str, tuple[Any, ...]]:
    return {name: (array.dtype, array.shape) for name, array in arrays.items()}


def _like(array: npt.NDArray[Any], own: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array from a file, of which only the length may differ; records may come as bytes."""
    array = array.view(own.dtype) if own.dtype.names else array
    if not array.ndim or (array.dtype, array[:0].shape) != (own.dtype, own[:0].shape):
        raise ValueError(f"an array has {array.shape} of {array.dtype}; it must be like {own.dtype}")
    return array
