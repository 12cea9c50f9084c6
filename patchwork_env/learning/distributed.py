"""Jobs on processes of this machine, or as tasks on a Ray cluster, with the same results.

This module knows nothing about the jobs. It imports Ray only for a cluster.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from itertools import islice
from multiprocessing import connection
from typing import Any, NamedTuple, TypeVar

from patchwork_env.core.checks import check_between
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import short_repr
from patchwork_env.errors import NoWorkersError, WorkerError
from patchwork_env.learning.system import stop_if_asked

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

MOST_PROCESSES, MOST_ON_CLUSTER = 1024, 10**5
"""The most processes of this machine, and the most jobs at the same time on a cluster."""
_ADDRESS = re.compile(r"local|auto|\S+:\d+")


class OnCluster(NamedTuple):
    """The processors of a Ray cluster, each of which does one job at a time."""

    address: str  # `local`, a new cluster on this machine; `auto`, that of this machine; or `host:port`
    most: int | None = None  # the largest number of jobs at the same time; None for one on each processor


Workers = int | OnCluster  # a number of processes of this machine, or a cluster


def check_workers(workers: Workers) -> Workers:
    """Return the workers; ValueError if their number or address is not allowed."""
    if not isinstance(workers, OnCluster):
        return check_between(workers, 1, MOST_PROCESSES, "workers")
    if not _ADDRESS.fullmatch(workers.address):
        raise ValueError(f"cluster is {short_repr(workers.address)}; allowed are local, auto and host:port")
    if workers.most is not None:
        check_between(workers.most, 1, MOST_ON_CLUSTER, "workers")
    return workers


def do_jobs(
    function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job], workers: Workers
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result ``function(shared, job)`` of every job as it ends.

    One worker is this process, which does the jobs in order. Otherwise other processes do them, in any order,
    and are stopped at once if an error or a signal ends the iteration. They need a function from the top
    level of a module, and data that can be pickled. PyTorch uses one thread everywhere, so that results do
    not depend on the number of workers.

    Raises:
        ValueError: ``shared`` cannot be pickled, or the workers are not allowed.
        WorkerError: A process was killed, or could not start.
        ConnectionError: There is no such cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    if isinstance(workers, OnCluster):
        check_workers(workers)
        if jobs:
            with connected(workers.address, workers.most or usable_cores()) as ray:
                yield from RayPool(ray, workers.most).imap(function, shared, jobs)
    elif workers == 1 or len(jobs) < 2:
        with one_thread():
            for number, job in enumerate(jobs):
                yield number, function(shared, job)
    else:
        yield from _do_in_processes(function, shared, jobs, workers)


_WAIT_SECONDS = 0.5
"""The time between two looks for signals, and for the processors of a cluster."""


def _results(
    submit: Callable[[Job], Future[Result]],
    jobs: Sequence[Job],
    most: int,
    watch: Callable[[bool], object] = bool,
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result of every job as it ends; call ``watch`` after every wait.

    At most ``most`` jobs are submitted at the same time.
    """
    todo, pending = iter(enumerate(jobs)), dict[Future[Result], int]()
    while True:
        pending |= {submit(job): number for number, job in islice(todo, most - len(pending))}
        if not pending:
            return
        stop_if_asked()
        done, _ = wait(pending, _WAIT_SECONDS, FIRST_COMPLETED)
        watch(bool(done))
        for future in done:
            yield pending.pop(future), future.result()


# --- processes of this machine ------------------------------------------------------------------------------


