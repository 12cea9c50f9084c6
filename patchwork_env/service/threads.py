"""The threads in which agents think."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from itertools import count
from queue import PriorityQueue

Call = Callable[[], None]


class ThreadPool:
    """At most ``most`` threads that run calls, which must not raise.

    A thread cannot be ended from outside, so a call that hangs keeps its thread. The threads do not keep the
    process alive.
    """

    def __init__(self, most: int) -> None:
        self._most, self._started, self._unfinished = most, 0, 0
        self._lock = threading.Lock()
        self._waiting: PriorityQueue[tuple[float, int, Call | None]] = PriorityQueue()
        self._numbers = count()

    def submit(self, call: Call, priority: int = 0) -> None:
        """Run a call as soon as a thread is free, those of a higher priority first."""
        with self._lock:
            self._unfinished += 1
            self._waiting.put((-priority, next(self._numbers), call))
            if self._started < min(self._most, self._unfinished):
                self._started += 1
                threading.Thread(target=self._run, name="agent", daemon=True).start()

    def close(self) -> None:
        """End the threads after the calls that wait; the pool takes no more calls."""
        with self._lock:
            for _ in range(self._started):
                self._waiting.put((math.inf, next(self._numbers), None))

    def _run(self) -> None:
        while call := self._waiting.get()[2]:
            call()
            with self._lock:
                self._unfinished -= 1
