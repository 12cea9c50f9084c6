"""The base class of trainers whose games the workers of a Ray cluster can play.

Games depend only on the configuration and on the weights, progress and seed at their beginning, not on the
number of workers or on lost workers.
"""

from __future__ import annotations

import platform
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.errors import NoWorkersError
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common import trainer
from patchwork_env.learning.config import ClusterRun, trainer_class
from patchwork_env.learning.distributed import RayPool, connected
from patchwork_env.learning.system import tune_malloc, versions

Statistics = dict[str, float]


class IterationWork(NamedTuple):
    """The inputs that all jobs of an iteration share."""

    config: Any
    versions: dict[str, str]
    weights: trainer.Arrays
    progress: float


class RemoteTrainer(trainer.Trainer):
    """A trainer that learns from the games of the last iterations; its threads or workers play them.

    ``window`` has the examples of each iteration, oldest first: named tuples of arrays as in ``no_examples``,
    with an array ``states``. ``learner.update`` takes them concatenated, the progress and random numbers, and
    returns losses.
    """

    config: ClusterRun
    no_examples: Any
    learner: Any

    def __init__(self, config: ClusterRun) -> None:
        super().__init__(config)
        self.random = np.random.default_rng(config.seed)
        self.window: deque[Any] = deque(maxlen=config.learning.window)
        self.pool: RayPool | None = None
        self.playing: Future[list[tuple[int, Any]]] | None = None  # the results of workers
        self._in_flight: trainer.State | None = None  # the weights, progress and seed of these games
        self._thread = ThreadPoolExecutor(1, "workers")

    @abstractmethod
    def play_here(self) -> tuple[Any, Statistics]:
        """Play the games of an iteration in this process; return the same as :meth:`combine`."""

    @staticmethod
    @abstractmethod
    def play_job(work: IterationWork, job: Any) -> Any:
        """Play the games of a job in a worker's process; return a named tuple with ``examples``."""

    @abstractmethod
    def weights(self) -> trainer.Arrays:
        """Return a copy of the weights with which games are played."""

    @abstractmethod
    def jobs(self, seed: np.uint64, size: int) -> Sequence[Any]:
        """Divide the games of an iteration into jobs of ``size`` games; the last job may have fewer."""

    @abstractmethod
    def combine(self, results: Sequence[Any]) -> tuple[Any, Statistics]:
        """Return the examples of all jobs in their order, and statistics, with the number of ``turns``."""

    @abstractmethod
    def check_examples(self, examples: Any) -> None:
        """Raise ValueError unless the arrays fit each other, because kernels check no bounds."""

    def step(self) -> dict[str, float]:
        """Play the games of an iteration and learn from the window."""
        began = time.perf_counter()
        if self.pool is None:
            examples, statistics = self.play_here()
        else:
            playing = self.playing or self._begin_games(self.pool)
            examples, statistics = self.combine([result for _, result in sorted(playing.result())])
            self.playing = self._in_flight = None
        turns = int(statistics.pop("turns"))
        if self.pool and self.config.cluster.ahead and self.steps + turns < self.config.total_steps:
            self.playing = self._begin_games(self.pool)
        self.window.append(examples)
        collected = time.perf_counter()
        losses = self.learner.update(concatenated(self.window), self.progress, self.random)
        return (
            trainer.prefixed("games", statistics)
            | trainer.prefixed("losses", losses)
            | self._count_iteration(turns, began, collected)
        )

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Within the block, let the workers of the configuration, if there are any, play the games."""
        cluster = self.config.cluster
        if not cluster.workers:
            yield
            return
        with connected(cluster.address, cluster.workers) as ray:
            self.pool = RayPool(ray, cluster.workers, cluster.patience)
            try:
                yield
            finally:
                self.pool.cancel()

    def _begin_games(self, pool: RayPool) -> Future[list[tuple[int, Any]]]:
        """Begin the games of an iteration, or those that were in flight when the run was saved."""
        if self._in_flight is None:
            seed = int(self.random.integers(2**64, dtype=np.uint64))
            own = trainer.as_tensors(self.weights())
            self._in_flight = {"weights": own, "progress": self.progress, "seed": seed}
        weights, progress = trainer.as_arrays(self._in_flight["weights"]), self._in_flight["progress"]
        work = IterationWork(self.config, versions(), weights, progress)
        jobs = self.jobs(np.uint64(self._in_flight["seed"]), self.config.cluster.games_per_job)
        return self._thread.submit(lambda: list(pool.imap(play_job, work, jobs)))

    def state_dict(self) -> trainer.State:
        """Return the random numbers, the window, and the inputs of the games in flight."""
        batches = enumerate(self.window)
        window = {str(number): trainer.as_tensors(batch._asdict()) for number, batch in batches}
        state = super().state_dict() | {"random": self.random.bit_generator.state, "window": window}
        return state | ({"in_flight": self._in_flight} if self._in_flight else {})

    def load_state_dict(self, state: trainer.State) -> None:
        """Continue from a state; without workers, games in flight are given up."""
        super().load_state_dict(state)
        self.random.bit_generator.state = state["random"]
        batches = [state["window"][str(number)] for number in range(len(state["window"]))]
        self.window.extend(self._checked(trainer.as_arrays(batch)) for batch in batches)
        self._in_flight = state.get("in_flight") if self.pool else None

    def _checked(self, arrays: trainer.Arrays) -> Any:
        """Validate the arrays of a file, in which records are bytes, and return them as examples."""
        checked = {}
        for name, own in self.no_examples._asdict().items():
            array = arrays[name].view(own.dtype) if own.dtype.names else arrays[name]
            if not array.ndim or (array.dtype, array.shape[1:]) != (own.dtype, own.shape[1:]):
                raise ValueError(
                    f"{name} is {array.dtype} {array.shape}; it must be like {own.dtype} {own.shape}"
                )
            checked[name] = array
        examples = type(self.no_examples)(**checked)
        rules_of(self.config.game).check_many(examples.states)
        self.check_examples(examples)
        return examples


def play_job(work: IterationWork, job: Any) -> Any:
    """Play a job in the process of a worker; NoWorkersError if it has other versions of packages."""
    if (own := versions()) != work.versions:
        difference = f"{platform.node()} has {own}; the learner has {work.versions}"
        raise NoWorkersError(f"versions differ: the machine {difference}")
    tune_malloc()
    return trainer_class(work.config).play_job(work, job)


def concatenated(batches: Iterable[Any]) -> Any:
    """Concatenate named tuples of arrays of one type, at least one."""
    listed = list(batches)
    return type(listed[0])(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))
