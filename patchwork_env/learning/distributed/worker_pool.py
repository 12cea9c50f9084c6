"""Jobs on a pool of workers that may come and go; a backend says where they come from.

Ray's own ``ActorPool`` neither replaces lost actors nor gives their jobs to others, and it waits for ever if
no processor is free.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from threading import Event
from typing import Any, NamedTuple, Protocol

from patchwork_env.errors import NoWorkersError

_WAIT_SECONDS = 0.5
"""How long to wait for an answer before looking whether the pool was stopped or has no workers."""

_MOST_LOSSES = 10
"""If so many workers end in the same job, the job is at fault, and not repeated."""


class WorkerLostError(Exception):
    """A worker ended, or its result is lost; another worker can do the same job."""


class PoolStoppedError(RuntimeError):
    """The pool was stopped while it had jobs to do."""


class Backend(Protocol):
    """Where workers come from. A ticket stands for a worker's answer that is still to come."""

    def start(self) -> tuple[Any, Hashable]:
        """Asks for a new worker; returns it and a ticket, which is answered when the worker has started."""

    def check(self, started: Any) -> str:
        """Checks what a worker reports at its start; returns the name of its machine.

        Raises:
            NoWorkersError: The worker cannot be used, and neither could others.
        """

    def share(self, value: Any) -> Any:
        """Makes the data that all jobs of a batch have in common available to all workers."""

    def submit(self, worker: Any, shared: Any, job: Any) -> Hashable:
        """Gives a worker a job; returns its ticket."""

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> list[Any]:
        """Waits for a first answer, up to so many seconds; returns all tickets that are answered."""

    def result(self, ticket: Any) -> Any:
        """What a worker answered.

        Raises:
            WorkerLostError: The worker will never answer.
        """

    def stop(self, worker: Any) -> None:
        """Ends a worker if it has not ended yet."""

    def shortage(self, workers: int) -> str:
        """What is missing for so many workers, as text for an error message."""


class _Task(NamedTuple):
    worker: Any
    number: int


class WorkerPool:
    """Gives each idle worker the next job, and a lost job to another worker.

    If the result of a job depends on the job alone, it does not matter which worker does it, how many workers
    there are, and which of them are lost. Lost workers are replaced. Workers for which no processor was free
    start when there is one.

    Args:
        backend: The backend that workers come from.
        workers: The number of workers that there should be.
        patience: How many seconds to wait for a first worker, or for another one when all are lost.
        clock: The function that returns the time in seconds.

    Attributes:
        lost: The number of jobs that had to be repeated.
    """

    def __init__(
        self, backend: Backend, workers: int, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lost = 0
        self._backend, self._size, self._patience, self._clock = backend, workers, patience, clock
        self._stopped = Event()
        self._starting: dict[Any, Any] = {}
        self._idle: deque[Any] = deque()
        self._busy: dict[Any, _Task] = {}
        self._machines: dict[Any, str] = {}
        self._todo: deque[int] = deque()
        self._results: dict[int, Any] = {}
        self._losses: Counter[int] = Counter()

    @property
    def workers(self) -> int:
        """The number of workers that have started."""
        return len(self._machines)

    @property
    def machines(self) -> int:
        """The number of machines with workers."""
        return len(set(self._machines.values()))

    def open(self) -> None:
        """Waits for the first worker.

        Raises:
            NoWorkersError: There is no worker, or it cannot be used.
        """
        began = self._clock()
        while not self._machines:
            self._start_missing()
            self._wait(began)

    def map(self, shared: Any, jobs: Sequence[Any]) -> list[Any]:
        """The results of some jobs, in their order; the workers get ``shared`` along with each of them.

        Raises:
            NoWorkersError: There is no worker, or no worker survives one of the jobs.
            PoolStoppedError: Another thread called :meth:`stop`.
        """
        reference = self._backend.share(shared)
        self._todo, self._results, self._losses = deque(range(len(jobs))), {}, Counter()
        alive = self._clock()
        while len(self._results) < len(jobs):
            self._start_missing()
            while self._idle and self._todo:
                self._submit(reference, jobs)
            if self._machines:
                alive = self._clock()
            self._wait(alive)
        return [self._results[number] for number in range(len(jobs))]

    def stop(self) -> None:
        """Makes a :meth:`map` that runs in another thread end with an error."""
        self._stopped.set()

    def close(self) -> None:
        """Ends all workers."""
        self.stop()
        for worker in [*self._starting.values(), *self._machines]:
            self._backend.stop(worker)

    def _start_missing(self) -> None:
        for _ in range(self._size - len(self._starting) - len(self._machines)):
            worker, ticket = self._backend.start()
            self._starting[ticket] = worker

    def _submit(self, shared: Any, jobs: Sequence[Any]) -> None:
        task = _Task(self._idle.popleft(), self._todo.popleft())
        self._busy[self._backend.submit(task.worker, shared, jobs[task.number])] = task

    def _wait(self, alive: float) -> None:
        """Takes answers; raises an error if there is no worker and was none since the time ``alive``."""
        if self._stopped.is_set():
            raise PoolStoppedError("the pool was stopped")
        for ticket in self._backend.wait([*self._starting, *self._busy], _WAIT_SECONDS):
            if ticket in self._starting:
                self._note_start(ticket, self._starting.pop(ticket))
            else:
                self._note_result(ticket, self._busy.pop(ticket))
        if not self._machines and self._clock() - alive >= self._patience:
            raise NoWorkersError(f"no worker for {self._patience:g} s: {self._backend.shortage(self._size)}")

    def _note_start(self, ticket: Any, worker: Any) -> None:
        try:
            self._machines[worker] = self._backend.check(self._backend.result(ticket))
        except WorkerLostError:
            self._backend.stop(worker)
        else:
            self._idle.append(worker)

    def _note_result(self, ticket: Any, task: _Task) -> None:
        try:
            self._results[task.number] = self._backend.result(ticket)
        except WorkerLostError as error:
            self.lost += 1
            self._losses[task.number] += 1
            if self._losses[task.number] == _MOST_LOSSES:
                raise NoWorkersError(f"{_MOST_LOSSES} workers ended in the same job: {error}") from None
            self._todo.appendleft(task.number)
            del self._machines[task.worker]
            self._backend.stop(task.worker)
        else:
            self._idle.append(task.worker)
