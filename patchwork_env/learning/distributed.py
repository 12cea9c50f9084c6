"""Jobs on processes of this machine, or on the processors of a Ray cluster, with the same results.

Nothing here knows what the jobs are, and Ray is imported only when a cluster is asked for.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import connection
from queue import Empty, SimpleQueue
from types import ModuleType
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


Workers = int | OnCluster  # what does the jobs: a number of processes of this machine, or a cluster


def check_workers(workers: Workers) -> Workers:
    """The workers, after a check; an error names a number or an address that cannot be."""
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
    """Yields the index and the result ``function(shared, job)`` of every job as it ends.

    With one worker this process does the jobs, in order. Otherwise other processes do them, in any order, and
    are stopped at once if an error or a signal ends the iteration; they need a function from the top level of
    a module, and data that can be pickled. PyTorch has one thread everywhere, for results must not depend on
    the number of workers.

    Raises:
        ValueError: ``shared`` cannot be pickled, or there can be no such workers.
        WorkerError: A process was killed, or could not start.
        ConnectionError: There is no such cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    if isinstance(workers, OnCluster):
        check_workers(workers)
        if not jobs:
            return
        with connected(workers.address, workers.most or usable_cores()) as ray:
            yield from RayPool(ray, workers.most).imap(function, shared, jobs)
    elif workers == 1 or len(jobs) < 2:
        with one_thread():
            for number, job in enumerate(jobs):
                yield number, function(shared, job)
    else:
        yield from do_in_processes(function, shared, jobs, workers)


# --- options of commands ----------------------------------------------------------------------------------


def add_worker_options(parser: argparse.ArgumentParser, default: int, flag: str = "--workers") -> None:
    """Adds ``--workers``, ``--cluster`` and what belongs to them to the options of a command."""
    parser.add_argument(
        flag,
        dest="workers",
        type=int,
        metavar="N",
        help="number of processes; the results do not depend on it "
        f"(default: {default}; of a cluster: all of its processors)",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="let a Ray cluster do the work: local, a new one on this machine; auto, the cluster "
        "that this machine belongs to; or host:port of a cluster's head node",
    )
    parser.set_defaults(default_workers=default)


def workers_of(options: argparse.Namespace) -> Workers:
    """The workers that the options ask for; ValueError if the number or the address is not allowed."""
    if options.cluster is not None:
        return check_workers(OnCluster(options.cluster, options.workers))
    return check_workers(options.default_workers if options.workers is None else options.workers)


# --- processes of this machine ------------------------------------------------------------------------------


def pickled(shared: Any) -> bytes:
    """Data for several processes as bytes; ValueError if it cannot be sent to them."""
    try:
        return pickle.dumps(shared)
    except Exception as error:
        raise _pickling_error(error) from None


def _pickling_error(error: Exception) -> ValueError:
    return ValueError(
        f"{error}: what several workers share must allow pickling; take 1 worker, or functions and classes "
        "that stand at the top of a module, not in a cell of a notebook"
    )


def use_one_thread() -> None:
    """Makes PyTorch, if it is imported, use one thread from now on."""
    if "torch" in sys.modules:  # code that needs it has imported it already
        sys.modules["torch"].set_num_threads(1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Makes PyTorch, if it is imported, use one thread within the block."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    use_one_thread()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def do_in_processes(
    function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Result]]:
    """Yields the index and the result of every job as it ends; see ``do_jobs``."""
    with _pool(min(processes, len(jobs)), pickled((function, shared))) as pool:
        numbers = {pool.submit(_do_here, job): number for number, job in enumerate(jobs)}
        try:
            left = set(numbers)
            while left:
                stop_if_asked()
                done, left = wait(left, _WAIT_SECONDS, FIRST_COMPLETED)
                for future in done:
                    yield numbers[future], future.result()
        except BrokenExecutor:
            raise WorkerError(
                "a worker process ended before its work was done: it was killed, perhaps for lack of memory,"
                ' or the program that uses workers is a script without `if __name__ == "__main__":`'
            ) from None


@contextmanager
def _pool(processes: int, work: bytes) -> Iterator[ProcessPoolExecutor]:
    """Processes that are stopped at once if an error or a signal ends the block."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _start_process, (work,))
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # nobody wants the results any more
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_work: tuple[Callable[[Any, Any], Any], Any] | ValueError
"""The function and the shared data, or why this process has not got them."""


def _start_process(work: bytes) -> None:
    global _work
    try:
        _work = pickle.loads(work)  # noqa: S301 - by our own process
    except Exception as error:  # functions of notebooks are in no module that a process could import
        _work = _pickling_error(error)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_thread()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do_here(job: Any) -> Any:
    if isinstance(_work, ValueError):
        raise _work
    function, shared = _work
    return function(shared, job)


# --- a Ray cluster ------------------------------------------------------------------------------------------

LOCAL = "local"  # the address that starts a Ray cluster on this machine
RETRIES = 4  # how often a job is repeated after its process was lost, alone or with its node
_WAIT_SECONDS = 0.5
"""How long to wait for a result before looking whether the pool was stopped or has no processor."""
_ANSWER_SECONDS = 10.0  # how long a cluster may take to accept a connection


def load_ray(who: str = "clusters need") -> ModuleType:
    """The module ``ray``; if it is missing, the error begins with ``who`` and says how to install it."""
    with from_extra("ray", who):
        import ray
    return ray


@contextmanager
def connected(address: str, workers: int, who: str = "clusters need") -> Iterator[Any]:
    """Connects Ray to a cluster within the block; a connection that exists already is used and kept.

    A ``local`` cluster has ``workers`` processors, one at least, and ends with the connection; without a
    cluster there is a ConnectionError. ``who`` needs Ray, for the message that it is not installed.
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
        before = signal.getsignal(signal.SIGTERM)
        ray.init(log_to_driver=False, **options)
        if threading.current_thread() is threading.main_thread():  # Ray has taken SIGTERM for itself
            signal.signal(signal.SIGTERM, before)
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

    If the process or the node of a job is lost, another one does the job. Jobs and results are pickled here,
    for arrays that Ray itself transfers are read-only.

    Args:
        ray: The module ``ray``, connected to a cluster.
        most: The largest number of jobs at the same time; None for one on each processor.
        patience: How many seconds to wait while there is no processor; None waits for ever.
        processors, gpus: How many of them each job takes.
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
        self._task = ray.remote(num_cpus=processors, num_gpus=gpus, max_retries=0)(_do_on_cluster)
        self._has_processor = False
        self._stopped = threading.Event()
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

        All other jobs are then cancelled. A job that lost its process ``RETRIES + 1`` times is a WorkerError,
        a cluster without processors a NoWorkersError, and PoolStoppedError follows a :meth:`stop`.
        """
        pickled(shared)
        work = self._ray.put(self._ray.cloudpickle.dumps((function, shared)))
        todo, losses = deque(range(len(jobs))), Counter[int]()
        ended: SimpleQueue[Future[bytes]] = SimpleQueue()
        pending: dict[Future[bytes], tuple[int, Any]] = {}
        self.places = set()
        try:
            while todo or pending:
                while todo and (self._most is None or len(pending) < self._most):
                    number = todo.popleft()
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
        alive = time.monotonic()
        while True:
            stop_if_asked()
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


_known: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {}
"""The function and the shared data of this process, by the name of their reference."""


def _do_on_cluster(work: list[Any], job: bytes) -> bytes:
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
