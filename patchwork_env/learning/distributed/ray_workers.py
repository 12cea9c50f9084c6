"""Workers that are Ray actors."""

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
    """What a worker keeps from one job to the next, and does its jobs with."""

    def work(self, shared: Any, job: Any) -> Any:
        """The result of a job.

        Args:
            shared: The data that all jobs of a batch have in common.
            job: The job.
        """


class Started(NamedTuple):
    """What a worker reports when it has started.

    Attributes:
        machine: The identifier of its machine in the cluster.
        process: The process identifier on that machine.
        versions: The versions of the packages that results depend on, by package; see :func:`versions`.
    """

    machine: str
    process: int
    versions: dict[str, str]


class Worker:
    """Does jobs on one thread, in a process of its own.

    Args:
        new_service: The function that makes the service, from the top level of a module.
        config: The argument of ``new_service``.
    """

    def __init__(self, new_service: Callable[[Any], Service], config: Any) -> None:
        keep_freed_memory()
        self._service = new_service(config)
        use_one_thread()

    def start(self) -> Started:
        """Reports that the worker has started."""
        node = load_ray().get_runtime_context().get_node_id()
        return Started(node, os.getpid(), versions())

    def work(self, shared: Any, job: Any) -> Any:
        """The result of a job; see :meth:`Service.work`."""
        return self._service.work(shared, job)


def versions() -> dict[str, str]:
    """The versions of all that the results of a job depend on, by package."""
    return {name: version for name, version in made_with().items() if name != "machine"}


class RayBackend:
    """A ``Backend`` whose workers are handles of actors and whose tickets are references.

    Args:
        ray: The module ``ray``, connected to a cluster.
        new_service: The function that makes a worker's service, from the top level of a module.
        config: The argument of ``new_service``.
    """

    def __init__(self, ray: ModuleType, new_service: Callable[[Any], Service], config: Any) -> None:
        self._ray = ray
        # Not Ray but the pool replaces a worker that ends: the pool knows which job was lost.
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._new_service, self._config = new_service, ray.put(config)
        self._versions = versions()

    def start(self) -> tuple[Any, Any]:
        """An actor, which Ray starts as soon as a processor is free."""
        worker = self._actor.remote(self._new_service, self._config)
        return worker, worker.start.remote()

    def check(self, started: Started) -> str:
        """The machine of a worker, after checking that it has the versions of this process."""
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
        """Puts data into the object store; each machine fetches it once for all its workers."""
        return self._ray.put(value)

    def submit(self, worker: Any, shared: Any, job: Any) -> Any:
        """Sends a job to an actor."""
        return worker.work.remote(shared, job)

    def wait(self, tickets: Sequence[Any], seconds: float) -> list[Any]:
        """The tickets that are answered; see :meth:`Backend.wait`."""
        waiting = list(tickets)
        if self._ray.wait(waiting, num_returns=1, timeout=seconds)[0]:
            ended: list[Any] = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0]
            return ended
        return []

    def result(self, ticket: Any) -> Any:
        """What an actor returned; its arrays may lie in the object store and are read-only then."""
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
        """How many processors there are, and how many of them are free, as text."""
        there, free = self._ray.cluster_resources(), self._ray.available_resources()
        return (
            f"each of the {workers} workers of cluster.workers takes a processor; the cluster has "
            f"{there.get('CPU', 0):g}, of which {free.get('CPU', 0):g} are free"
        )


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()
