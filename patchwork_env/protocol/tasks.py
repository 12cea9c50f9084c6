"""Positions that agents work on in threads, those of the highest priority first."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from patchwork_env.core.messages import error_with_field
from patchwork_env.service.threads import ThreadPool

Answer = dict[str, Any]
Work = Callable[["Task"], Answer]  # thinks about a position and returns the fields of the last answer

MOST_TASKS = 10_000  # the most positions that wait or are being worked on


class Task:
    """A position for an agent to think about in a thread, with exactly one last answer.

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
        """Keep the result so far, and send it if ``tell``."""
        with self._lock:
            self._latest = fields
            if tell and not self.is_done:
                self._send({"id": self.id, "ply": self.ply, "done": False, **fields})

    def run(self) -> None:
        """Work, and send the last answer, unless the task is ended before."""
        if self.is_done:
            return
        timer = None
        if self.time_limit is not None:
            timer = threading.Timer(self.time_limit, self.terminate)
            timer.daemon = True
            timer.start()
        try:
            fields = {"done": True, **self._work(self)}
        except BaseException as error:  # of an agent, also SystemExit
            fields = error_with_field(error)
        if timer:
            timer.cancel()
        self._finish(fields)

    def terminate(self) -> bool:
        """Send the result so far as the last answer; returns False if the last one was sent before."""
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


class TaskPool:
    """Tasks in threads. A task that is ended early keeps its thread until its agent answers."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPool(threads)
        self._changed = threading.Condition()
        self._tasks: set[Task] = set()  # those without a last answer
        self._left: Counter[str] = Counter()  # the number of these, by query

    def __contains__(self, id: str) -> bool:
        """Whether a query has tasks without a last answer."""
        return self._left[id] > 0

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, tasks: Collection[Task]) -> None:
        """Add tasks, which begin in this order if their priority is the same."""
        with self._changed:
            if len(self) + len(tasks) > MOST_TASKS:
                raise ValueError(f"there are {len(self):,} positions to think about; wait for answers")
            self._tasks.update(tasks)
            self._left.update(task.id for task in tasks)
            for task in tasks:
                task.when_done = self._forget
                self._threads.submit(task.run, task.priority)

    def terminate(self, id: str | None = None, plies: Collection[int] | None = None) -> int:
        """End the tasks of a query, or only some ``plies`` of it, or all tasks; returns their number."""
        with self._changed:
            found = [task for task in self._tasks if id in (None, task.id)]
        return sum(task.terminate() for task in found if plies is None or task.ply in plies)

    def wait(self, gone: Callable[[], bool]) -> None:
        """Wait until all tasks are done or ``gone`` is true, which :meth:`wake` checks again."""
        with self._changed:
            self._changed.wait_for(lambda: not self._tasks or gone())

    def wake(self) -> None:
        """Make :meth:`wait` check again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End all tasks, and the threads as soon as they are free. Add no tasks after this."""
        self.terminate()
        self._threads.close()

    def _forget(self, task: Task) -> None:
        with self._changed:
            self._tasks.remove(task)
            self._left[task.id] -= 1
            if not self._left[task.id]:
                del self._left[task.id]
            self._changed.notify_all()
