"""The options ``--workers`` and ``--cluster`` of commands."""

from __future__ import annotations

import argparse

from patchwork_env.learning.distributed import Workers, check_workers


def add_worker_options(parser: argparse.ArgumentParser, default: int, flag: str = "--workers") -> None:
    """Add ``--workers``, by the name ``flag``, and ``--cluster`` to the options of a command."""
    options = parser.add_mutually_exclusive_group()
    number = f"number of processes; the results do not depend on it (default: {default})"
    options.add_argument(flag, dest="workers", type=int, default=default, metavar="N", help=number)
    address = (
        "play on a Ray cluster: local, a new one on this machine; auto, that of this machine; or host:port"
    )
    options.add_argument("--cluster", metavar="ADDRESS", help=address)


def workers_of(options: argparse.Namespace) -> Workers:
    """Return the workers that the options ask for; ValueError if the number or address is not allowed."""
    return check_workers(options.workers if options.cluster is None else options.cluster)
