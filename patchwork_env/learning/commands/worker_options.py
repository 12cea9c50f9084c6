"""The options of commands that let several processes, or a cluster, do the work."""

from __future__ import annotations

import argparse

from patchwork_env.learning.distributed import OnCluster, Workers, check_workers


def add_worker_options(parser: argparse.ArgumentParser, default: int, flag: str = "--workers") -> None:
    """Add ``--workers``, or ``flag``, and ``--cluster`` to the options of a command."""
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
    """Return the workers that the options ask for; ValueError if the number or address is not allowed."""
    if options.cluster is not None:
        return check_workers(OnCluster(options.cluster, options.workers))
    return check_workers(options.default_workers if options.workers is None else options.workers)
