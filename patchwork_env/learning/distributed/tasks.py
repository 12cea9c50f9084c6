"""Jobs as tasks of Ray: what ``do_jobs`` does, on the processors of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from patchwork_env.errors import WorkerError
from patchwork_env.learning.config import Cluster
from patchwork_env.learning.distributed.connection import connected
from patchwork_env.learning.distributed.workers import OnCluster, check_pickling, check_workers, one_thread
from patchwork_env.learning.system.machine import usable_cores
from patchwork_env.learning.system.signals import signals_wait

_Shared = TypeVar("_Shared")
_Job = TypeVar("_Job")
_Done = TypeVar("_Done")

RETRIES = 4
"""How often a job is done again whose process was lost, with its node or alone."""


def connected_to(workers: OnCluster) -> AbstractContextManager[Any]:
    """The connection to a cluster; see :func:`patchwork_env.learning.distributed.connection.connected`."""
    return connected(Cluster(address=workers.address, workers=workers.most or usable_cores()))


def do_tasks(
    function: Callable[[_Shared, _Job], _Done], shared: _Shared, jobs: Sequence[_Job], workers: OnCluster
) -> Iterator[tuple[int, _Done]]:
    """Yields the index and the result of every job as it ends, in any order.

    Each job takes one processor, and PyTorch one thread. A job whose process or node is lost is done again,
    elsewhere. If an error or a signal ends the iteration, what is not done yet is cancelled.

    Args:
        function: Called with ``shared`` and a job.
        shared: Kept once in the object store, and read once by every process; allows pickling.
        jobs: What is to be done.
        workers: The cluster.

    Raises:
        ValueError: ``shared`` does not allow pickling.
        WorkerError: A job lost its process again and again.
        ConnectionError: There is no cluster at the address.
        ModuleNotFoundError: Ray is not installed.
    """
    check_workers(workers)
    check_pickling(shared)
    if not jobs:
        return
    with connected_to(workers) as ray, _Tasks(ray, function, shared).cancelled_in_the_end() as tasks:
        left = iter(enumerate(jobs))
        for number, job in _first(left, workers.most or len(jobs)):
            tasks.begin(number, job)
        while tasks.pending:
            yield tasks.next_result()
            for number, job in _first(left, 1):
                tasks.begin(number, job)


def _first(left: Iterator[tuple[int, _Job]], count: int) -> Iterator[tuple[int, _Job]]:
    return (numbered for _, numbered in zip(range(count), left, strict=False))


class _Tasks:
    """The tasks that are on their way.

    What goes to and fro is pickled here, not by Ray, whose arrays cannot be written.

    Attributes:
        pending: The number and the reference of each by its future.
    """

    def __init__(self, ray: Any, function: Callable[[Any, Any], Any], shared: Any) -> None:
        self._ray = ray
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
        with signals_wait():  # Ray loses what a signal raises within its calls
            self._work = ray.put(ray.cloudpickle.dumps((function, shared)))
        self._ended: SimpleQueue[Future[bytes]] = SimpleQueue()
        self.pending: dict[Future[bytes], tuple[int, Any]] = {}

    @contextmanager
    def cancelled_in_the_end(self) -> Iterator[_Tasks]:
        """Behind the block nothing is on its way any more."""
        try:
            yield self
        finally:
            for _, reference in self.pending.values():
                self._ray.cancel(reference, force=True)

    def begin(self, number: int, job: Any) -> None:
        """Sends a job on its way."""
        with signals_wait():
            reference = self._task.remote([self._work], self._ray.cloudpickle.dumps(job))
            future = reference.future()
            self.pending[future] = number, reference
            future.add_done_callback(self._ended.put)

    def next_result(self) -> tuple[int, Any]:
        """Waits for one of the tasks; the number and the result of its job."""
        errors = self._ray.exceptions
        future = self._ended.get()
        number, _ = self.pending.pop(future)
        try:
            return number, pickle.loads(future.result())  # noqa: S301 - by our own process
        except errors.RayTaskError as error:
            raise error.cause or WorkerError(str(error)) from error
        except errors.RayError as error:
            raise WorkerError(
                f"a job lost its process {RETRIES + 1} times: killed, perhaps for lack of memory, or lost "
                f"with its node; Ray says {type(error).__name__}"
            ) from error


# --- in the processes of the cluster ----------------------------------------------------------------------


_known: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {}
"""The work that this process does, by its reference."""


def _do(work: list[Any], job: bytes) -> bytes:
    """Does a job; ``work`` holds the reference to the function and to what jobs share."""
    import ray

    name = work[0].hex()
    if name not in _known:
        _known.clear()
        _known[name] = pickle.loads(ray.get(work[0]))  # noqa: S301 - by the process that gives us work
    function, shared = _known[name]
    with one_thread():
        done: bytes = ray.cloudpickle.dumps(function(shared, pickle.loads(job)))  # noqa: S301
    return done
