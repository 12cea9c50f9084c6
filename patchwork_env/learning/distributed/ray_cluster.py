"""The connection to a Ray cluster, and jobs as tasks on its processors, which may come and go.

Ray is imported only when a cluster is asked for.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event
from types import ModuleType
from typing import Any

from patchwork_env.core.extras import from_extra
from patchwork_env.errors import NoWorkersError, WorkerError
from patchwork_env.learning.distributed.processes import Job, Result, Shared, one_thread, pickled
from patchwork_env.learning.system.signals import signals_wait

LOCAL = "local"
"""The address that starts a Ray cluster on this machine."""
RETRIES = 4
"""How often a job is repeated after its process was lost, alone or with its node."""
_WAIT_SECONDS = 0.5
"""How long to wait for a result before looking whether the pool was stopped or has no processor."""
_ANSWER_SECONDS = 10.0
"""How long a cluster may take to accept a connection."""


def load_ray(who: str = "clusters need") -> ModuleType:
    """The module ``ray``; if it is missing, the error begins with ``who`` and says how to install it."""
    with from_extra("ray", who):
        import ray
    return ray


@contextmanager
def connected(address: str, workers: int, who: str = "clusters need") -> Iterator[Any]:
    """Connects Ray to a cluster within the block; a connection that exists already is used and kept.

    A ``local`` cluster has ``workers`` processors, one at least, and ends with the connection. ``who`` needs
    Ray, for the message that it is not installed. Where no cluster can be used, that is a ConnectionError.
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


class RayPool:
    """The processors of a Ray cluster, on which jobs are done as tasks.

    PyTorch has one thread for each job. If the process or the node of a job is lost, another one does the
    job, so that nodes may come and go. The object store keeps what jobs share once, and every process reads
    it once. Jobs and results are pickled here: arrays that Ray itself transfers are read-only.

    Args:
        ray: The module ``ray``, connected to a cluster.
        most: The largest number of jobs at the same time; None for one on each processor.
        patience: How many seconds to wait while there is no processor; None waits for ever.
        processors: The number of processors that each job takes.
        gpus: The number of GPUs that each job takes.
    """

    def __init__(
        self,
        ray: Any,
        most: int | None = None,
        patience: float | None = None,
        processors: int = 1,
        gpus: int = 0,
    ) -> None:
        self._ray, self._most, self._patience = ray, most, patience
        # Ray itself would repeat lost jobs, too, but does not tell.
        self._task = ray.remote(num_cpus=processors, num_gpus=gpus, max_retries=0)(_do)
        self._has_processor = False
        self._stopped = Event()
        self.lost = 0
        self.places: set[tuple[str, int]] = set()

    def wait_for_processor(self) -> None:
        """Waits until a processor is free; NoWorkersError if none was for as long as the patience lasts."""
        for _ in self.imap(_nothing, None, [None]):
            self._has_processor = True

    def imap(
        self, function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        """Yields the index and the result of every job as it ends, in any order; see ``do_jobs``.

        If an error or a signal ends the iteration, all other jobs are cancelled. A job that lost its process
        ``RETRIES + 1`` times is a WorkerError, a cluster without processors a NoWorkersError, and
        PoolStoppedError follows a :meth:`stop`.
        """
        pickled(shared)
        with signals_wait():  # Ray loses what a signal raises within its calls
            work = self._ray.put(self._ray.cloudpickle.dumps((function, shared)))
        todo, losses = deque(range(len(jobs))), Counter[int]()
        ended: SimpleQueue[Future[bytes]] = SimpleQueue()
        pending: dict[Future[bytes], tuple[int, Any]] = {}
        self.places = set()
        try:
            while todo or pending:
                while todo and (self._most is None or len(pending) < self._most):
                    number = todo.popleft()
                    with signals_wait():
                        reference = self._task.remote([work], self._ray.cloudpickle.dumps(jobs[number]))
                        future = reference.future()
                        pending[future] = number, reference
                        future.add_done_callback(ended.put)
                future = self._next(ended)
                number, _ = pending.pop(future)
                try:
                    result = self._result(future)
                except WorkerLostError as error:
                    self.lost += 1
                    losses[number] += 1
                    if losses[number] > RETRIES:
                        raise WorkerError(str(error)) from error
                    todo.appendleft(number)
                else:
                    yield number, result
        finally:
            for _, reference in pending.values():
                self._ray.cancel(reference, force=True)

    def _next(self, ended: SimpleQueue[Future[bytes]]) -> Future[bytes]:
        """Waits for the next task to end."""
        alive = time.monotonic()
        while True:
            try:
                return ended.get(timeout=_WAIT_SECONDS)
            except Empty:
                if self._stopped.is_set():
                    raise PoolStoppedError("the pool was stopped") from None
            if self._patience is None:
                continue
            processors = self._ray.cluster_resources().get("CPU", 0)
            if self._has_processor and processors >= 1:
                alive = time.monotonic()
            elif time.monotonic() - alive >= self._patience:
                free = self._ray.available_resources().get("CPU", 0)
                raise NoWorkersError(
                    f"no worker for {self._patience:g} s: the cluster has {processors:g} processors, "
                    f"of which {free:g} are free"
                )

    def _result(self, future: Future[bytes]) -> Any:
        errors = self._ray.exceptions
        try:
            place, result = pickle.loads(future.result())  # noqa: S301 - by our own process
        except errors.RayTaskError as error:
            raise error.cause or WorkerError(str(error)) from error
        except errors.RayError as error:
            raise WorkerLostError(
                f"a job lost its process {RETRIES + 1} times: killed, perhaps for lack of memory, or lost "
                f"with its node; Ray says {type(error).__name__}"
            ) from error
        self.places.add(place)
        return result

    def stop(self) -> None:
        """Makes an :meth:`imap` that runs in another thread end with an error."""
        self._stopped.set()


class WorkerLostError(Exception):
    """The process of a job ended, or its result is lost; another one can do the same job."""


class PoolStoppedError(RuntimeError):
    """The pool was stopped while it had jobs to do."""


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
        result = function(shared, pickle.loads(job))  # noqa: S301
    place = ray.get_runtime_context().get_node_id(), os.getpid()
    done: bytes = ray.cloudpickle.dumps((place, result))
    return done


def _nothing(_shared: None, _job: None) -> None:
    """A job that only shows that a processor does it."""
