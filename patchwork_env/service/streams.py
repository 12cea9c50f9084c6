"""Work in threads of its own, whose events come as an asynchronous stream.

A thread cannot be ended from outside. So an agent that hangs keeps its thread, and there is a limit to the
threads that work for the same purpose: all other requests go on.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from patchwork_env.core.messages import error_of, reason_of

Event = dict[str, Any]
Tell = Callable[[Event | None], None]  # sends an event, from any thread; None ends the stream
Work = Callable[[Tell, threading.Event], None]
"""Work in a thread: it tells of its events, and ends soon after the other argument is set."""

NOTICE_AFTER = 0.3  # seconds after which a stream says that it is at work
_MOST_THREADS = 24
_LOOK_EVERY = 0.05
WORKING = {"progress": "thinking", "key": "thinking"}


class Threads:
    """Threads that work for streams.

    Work without an event for ``patience`` seconds counts as hanging; a stream waits for ``queue`` seconds for
    a free thread.
    """

    def __init__(self, patience: float = 120.0, queue: float = 60.0) -> None:
        self._patience, self._queue = patience, queue
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._running: dict[threading.Event, Tell] = {}

    async def stream(self, work: Work, purpose: str, most: int) -> AsyncIterator[Event]:
        """The events of work, until it is done; whoever stops reading stops the work.

        An error ends the stream with an event that tells of it. At most ``most`` threads work for a
        ``purpose``.
        """
        if self._is_full(purpose, most):
            yield WORKING
        if not await self._may_begin(purpose, most):
            yield error_of(f"{purpose} is busy with {self._busy[purpose]} other requests: try again later")
            return
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        stopped = self._begin(work, purpose, events)
        silence = error_of(f"{purpose} gave no sign for {self._patience:g} seconds")
        try:
            event = await _next(events, NOTICE_AFTER, WORKING)
            while event is not None:
                yield event
                if event is silence:
                    return
                event = await _next(events, self._patience, silence)
        finally:
            stopped.set()

    def announce(self, event: Event) -> None:
        """Sends an event to all streams, from any thread."""
        with self._lock:
            running = list(self._running.values())
        for tell in running:
            tell(event)

    def stop(self) -> None:
        """Ends all streams, and tells their threads to end."""
        with self._lock:
            running = dict(self._running)
        for stopped, tell in running.items():
            stopped.set()
            tell(None)

    async def _may_begin(self, purpose: str, most: int) -> bool:
        """Waits until a thread may begin; False if none may for too long."""
        waited = 0.0
        while self._is_full(purpose, most):
            if waited >= self._queue:
                return False
            await asyncio.sleep(_LOOK_EVERY)
            waited += _LOOK_EVERY
        return True

    def _is_full(self, purpose: str, most: int) -> bool:
        return self._busy[purpose] >= most or self._busy.total() >= _MOST_THREADS

    def _begin(self, work: Work, purpose: str, events: asyncio.Queue[Event | None]) -> threading.Event:
        loop, stopped = asyncio.get_running_loop(), threading.Event()

        def tell(event: Event | None) -> None:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(events.put_nowait, event)

        def run() -> None:
            try:
                work(tell, stopped)
            except BaseException as error:  # whatever an agent raises, even SystemExit
                tell(error_of(reason_of(error)))
            with self._lock:
                self._busy[purpose] -= 1
                del self._running[stopped]
            tell(None)

        with self._lock:
            self._busy[purpose] += 1
            self._running[stopped] = tell
        threading.Thread(target=run, name=purpose, daemon=True).start()
        return stopped


async def _next(events: asyncio.Queue[Event | None], seconds: float, otherwise: Event) -> Event | None:
    """The next event, or ``otherwise`` if there is none within so many seconds."""
    try:
        async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can swallow that it is cancelled
            return await events.get()
    except TimeoutError:
        return otherwise