def _pickling_error(error: Exception) -> ValueError:
    return ValueError(
        f"{error}: what several workers share must allow pickling; take 1 worker, or functions and classes "
        "from the top level of a module, not from a cell of a notebook"
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Make PyTorch, if it is imported, use one thread within the block."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _do_in_processes(
    function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Result]]:
    try:
        work = pickle.dumps((function, shared))
    except Exception as error:
        raise _pickling_error(error) from None
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _start_process, (work,))
    try:
        yield from _results(lambda job: pool.submit(_do_here, job), jobs, len(jobs))
    except BaseException as error:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # its result is of no use any more
        if isinstance(error, BrokenExecutor):
            raise WorkerError(
                "a worker process ended before its work was done: it was killed, perhaps for lack of memory,"
                ' or the program that uses workers is a script without `if __name__ == "__main__":`'
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_work = b""
"""The function and the shared data of this process, pickled."""


def _start_process(work: bytes) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do_here(job: Any) -> Any:
    function, shared = _read_work()
    with one_thread():
        return function(shared, job)


@cache
def _read_work() -> Any:
    try:
        return pickle.loads(_work)  # noqa: S301 - by our own process
    except Exception as error:  # a function of a notebook is in no module that a process could import
        raise _pickling_error(error) from None


# --- a Ray cluster ------------------------------------------------------------------------------------------

LOCAL = "local"  # the address that starts a Ray cluster on this machine
RETRIES = 4  # the number of times Ray repeats a job whose process or node was lost
_ANSWER_SECONDS = 10.0  # the time in which a cluster must accept a connection


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Connect Ray to a cluster within the block, or use the connection that exists; yield the module ``ray``.

    A ``local`` cluster has ``workers`` processors, at least one, and ends with the connection.
    ConnectionError if there is no such cluster.
    """
    with from_extra("ray", "clusters need"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray 2.60 warns if it is not set
    os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # by default without bound
    options: dict[str, Any] = {"address": address}
    if address == LOCAL:
        options |= {"num_cpus": max(workers, 1), "include_dashboard": False}
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    try:
        if colon:  # where nothing listens, Ray waits ten minutes
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
        before = signal.getsignal(signal.SIGTERM)
        ray.init(log_to_driver=False, **options)
        if threading.current_thread() is threading.main_thread():  # Ray has taken SIGTERM for itself
            signal.signal(signal.SIGTERM, before)
    except (OSError, ValueError, OverflowError) as error:
        raise ConnectionError(f"cluster.address is {address!r}, where no Ray answers: {error}") from None
    except (RuntimeError, ray.exceptions.AuthenticationError) as error:  # another Ray or Python, no token
        raise ConnectionError(
            f"cluster.address is {address!r}, whose Ray cannot be used from here: {error}"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


class RayPool:
    """The processors of a Ray cluster, on which jobs are tasks.

    Ray repeats a job whose process or node is lost, up to ``RETRIES`` times. Jobs and results are pickled
    here, because arrays that Ray itself transfers are read-only.

    Args:
        ray: The module ``ray``, connected to a cluster.
        most: The largest number of jobs at the same time; None for one on each processor.
        patience: The seconds without any processor after which a NoWorkersError is raised.

    Attributes:
        places: The node and the process of each worker that did a job of the latest :meth:`imap`.
    """

    def __init__(self, ray: Any, most: int | None = None, patience: float = math.inf) -> None:
        self._ray, self._most, self._patience = ray, most or MOST_ON_CLUSTER, patience
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do_on_cluster)
        self._pending = set[Any]()
        self._seen = 0.0  # the last time at which there was a processor
        self.places = set[tuple[str, int]]()

    def wait_for_processor(self) -> None:
        """Wait until a processor is free."""
        job = self._ray.remote(num_cpus=1)(lambda: None).remote()
        try:
            self._ray.get(job, timeout=self._patience)
        except self._ray.exceptions.GetTimeoutError:
            raise self._no_workers() from None

    def imap(
        self, function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        """Yield the index and the result of every job as it ends; an early end cancels the others.

        WorkerError if Ray gave up a job, or :meth:`cancel` was called.
        """
        work = self._ray.put(self._ray.cloudpickle.dumps((function, shared)))
        self.places, self._seen, errors = set(), time.monotonic(), self._ray.exceptions
        try:
            for number, done in _results(partial(self._submit, work), jobs, self._most, self._watch):
                place, result = pickle.loads(done)  # noqa: S301 - by our own process
                self.places.add(place)
                yield number, result
        except errors.RayTaskError as error:
            raise error.cause or WorkerError(str(error)) from error
        except errors.RayError as error:
            raise WorkerError(
                f"a job lost its process {RETRIES + 1} times: killed, perhaps for lack of memory, or lost "
                f"with its node; Ray says {type(error).__name__}"
            ) from error
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Cancel all jobs; an :meth:`imap` in another thread then ends with an error."""
        for reference in list(self._pending):
            self._ray.cancel(reference, force=True)

    def _submit(self, work: Any, job: Any) -> Future[bytes]:
        reference = self._task.remote([work], self._ray.cloudpickle.dumps(job))
        self._pending.add(reference)
        future: Future[bytes] = reference.future()
        future.add_done_callback(lambda _: self._pending.discard(reference))
        return future

    def _watch(self, has_result: bool) -> None:
        if has_result or self._ray.cluster_resources().get("CPU"):
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen >= self._patience:
            raise self._no_workers()

    def _no_workers(self) -> NoWorkersError:
        processors = self._ray.cluster_resources().get("CPU", 0)
        free = self._ray.available_resources().get("CPU", 0)
        return NoWorkersError(
            f"no worker for {self._patience:g} s: the cluster has {processors:g} processors, "
            f"of which {free:g} are free"
        )


def _do_on_cluster(work: list[Any], job: bytes) -> bytes:
    """Do a job; ``work`` holds one reference, to the function and the shared data."""
    import ray

    function, shared = _fetch_work(work[0])
    with one_thread():
        result = function(shared, pickle.loads(job))  # noqa: S301 - by the learner
    place = ray.get_runtime_context().get_node_id(), os.getpid()
    done: bytes = ray.cloudpickle.dumps((place, result))
    return done


@lru_cache(maxsize=1)
def _fetch_work(reference: Any) -> Any:
    import ray

    return pickle.loads(ray.get(reference))  # noqa: S301 - by the learner
