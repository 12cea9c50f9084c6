"""Workers that are actors of Ray."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from patchwork_env.errors import NoWorkersError
from patchwork_env.learning.distributed.processes import use_one_thread
from patchwork_env.learning.distributed.ray_cluster import load_ray
from patchwork_env.learning.distributed.worker_pool import WorkerLostError
from patchwork_env.learning.system.machine import made_with
from patchwork_env.learning.system.memory import keep_freed_memory


class Service(Protocol):
    """What a worker does its jobs with, and keeps from one to the next."""

    def work(self, shared: Any, job: Any) -> Any:
        """The result of a job.

        Args:
            shared: What all jobs of a batch have in common.
            job: What is to be done.
        """


class Started(NamedTuple):
    """What a worker says of itself when it has started.

    Attributes:
        machine: The identifier of its machine in the cluster.
        process: Its number on that machine.
        versions: By package, of what results depend on.
    """

    machine: str
    process: int
    versions: dict[str, str]


class Worker:
    """Does jobs on one thread, in a process of its own.

    Args:
        new_service: Makes what the jobs are done with; a function at the top of a module.
        config: Its argument.
    """

    def __init__(self, new_service: Callable[[Any], Service], config: Any) -> None:
        keep_freed_memory()
        self._service = new_service(config)
        use_one_thread()

    def start(self) -> Started:
        """Says that the worker has started."""
        node = load_ray().get_runtime_context().get_node_id()
        return Started(node, os.getpid(), versions())

    def work(self, shared: Any, job: Any) -> Any:
        """Does a job."""
        return self._service.work(shared, job)


def versions() -> dict[str, str]:
    """By package, the versions of what the results of a job depend on."""
    return {name: version for name, version in made_with().items() if name != "machine"}


class RayBackend:
    """See ``Backend``: workers are handles of actors, tickets are references.

    Args:
        ray: Connected to a cluster.
        new_service: See :class:`Worker`.
        config: See :class:`Worker`.
    """

    def __init__(self, ray: ModuleType, new_service: Callable[[Any], Service], config: Any) -> None:
        self._ray = ray
        # A worker that ends is replaced by the pool, which knows what was lost with it.
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._new_service, self._config = new_service, ray.put(config)
        self._versions = versions()

    def start(self) -> tuple[Any, Any]:
        """An actor, which Ray starts as soon as a processor is free."""
        worker = self._actor.remote(self._new_service, self._config)
        return worker, worker.start.remote()

    def check(self, started: Started) -> str:
        """The machine of a worker, which has the versions that this process has."""
        others = [
            f"{name} {started.versions.get(name, 'missing')} instead of {version}"
            for name, version in self._versions.items()
            if started.versions.get(name) != version
        ]
        if others:
            raise NoWorkersError(
                f"the machine {started.machine} of the cluster has {', '.join(others)}: "
                f"workers need what the learner has, on {platform.node()}"
            )
        return started.machine

    def share(self, value: Any) -> Any:
        """Puts it into the object store, from which a machine takes it once for all its workers."""
        return self._ray.put(value)

    def submit(self, worker: Any, shared: Any, job: Any) -> Any:
        """Sends a job to an actor."""
        return worker.work.remote(shared, job)

    def wait(self, tickets: Sequence[Any], seconds: float) -> list[Any]:
        """Waits for the first of them, and takes the others that are there too."""
        waiting = list(tickets)
        if self._ray.wait(waiting, num_returns=1, timeout=seconds)[0]:
            ended: list[Any] = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0]
            return ended
        return []

    def result(self, ticket: Any) -> Any:
        """What an actor returned; its arrays may lie in the object store, and cannot be written to."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ticket)
        except errors.RayActorError as error:
            if error.actor_init_failed:
                raise NoWorkersError(f"a worker cannot begin: {_last_line(error)}") from None
            raise WorkerLostError(str(error)) from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError) as error:
            raise WorkerLostError(str(error)) from None

    def stop(self, worker: Any) -> None:
        """Kills an actor."""
        self._ray.kill(worker)

    def shortage(self, workers: int) -> str:
        """How many processors there are, and how many of them are free."""
        there, free = self._ray.cluster_resources(), self._ray.available_resources()
        return (
            f"each of the {workers} workers of cluster.workers takes a processor; the cluster has "
            f"{there.get('CPU', 0):g}, of which {free.get('CPU', 0):g} are free"
        )


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()
