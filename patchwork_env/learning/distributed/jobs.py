"""Jobs on processes of this machine or on the processors of a cluster; who does them changes no result."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from patchwork_env.core.checks import check_at_least_one
from patchwork_env.learning.distributed.processes import Job, Result, Shared, do_in_processes, one_thread
from patchwork_env.learning.distributed.ray_cluster import connected, do_on_cluster
from patchwork_env.learning.system.machine import usable_cores

_ADDRESS = re.compile(r"local|auto|\S+:\d+")


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


def kept_connected(workers: Workers) -> AbstractContextManager[Any]:
    """Within the block a cluster stays connected: for several calls of :func:`do_jobs`, one after the other.

    Raises:
        ConnectionError: There is no such cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    if not isinstance(workers, OnCluster):
        return nullcontext()
    return connected(workers.address, workers.most or usable_cores())


def do_jobs(
    function: Callable[[Shared, Job], Result], shared: Shared, jobs: Sequence[Job], workers: Workers
) -> Iterator[tuple[int, Result]]:
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
        ValueError: ``shared`` does not allow pickling, or there can be no such workers.
        WorkerError: A process was killed, or could not start.
        ConnectionError: There is no such cluster.
        ModuleNotFoundError: Ray is not installed.
    """
    if isinstance(workers, OnCluster):
        check_workers(workers)
        if not jobs:
            return
        with kept_connected(workers) as ray:
            yield from do_on_cluster(ray, function, shared, jobs, workers.most)
    elif workers == 1 or len(jobs) < 2:
        with one_thread():
            for number, job in enumerate(jobs):
                yield number, function(shared, job)
    else:
        yield from do_in_processes(function, shared, jobs, workers)


# --- options of commands ----------------------------------------------------------------------------------


def add_worker_options(parser: argparse.ArgumentParser, default: int, flag: str = "--workers") -> None:
    """Adds ``--workers`` and ``--cluster``.

    Args:
        parser: The command's.
        default: How many processes there are without these options.
        flag: The name of the first option.
    """
    parser.add_argument(
        flag,
        dest="workers",
        type=int,
        metavar="N",
        help="processes; the results do not depend on them "
        f"(default: {default}; of a cluster: all of its processors)",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="let a cluster of Ray do the work: local, a Ray of its own on this machine; auto, the cluster "
        "that this machine belongs to; or host:port of a cluster's head node",
    )
    parser.set_defaults(default_workers=default)


def workers_of(options: argparse.Namespace) -> Workers:
    """Who does the work.

    Raises:
        ValueError: The number or the address cannot be that.
    """
    if options.cluster is not None:
        return check_workers(OnCluster(options.cluster, options.workers))
    return check_workers(options.default_workers if options.workers is None else options.workers)
