"""Jobs on processes of this machine or on the processors of a cluster, with the same results."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from patchwork_env.core.checks import check_between
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.names import short_repr
from patchwork_env.learning.distributed.processes import Job, Result, Shared, do_in_processes, one_thread
from patchwork_env.learning.distributed.ray_cluster import RayPool, connected

MOST_PROCESSES, MOST_ON_CLUSTER = 1024, 10**5
"""The most processes of this machine, and the most jobs at the same time on a cluster."""
_ADDRESS = re.compile(r"local|auto|\S+:\d+")


class OnCluster(NamedTuple):
    """The processors of a Ray cluster, each of which does one job at a time.

    Attributes:
        address: The address: ``local`` starts a cluster on this machine, ``auto`` is the cluster that this
            machine belongs to, and ``host:port`` is the head node of another one.
        most: The largest number of jobs at the same time; None for one on each processor.
    """

    address: str
    most: int | None = None


Workers = int | OnCluster
"""What does the jobs: a number of processes of this machine, or a cluster."""


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

    With one worker this process does the jobs, in order. Otherwise other processes do them, in any order;
    they are stopped at once if an error or a signal ends the iteration. They need a function from the top
    level of a module, and data that can be pickled, which every process gets once. PyTorch uses one thread in
    either case: the processes occupy the cores already, and results must not depend on the number of workers.

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
