"""Jobs on several processes that share what they need, and that end when their parent does.

The processes are of this machine, or of a cluster; see :mod:`patchwork_env.learning.distributed.tasks`.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from patchwork_env.core.checks import check_at_least_one
from patchwork_env.errors import WorkerError

_ADDRESS = re.compile(r"local|auto|\S+:\d+")

_Shared = TypeVar("_Shared")
_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


class OnCluster(NamedTuple):
    """The processors of a cluster of Ray, each of which does one job at a time.

    Attributes:
        address: ``local`` for a Ray of one's own on this machine, ``auto`` for the cluster that this machine
            belongs to, or ``host:port`` of a cluster's head node.
        most: How many do jobs at the same time; None for all of them.
    """

    address: str
    most: int | None = None


Workers = int | OnCluster
"""Who does jobs: so many processes of this machine, or a cluster."""


def check_workers(workers: Workers) -> Workers:
    """Raises ValueError or TypeError, which name it, if there can be no such workers."""
    if not isinstance(workers, OnCluster):
        return check_at_least_one(workers, "workers")
    if not _ADDRESS.fullmatch(workers.address):
        raise ValueError(f"cluster is {workers.address!r}; allowed are local, auto and host:port")
    if workers.most is not None:
        check_at_least_one(workers.most, "workers")
    return workers


@contextmanager
def kept_connected(workers: Workers) -> Iterator[None]:
    """Within the block a cluster stays connected: for several calls of :func:`do_jobs`, one after the other.

    Raises:
        ConnectionError, ModuleNotFoundError: There is no such cluster, or no Ray.
    """
    if not isinstance(workers, OnCluster):
        yield
        return
    from patchwork_env.learning.distributed.tasks import connected_to

    with connected_to(workers):
        yield


def do_jobs(
    function: Callable[[_Shared, _Job], _Done], shared: _Shared, jobs: Sequence[_Job], workers: Workers
) -> Iterator[tuple[int, _Done]]:
    """Yields the index and the result of every job as it ends.

    With one worker the jobs are done here, in order. Otherwise processes do them, in any order; they are
    stopped at once if an error or a signal ends the iteration. PyTorch uses one thread in either case:
    the processes have the cores already, and results do not depend on the number of workers.

    Args:
        function: Called with ``shared`` and a job; defined at the top of a module if there are processes.
        shared: Sent to every process once; allows pickling if there are processes.
        jobs: What is to be done.
        workers: The number of processes, at least 1, or the cluster that does the jobs.

    Raises:
        ValueError: ``shared`` does not allow pickling.
        WorkerError: A process was killed, or could not start.
        ConnectionError, ModuleNotFoundError: There is no such cluster, or no Ray.
    """
    if isinstance(workers, OnCluster):
        from patchwork_env.learning.distributed.tasks import do_tasks

        yield from do_tasks(function, shared, jobs, workers)
        return
    if workers == 1 or len(jobs) < 2:
        with one_thread():
            for number, job in enumerate(jobs):
                yield number, function(shared, job)
        return
    check_pickling(shared)
    with _processes(min(workers, len(jobs)), function, shared) as pool:
        numbers = {pool.submit(_do, job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(numbers):
                yield numbers[future], future.result()
        except BrokenExecutor:
            raise WorkerError(
                "a worker process ended before its work was done: it was killed, perhaps for lack of memory,"
                ' or the program that uses workers is a script without `if __name__ == "__main__":`'
            ) from None


def check_pickling(shared: Any) -> None:
    """Raises ValueError if what several processes are to share cannot be sent to them."""
    try:
        pickle.dumps(shared)
    except Exception as error:
        raise ValueError(
            f"{error}: what several workers share must allow pickling; "
            "take 1 worker, or functions and classes that stand at the top of a module"
        ) from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the block PyTorch, if it is loaded, uses one thread."""
    torch: Any = sys.modules.get("torch")  # whoever needs it has imported it
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _processes(
    workers: int, function: Callable[[Any, Any], Any], shared: Any
) -> Iterator[ProcessPoolExecutor]:
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start_worker, (function, shared))
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # whatever they are doing is not wanted any more
        raise
    finally:
        pool.shutdown(cancel_futures=True)


# --- in the processes -------------------------------------------------------------------------------------


_work: tuple[Callable[[Any, Any], Any], Any]


def _start_worker(function: Callable[[Any, Any], Any], shared: Any) -> None:
    global _work
    _work = function, shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    Thread(target=_end_with_parent, daemon=True).start()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _end_with_parent() -> None:
    """Ends the process as soon as its parent is gone, however that died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _do(job: Any) -> Any:
    function, shared = _work
    return function(shared, job)
