"""Parallel jobs, in processes of this machine or as tasks on a Ray cluster, with the same results.

Ray is imported only for a cluster.
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
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

from patchwork_env.core.checks import check_between
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import short_repr
from patchwork_env.errors import NoWorkersError, WorkerError
from patchwork_env.learning.system import stop_if_asked, usable_cores

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

Workers = int | str
"""A number of processes of this machine, or a Ray cluster: ``local``, a new one; ``auto``, the one of this
machine; or the ``host:port`` of its head."""


def check_workers(workers: Workers) -> Workers:
    """Return the workers; ValueError if their number or address is not allowed."""
    if not isinstance(workers, str):
        return check_between(workers, 1, 1024, "workers")
    if not re.fullmatch(r"local|auto|\S+:\d+", workers):
        raise ValueError(
            f"workers is {short_repr(workers)}; allowed are 1 to 1024, local, auto and host:port"
        )
    return workers


def do_jobs(
    function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job], workers: Workers
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result ``function(shared, job)`` of every job as it ends.

    With one worker, this process does the jobs in order. Otherwise other processes do them in any order, and
    an error or a signal stops them at once. Then the function must be at the top level of a module, and all
    data must be picklable. PyTorch uses one thread, so that results do not depend on the number of workers.

    WorkerError if a process was killed or could not start, ConnectionError if the cluster cannot be used.
    """
    check_workers(workers)
    if isinstance(workers, str):
        with connected(workers, usable_cores()) as ray:
            yield from RayPool(ray).imap(function, shared, jobs)
    elif workers == 1 or len(jobs) < 2:
        with one_thread():
            for number, job in enumerate(jobs):
                yield number, function(shared, job)
    else:
        yield from _do_in_processes(function, shared, jobs, workers)


def _results(
    submit: Callable[[Job], Future[Result]],
    jobs: Sequence[Job],
    most: int | None = None,
    watch: Callable[[bool], object] = bool,
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result of every job as it ends; at most ``most`` are submitted at a time.

    Every half second, and after every result, signals take effect and ``watch`` is called.
    """
    todo, pending = iter(enumerate(jobs)), dict[Future[Result], int]()
    while True:
        pending |= {submit(job): number for number, job in islice(todo, most and most - len(pending))}
        if not pending:
            return
        stop_if_asked()
        done, _ = wait(pending, 0.5, FIRST_COMPLETED)
        watch(bool(done))
        for future in done:
            yield pending.pop(future), future.result()


# --- processes of this machine ------------------------------------------------------------------------------


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
    others, context = set(multiprocessing.active_children()), multiprocessing.get_context("spawn")
    work = pickle.dumps((function, shared))
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _start_process, (work,))
    try:
        yield from _results(lambda job: pool.submit(_do_here, job), jobs)
    except BaseException as error:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        if isinstance(error, BrokenExecutor):
            raise WorkerError(
                "a worker process ended before its work was done: it was killed, perhaps for lack of memory,"
                ' or the program that uses workers is a script without `if __name__ == "__main__":`'
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_work: Any = None  # the function and the shared data of this process


def _start_process(work: bytes) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = pickle.loads(work)  # noqa: S301 - by the parent


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do_here(job: Any) -> Any:
    function, shared = _work
    with one_thread():
        return function(shared, job)


# --- a Ray cluster ------------------------------------------------------------------------------------------

RETRIES = 4  # the number of times Ray repeats a job whose process or node was lost


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Connect Ray to a cluster within the block, or use the existing connection; yield the module ``ray``.

    A ``local`` cluster has ``workers`` processors. ConnectionError if there is no cluster that can be used.
    """
    with from_extra("ray", "clusters need"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray 2.60 warns if it is not set
    os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # unlimited by default
    own = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
    host, colon, port = address.rpartition(":")
    before = signal.getsignal(signal.SIGTERM)
    try:
        if colon:  # Ray itself would wait ten minutes for a server
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, **own)
    except (OSError, ValueError, OverflowError, RuntimeError, ray.exceptions.AuthenticationError) as error:
        raise ConnectionError(f"the Ray cluster {address!r} cannot be used: {error}") from None
    if threading.current_thread() is threading.main_thread():  # Ray has replaced the handler
        signal.signal(signal.SIGTERM, before)
    try:
        yield ray
    finally:
        ray.shutdown()


class RayPool:
    """Runs jobs as tasks on the cluster to which ``ray`` is connected, one at a time per processor.

    At most ``most`` jobs run at the same time. Ray repeats a job whose process or node is lost, up to
    ``RETRIES`` times. After ``patience`` seconds without any processor a NoWorkersError is raised. Jobs and
    results are pickled here, because arrays that Ray itself transfers are read-only.
    """

    def __init__(self, ray: Any, most: int | None = None, patience: float = math.inf) -> None:
        self._ray, self._most, self._patience = ray, most, patience
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do_on_cluster)
        self._pending = set[Any]()

    def imap(
        self, function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        """Yield the index and the result of every job as it ends; an early end cancels the others.

        WorkerError if Ray gave up on a job, or :meth:`cancel` was called.
        """
        work, errors = self._ray.put(self._ray.cloudpickle.dumps((function, shared))), self._ray.exceptions
        self._seen = time.monotonic()  # the last time at which there was a processor
        try:
            for number, result in _results(partial(self._submit, work), jobs, self._most, self._watch):
                yield number, pickle.loads(result)  # noqa: S301 - by our own process
        except errors.RayTaskError as error:
            raise error.cause or WorkerError(str(error)) from error
        except errors.RayError as error:
            times = f"a job lost its process {RETRIES + 1} times ({type(error).__name__})"
            raise WorkerError(f"{times}, perhaps for lack of memory or with its node") from error
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
            raise NoWorkersError(f"the cluster has had no processor for {self._patience:g} s")


def _do_on_cluster(work: list[Any], job: bytes) -> bytes:
    """Do a job; ``work`` holds one reference, to the function and the shared data."""
    import ray

    function, shared = _fetch_work(work[0], ray.get)
    with one_thread():
        result: bytes = ray.cloudpickle.dumps(function(shared, pickle.loads(job)))  # noqa: S301 - by the learner
    return result


@lru_cache(maxsize=1)
def _fetch_work(reference: Any, get: Callable[[Any], bytes]) -> Any:
    return pickle.loads(get(reference))  # noqa: S301 - by the learner
