"""Jobs on several processes of this machine, which end when their parent process does."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, TypeVar

from patchwork_env.errors import WorkerError

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")


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
        numbers = {pool.submit(_do, job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(numbers):
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


# --- in the processes -------------------------------------------------------------------------------------


_work: tuple[Callable[[Any, Any], Any], Any] | ValueError
"""The function and the shared data, or why this process has not got them."""


def _start_process(work: bytes) -> None:
    global _work
    try:
        _work = pickle.loads(work)  # noqa: S301 - by our own process
    except Exception as error:  # functions of notebooks are in no module that a process could import
        _work = _pickling_error(error)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    Thread(target=_end_with_parent, daemon=True).start()
    use_one_thread()


def _end_with_parent() -> None:
    """Ends this process as soon as its parent has ended, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _do(job: Any) -> Any:
    if isinstance(_work, ValueError):
        raise _work
    function, shared = _work
    return function(shared, job)
