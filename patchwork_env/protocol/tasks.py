"""Positions that agents think about: each in a thread, so many at once, the most urgent first."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from queue import PriorityQueue
from typing import Any

from patchwork_env.core.messages import error_with_field

Answer = dict[str, Any]
Work = Callable[["Task"], Answer]  # thinks about a position and returns the fields of the last answer

MOST_TASKS = 10_000  # the most positions that wait or are being worked on


class Task:
    """A position that an agent is to think about in a thread, and that has exactly one last answer.

    Tasks of a higher ``priority`` begin earlier; ``time_limit`` is in seconds of work.
    """

    def __init__(
        self,
        id: str,
        ply: int,
        work: Work,
        send: Callable[[Answer], None],
        priority: int = 0,
        time_limit: float | None = None,
    ) -> None:
        self.id, self.ply, self.priority, self.time_limit = id, ply, priority, time_limit
        self._work, self._send = work, send
        self._lock = threading.Lock()
        self._latest: Answer = {}
        self.is_done = False
        self.when_done: Callable[[Task], None] = lambda task: None

    def note(self, fields: Answer, tell: bool = False) -> None:
        """Keeps what was found so far, and sends it if ``tell``."""
        with self._lock:
            self._latest = fields
            if tell and not self.is_done:
                self._send({"id": self.id, "ply": self.ply, "done": False, **fields})

    def run(self) -> None:
        """Works, and sends the last answer, unless the task is ended before."""
        try:
            with _limited(self.time_limit, self.terminate):
                fields = {"done": True, **self._work(self)}
        except BaseException as error:  # whatever an agent raises, even SystemExit
            fields = error_with_field(error)
        self._finish(fields)

    def terminate(self) -> bool:
        """Sends what was found so far as the last answer; returns False if the last one was sent before."""
        rest = self._latest or {"no_results": True}
        return self._finish({"done": True, "terminated": True, **rest})

    def _finish(self, fields: Answer) -> bool:
        with self._lock:
            if self.is_done:
                return False
            self.is_done = True
            self._send({"id": self.id, "ply": self.ply, **fields})
        self.when_done(self)
        return True


@contextmanager
def _limited(seconds: float | None, end: Callable[[], object]) -> Iterator[None]:
    """Calls ``end`` from another thread if the block takes longer than so many seconds."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Pool:
    """Threads that work on tasks. A task that is ended early keeps its thread until its agent answers."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._started = 0
        self._changed = threading.Condition()
        self._tasks: defaultdict[str, set[Task]] = defaultdict(set)  # by the id of their query
        self._size = 0
        self._waiting: PriorityQueue[tuple[float, int, Task | None]] = PriorityQueue()
        self._count = 0

    def __contains__(self, id: str) -> bool:
        """Whether there are tasks of a query that have no last answer yet."""
        return id in self._tasks

    def __len__(self) -> int:
        return self._size

    def add(self, tasks: Collection[Task]) -> None:
        """Lets the threads work on tasks, in their order."""
        with self._changed:
            if len(self) + len(tasks) > MOST_TASKS:
                raise ValueError(f"there are {len(self):,} positions to think about; wait for answers")
            for task in tasks:
                self._count += 1
                task.when_done = self._forget
                self._tasks[task.id].add(task)
                self._size += 1
                self._waiting.put((-task.priority, self._count, task))
            for _ in range(min(self._threads - self._started, len(tasks))):
                self._started += 1
                threading.Thread(target=self._run, name="engine", daemon=True).start()

    def terminate(self, id: str | None = None, plies: Collection[int] | None = None) -> int:
        """Ends the tasks of a query, or only some ``plies`` of it, or all tasks; returns how many."""
        with self._changed:
            queries = self._tasks.values() if id is None else [self._tasks.get(id, set())]
            found = [task for tasks in queries for task in tasks if plies is None or task.ply in plies]
        return sum(task.terminate() for task in found)

    def wait(self, gone: Callable[[], bool]) -> None:
        """Waits until all tasks are done, or until ``gone`` is true, whenever :meth:`wake` is called."""
        with self._changed:
            self._changed.wait_for(lambda: not self._tasks or gone())

    def wake(self) -> None:
        """Lets :meth:`wait` look again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Ends all tasks, and the threads as soon as they are free; the pool takes no more tasks then."""
        self.terminate()
        with self._changed:
            for _ in range(self._started):
                self._count += 1
                self._waiting.put((math.inf, self._count, None))

    def _run(self) -> None:
        while True:
            _, _, task = self._waiting.get()
            if task is None:
                return
            if not task.is_done:
                task.run()

    def _forget(self, task: Task) -> None:
        with self._changed:
            self._tasks[task.id].discard(task)
            if not self._tasks[task.id]:
                del self._tasks[task.id]
            self._size -= 1
            self._changed.notify_all()
