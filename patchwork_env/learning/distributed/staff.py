"""Workers that are actors of Ray."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from patchwork_env.errors import NoWorkersError
from patchwork_env.learning.config import ClusterRun
from patchwork_env.learning.distributed.dispatcher import LostError
from patchwork_env.learning.distributed.worker import Begun, Order, Worker, versions


class RayStaff:
    """See ``Staff``; workers are handles of actors, tickets references.

    Args:
        ray: Connected.
        config: Of the run.
    """

    def __init__(self, ray: ModuleType, config: ClusterRun) -> None:
        self._ray = ray
        # A worker that ends is replaced by the dispatcher, which knows what was lost with it.
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._config = ray.put(config)
        self._versions = versions()

    def hire(self) -> tuple[Any, Any]:
        """An actor, which Ray starts as soon as a processor is free."""
        worker = self._actor.remote(self._config)
        return worker, worker.begin.remote()

    def admit(self, begun: Begun) -> str:
        """The machine of a worker, which has the versions that the learner has."""
        others = [
            f"{name} {begun.versions.get(name, 'missing')} instead of {version}"
            for name, version in self._versions.items()
            if begun.versions.get(name) != version
        ]
        if others:
            raise NoWorkersError(
                f"the machine {begun.machine} of the cluster has {', '.join(others)}: "
                f"workers need what the learner has, on {platform.node()}"
            )
        return begun.machine

    def share(self, value: Order) -> Any:
        """Puts it into the object store, from which a machine takes it once for all its workers."""
        return self._ray.put(value)

    def give(self, worker: Any, shared: Any, job: Any) -> Any:
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
            raise LostError(str(error)) from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError) as error:
            raise LostError(str(error)) from None

    def dismiss(self, worker: Any) -> None:
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
