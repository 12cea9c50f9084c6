"""What commands have in common whose work processes share, of this machine or of a cluster."""

from __future__ import annotations

import argparse

from patchwork_env.learning.distributed.workers import OnCluster, Workers, check_workers


def add_options(parser: argparse.ArgumentParser, default: int, flag: str = "--workers") -> None:
    """Adds ``--workers`` and ``--cluster``.

    Args:
        parser: Of the command.
        default: Processes without these options.
        flag: What the first of them is called.
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
