"""The connection to a Ray cluster, and jobs as tasks on its processors.

Ray is imported only when a cluster is asked for.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from types import ModuleType
from typing import Any

from patchwork_env.core.extras import from_extra
from patchwork_env.errors import WorkerError
from patchwork_env.learning.distributed.processes import Job, Result, Shared, one_thread, pickled
from patchwork_env.learning.system.signals import signals_wait

LOCAL = "local"
"""The address that starts a Ray cluster on this machine."""
RETRIES = 4
"""How often a job is repeated after its process was lost, alone or with its node."""
_ANSWER_SECONDS = 10.0
"""How long a cluster may take to accept a connection."""


def load_ray(who: str = "clusters need") -> ModuleType:
    """The module ``ray``, imported.

    Raises:
        ModuleNotFoundError: It is not installed; the message begins with ``who`` and says how to install it.
    """
    with from_extra("ray", who):
        import ray
    return ray


@contextmanager
def connected(address: str, workers: int, who: str = "clusters need") -> Iterator[Any]:
    """Connects Ray to a cluster within the block; a connection that exists already is used and kept.

    Args:
        address: The address of the cluster, see ``OnCluster``; a ``local`` one ends with the connection.
        workers: The number of processors of a ``local`` cluster; 0 counts as 1.
        who: What needs Ray, for the message that it is not installed.

    Raises:
        ConnectionError: There is no cluster at the address, or none that can be used from here.
        ModuleNotFoundError: Ray is not installed.
    """
    ray = load_ray(who)
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray 2.60 warns if it is not set
    options: dict[str, Any] = {"address": address}
    if address == LOCAL:
        options |= {"num_cpus": max(workers, 1), "include_dashboard": False}
    try:
        _check_answer(address)
        with signals_wait():  # Ray takes SIGTERM for itself, and loses exceptions raised while it starts
            ray.init(log_to_driver=False, **options)
    except ConnectionError as error:
        raise ConnectionError(f"cluster.address is {address!r}, where no Ray answers: {error}") from None
    except (RuntimeError, ray.exceptions.AuthenticationError) as error:  # another Ray or Python, no token
        raise ConnectionError(
            f"cluster.address is {address!r}, whose Ray cannot be used from here: {error}"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answer(address: str) -> None:
    """Raises ConnectionError if nobody listens at ``host:port``, for which Ray waits ten minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConnectionError(str(error)) from None


def do_on_cluster(
    ray: Any,
    function: Callable[[Shared, Job], Result],
    shared: Shared,
    jobs: Sequence[Job],
    most: int | None = None,
    processors: int = 1,
    gpus: int = 0,
) -> Iterator[tuple[int, Result]]:
    """Yields the index and the result of every job as it ends, in any order; see ``do_jobs``.

    Each job takes ``processors`` and ``gpus``, and PyTorch one thread; ``most`` limits how many are done at
    the same time. A job whose process or node is lost is repeated by another process. If an error or a signal
    ends the iteration, all other jobs are cancelled. The object store keeps ``shared`` once, and every
    process reads it once.

    Raises:
        ValueError: ``shared`` cannot be pickled.
        WorkerError: A job lost its process ``RETRIES + 1`` times.
    """
    pickled(shared)
    left = iter(enumerate(jobs))
    with _Tasks(ray, function, shared, processors, gpus).cancelled_at_the_end() as tasks:
        for number, job in islice(left, most):
            tasks.submit(number, job)
        while tasks.pending:
            yield tasks.next_result()
            for number, job in islice(left, 1):
                tasks.submit(number, job)


class _Tasks:
    """Jobs that Ray does as tasks.

    Jobs and results are pickled here: arrays that Ray itself transfers are read-only.

    Attributes:
        pending: The job's number and the reference of each task that has not ended, by its future.
    """

    def __init__(
        self, ray: Any, function: Callable[[Any, Any], Any], shared: Any, processors: int, gpus: int
    ) -> None:
        self._ray = ray
        self._task = ray.remote(num_cpus=processors, num_gpus=gpus, max_retries=RETRIES)(_do)
        with signals_wait():  # Ray loses what a signal raises within its calls
            self._work = ray.put(ray.cloudpickle.dumps((function, shared)))
        self._ended: SimpleQueue[Future[bytes]] = SimpleQueue()
        self.pending: dict[Future[bytes], tuple[int, Any]] = {}

    @contextmanager
    def cancelled_at_the_end(self) -> Iterator[_Tasks]:
        """Cancels at the end of the block all tasks that are still pending."""
        try:
            yield self
        finally:
            for _, reference in self.pending.values():
                self._ray.cancel(reference, force=True)

    def submit(self, number: int, job: Any) -> None:
        """Submits a job to Ray."""
        with signals_wait():
            reference = self._task.remote([self._work], self._ray.cloudpickle.dumps(job))
            future = reference.future()
            self.pending[future] = number, reference
            future.add_done_callback(self._ended.put)

    def next_result(self) -> tuple[int, Any]:
        """Waits for the next task to end; returns the number and the result of its job."""
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
"""The function and the shared data of this process, by the name of their reference."""


def _do(work: list[Any], job: bytes) -> bytes:
    """Does a job; ``work`` holds one reference, to the function and the shared data."""
    import ray

    name = work[0].hex()
    if name not in _known:
        _known.clear()
        _known[name] = pickle.loads(ray.get(work[0]))  # noqa: S301 - by the process that gives us work
    function, shared = _known[name]
    with one_thread():
        done: bytes = ray.cloudpickle.dumps(function(shared, pickle.loads(job)))  # noqa: S301
    return done
