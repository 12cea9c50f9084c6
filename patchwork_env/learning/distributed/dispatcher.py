"""Has jobs done by workers that may come and go, whoever they are."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from threading import Event
from typing import Any, NamedTuple, Protocol

from patchwork_env.errors import NoWorkersError

_LOOK_UP = 0.5
"""Seconds after which a wait ends in which nothing happens, to see whether to go on."""

_MOST_LOSSES = 10
"""Of one job: it is not bad luck any more that nobody survives it."""


class LostError(Exception):
    """A worker ended, or its result is lost; the same job can be done by another one."""


class StoppedError(RuntimeError):
    """The dispatcher was stopped."""


class Staff(Protocol):
    """Where workers come from. Tickets stand for what they are asked for and have not answered yet."""

    def hire(self) -> tuple[Any, Hashable]:
        """Asks for a new worker; it, and the ticket of its beginning, which ends as soon as there is room."""

    def admit(self, begun: Any) -> str:
        """Looks at what a worker says that has begun; returns the name of its machine.

        Raises:
            NoWorkersError: It is of no use, nor would others be.
        """

    def share(self, value: Any) -> Any:
        """Puts what all jobs of a batch have in common within reach of all workers."""

    def give(self, worker: Any, shared: Any, job: Any) -> Hashable:
        """Gives a worker a job; returns its ticket."""

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> list[Any]:
        """The tickets that have ended, as soon as there is one; none if there is none for so long."""

    def result(self, ticket: Any) -> Any:
        """What a worker answered.

        Raises:
            LostError: It never will.
        """

    def dismiss(self, worker: Any) -> None:
        """Ends a worker, if it has not ended by itself."""

    def shortage(self, workers: int) -> str:
        """What is missing for so many workers."""


class _Task(NamedTuple):
    worker: Any
    number: int


class Dispatcher:
    """Gives each idle worker the next job, and a lost job to another worker.

    Results are of the jobs alone if the jobs are functions of what they are given: who does them, how many
    workers there are and which of them end changes nothing. Workers that end are replaced, and workers that
    there was no room for begin when there is.

    Args:
        staff: Where workers come from.
        workers: How many there should be.
        patience: Seconds to wait for a first worker, or for another one when all have ended.
        clock: Tells the seconds.

    Attributes:
        lost: Jobs that had to be done again.
    """

    def __init__(
        self, staff: Staff, workers: int, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lost = 0
        self._staff, self._size, self._patience, self._clock = staff, workers, patience, clock
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
        """Workers that have begun."""
        return len(self._machines)

    @property
    def machines(self) -> int:
        """Machines with workers."""
        return len(set(self._machines.values()))

    def open(self) -> None:
        """Waits for the first worker.

        Raises:
            NoWorkersError: There is none, or it is of no use.
        """
        began = self._clock()
        while not self._machines:
            self._hire()
            self._wait(began)

    def do(self, shared: Any, jobs: Sequence[Any]) -> list[Any]:
        """The results of some jobs, in their order.

        Args:
            shared: Given to the workers beside each job.
            jobs: What is to be done.

        Raises:
            NoWorkersError: There is nobody to do them, or nobody survives one of them.
            StoppedError: By :meth:`stop`.
        """
        within_reach = self._staff.share(shared)
        self._todo, self._results, self._losses = deque(range(len(jobs))), {}, Counter()
        alive = self._clock()
        while len(self._results) < len(jobs):
            self._hire()
            while self._idle and self._todo:
                self._give(within_reach, jobs)
            if self._machines:
                alive = self._clock()
            self._wait(alive)
        return [self._results[number] for number in range(len(jobs))]

    def stop(self) -> None:
        """Ends :meth:`do`, which another thread may be in."""
        self._stopped.set()

    def close(self) -> None:
        """Ends all workers."""
        self.stop()
        for worker in [*self._starting.values(), *self._machines]:
            self._staff.dismiss(worker)

    def _hire(self) -> None:
        for _ in range(self._size - len(self._starting) - len(self._machines)):
            worker, ticket = self._staff.hire()
            self._starting[ticket] = worker

    def _give(self, shared: Any, jobs: Sequence[Any]) -> None:
        task = _Task(self._idle.popleft(), self._todo.popleft())
        self._busy[self._staff.give(task.worker, shared, jobs[task.number])] = task

    def _wait(self, alive: float) -> None:
        """Notes what has ended; raises an error if there is no worker, and was none since ``alive``."""
        if self._stopped.is_set():
            raise StoppedError("the dispatcher was stopped")
        for ticket in self._staff.wait([*self._starting, *self._busy], _LOOK_UP):
            if ticket in self._starting:
                self._note_beginning(ticket, self._starting.pop(ticket))
            else:
                self._note_result(ticket, self._busy.pop(ticket))
        if not self._machines and self._clock() - alive >= self._patience:
            raise NoWorkersError(f"no worker for {self._patience:g} s: {self._staff.shortage(self._size)}")

    def _note_beginning(self, ticket: Any, worker: Any) -> None:
        try:
            self._machines[worker] = self._staff.admit(self._staff.result(ticket))
        except LostError:
            self._staff.dismiss(worker)
        else:
            self._idle.append(worker)

    def _note_result(self, ticket: Any, task: _Task) -> None:
        try:
            self._results[task.number] = self._staff.result(ticket)
        except LostError as error:
            self.lost += 1
            self._losses[task.number] += 1
            if self._losses[task.number] == _MOST_LOSSES:
                raise NoWorkersError(f"{_MOST_LOSSES} workers ended in the same job: {error}") from None
            self._todo.appendleft(task.number)
            del self._machines[task.worker]
            self._staff.dismiss(task.worker)
        else:
            self._idle.append(task.worker)
