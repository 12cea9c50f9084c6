"""Workers without Ray: everything that a pool asks of them happens in this process, in any order."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

from patchwork_env.learning.algorithms.common.remote_play import PlayService
from patchwork_env.learning.algorithms.common.remote_trainer import new_service
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.distributed.worker_pool import WorkerLostError, WorkerPool


class FakeWorker:
    """Does jobs; ended as soon as the backend says so."""

    def __init__(self, number: int, machine: str) -> None:
        self.number, self.machine, self.ended = number, machine, False


class FakeBackend:
    """A backend whose workers do their jobs when they are given.

    Args:
        work: Called with what jobs share, and a job.
        room: How many workers there is room for.
        machines: How many machines they are on.
        lost: Of the given jobs, the numbers of those that are lost with their workers.
    """

    def __init__(
        self,
        work: Callable[[Any, Any], Any],
        room: int = 100,
        machines: int = 1,
        lost: tuple[int, ...] | range = (),
    ) -> None:
        self.work, self.room, self.machines, self.lost = work, room, machines, lost
        self.workers: list[FakeWorker] = []
        self.given: list[tuple[int, Any]] = []
        self.at_most_together = 0
        self._tickets = count()
        self._starting: dict[int, FakeWorker] = {}
        self._answers: dict[int, Any] = {}
        self._random = np.random.default_rng(3)

    @property
    def alive(self) -> list[FakeWorker]:
        return [worker for worker in self.workers if not worker.ended]

    def start(self):
        worker = FakeWorker(len(self.workers), f"machine {len(self.workers) % self.machines}")
        self.workers.append(worker)
        ticket = next(self._tickets)
        self._starting[ticket] = worker
        return worker, ticket

    def check(self, started):
        return started

    def share(self, value):
        return pickle.dumps(value)

    def submit(self, worker, shared, job):
        ticket, number = next(self._tickets), len(self.given)
        self.given.append((worker.number, job))
        if number in self.lost:
            worker.ended = True
            self._answers[ticket] = WorkerLostError("killed")
        else:
            done = self.work(pickle.loads(shared), pickle.loads(pickle.dumps(job)))
            self._answers[ticket] = pickle.loads(pickle.dumps(done))
        return ticket

    def wait(self, tickets, seconds):
        busy = [ticket for ticket in tickets if ticket in self._answers]
        self.at_most_together = max(self.at_most_together, len(busy))
        begun = [t for t in tickets if t in self._starting and self._has_room(self._starting[t])]
        ended = busy + begun
        return [ended[self._random.integers(len(ended))]] if ended else []

    def _has_room(self, worker):
        return self.alive.index(worker) < self.room

    def result(self, ticket):
        if ticket in self._starting:
            return self._starting.pop(ticket).machine
        answer = self._answers.pop(ticket)
        if isinstance(answer, WorkerLostError):
            raise answer
        return answer

    def stop(self, worker):
        worker.ended = True

    def shortage(self, workers):
        return f"there is room for {self.room} of {workers}"


@contextmanager
def shared(path, workers, *settings, **options):
    """A trainer whose games are played by workers in this process, and their backend."""
    trainer = make_trainer(load_config(path, [f"cluster.workers={workers}", *settings]))
    services: dict[int, PlayService] = {}

    class OwnBackend(FakeBackend):
        def submit(self, worker, inputs, job):
            own = services.setdefault(worker.number, new_service(trainer.config))
            self.work = own.work
            return super().submit(worker, inputs, job)

    backend = OwnBackend(None, **options)
    with trainer.played_by(WorkerPool(backend, workers, 5.0)):
        yield trainer, backend
