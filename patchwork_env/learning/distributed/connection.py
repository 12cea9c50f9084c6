"""The way to Ray. Nothing else here is imported, and Ray neither, unless a run asks for a cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from patchwork_env.learning.config import Cluster
from patchwork_env.learning.system.signals import signals_wait

_ANSWER_SECONDS = 10.0
LOCAL = "local"
"""The address of a Ray of one's own on this machine."""


def load_ray() -> ModuleType:
    """Ray.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError("clusters need Ray: pip install 'patchwork-env[ray]'") from None
    return ray


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected to a cluster and disconnected in the end; as it is if it is connected already.

    Args:
        cluster: ``local`` starts a Ray of one processor for each worker, which ends with the connection.

    Raises:
        ConnectionError: There is no cluster at the address, or none that can be used from here.
        ModuleNotFoundError: Ray is not installed.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray 2.60 warns if it is not set
    options: dict[str, Any] = {"address": cluster.address}
    if cluster.address == LOCAL:
        options |= {"num_cpus": max(cluster.workers, 1), "include_dashboard": False}
    try:
        _knock(cluster.address)
        with signals_wait():  # Ray takes SIGTERM for itself, and loses what is raised while it starts
            ray.init(log_to_driver=False, **options)
    except ConnectionError as error:
        raise ConnectionError(
            f"cluster.address is {cluster.address!r}, where no Ray answers: {error}"
        ) from None
    except (RuntimeError, ray.exceptions.AuthenticationError) as error:  # another Ray or Python, no token
        raise ConnectionError(
            f"cluster.address is {cluster.address!r}, whose Ray cannot be used from here: {error}"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises ConnectionError if nobody listens at ``host:port``, for which Ray waits ten minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConnectionError(str(error)) from None
