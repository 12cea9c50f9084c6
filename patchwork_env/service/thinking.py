"""Moves, hints and analyses by agents, each in its own thread.

The number of threads for each purpose is limited, so that other requests continue while agents hang.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import check_fields, error_of, reason_of
from patchwork_env.core.names import short_repr
from patchwork_env.games import rules_of
from patchwork_env.service import fields
from patchwork_env.service.agents import ANALYSIS, PARTNER, AgentPool, analyses_of, champion_of
from patchwork_env.service.positions import GAMES, new_game, positions_of

Event = dict[str, Any]
Send = Callable[[Event | None], None]  # sends an event, from any thread; None ends the stream
Work = Callable[[Send, threading.Event], None]
"""Work in a thread: it sends events with ``send``, and returns soon after its second argument is set."""

NOTICE_AFTER = 0.3  # seconds without an event until a stream sends WORKING
_MOST_THREADS = 24
_LOOK_EVERY = 0.05
WORKING = {"progress": "thinking", "key": "thinking"}


class Streams:
    """Streams of events from work in threads.

    Work waits ``queue`` seconds for a free thread. It counts as hanging after ``patience`` seconds without an
    event. :meth:`wait_for_pause` waits for ``pause`` seconds without work.
    """

    def __init__(self, patience: float = 120.0, queue: float = 60.0, pause: float = 1.0) -> None:
        self._patience, self._queue, self._pause = patience, queue, pause
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._running: dict[threading.Event, Send] = {}

    async def stream(self, work: Work, purpose: str, most: int) -> AsyncIterator[Event]:
        """Yield the events of work for a ``purpose``, which at most ``most`` threads serve at the same time.

        The work stops when the caller closes the stream. An error is the last event.
        """
        waited = 0.0
        while self._busy[purpose] >= most or self._busy.total() >= _MOST_THREADS:
            if not waited:
                yield WORKING
            if waited >= self._queue:
                yield error_of(
                    f"{purpose} is busy with {self._busy[purpose]} other requests: try again later"
                )
                return
            await asyncio.sleep(_LOOK_EVERY)
            waited += _LOOK_EVERY
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        stopped = self._begin(work, purpose, events)
        timed_out = error_of(f"{purpose} sent nothing for {self._patience:g} seconds")
        try:
            event = await _next(events, NOTICE_AFTER, WORKING)
            while event is not None:
                yield event
                if event is timed_out:
                    return
                event = await _next(events, self._patience, timed_out)
        finally:
            stopped.set()

    def wait_for_pause(self) -> None:
        """Wait until there has been no work for ``pause`` seconds."""
        waited = 0.0
        while waited < self._pause:
            time.sleep(_LOOK_EVERY)
            waited = 0.0 if self._running else waited + _LOOK_EVERY

    def announce(self, event: Event | None) -> None:
        """Send an event to all streams, from any thread; None ends them."""
        with self._lock:
            running = list(self._running.values())
        for send in running:
            send(event)

    def stop(self) -> None:
        """End all streams, each of which signals its thread to end."""
        self.announce(None)

    def _begin(self, work: Work, purpose: str, events: asyncio.Queue[Event | None]) -> threading.Event:
        loop, stopped = asyncio.get_running_loop(), threading.Event()

        def send(event: Event | None) -> None:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(events.put_nowait, event)

        def run() -> None:
            try:
                work(send, stopped)
            except BaseException as error:  # of an agent, also SystemExit
                send(error_of(reason_of(error)))
            with self._lock:
                self._busy[purpose] -= 1
                del self._running[stopped]
            send(None)

        with self._lock:
            self._busy[purpose] += 1
            self._running[stopped] = send
        threading.Thread(target=run, name="agent", daemon=True).start()
        return stopped


async def _next(events: asyncio.Queue[Event | None], seconds: float, otherwise: Event) -> Event | None:
    """Return the next event, or ``otherwise`` after ``seconds`` without one."""
    try:
        async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can swallow that it is cancelled
            return await events.get()
    except TimeoutError:
        return otherwise


_MOST_OF_ONE = 4  # the most moves of one agent at the same time, and the most analyses
_MOVES_OF_AN_ENDING = 3

Message = Mapping[str, Any]


class Thinking:
    """Answers the page's messages that need agents; an invalid message is a ValueError."""

    def __init__(self, players: AgentPool, streams: Streams | None = None) -> None:
        self._agents = players
        self.streams = streams or Streams()

    def warm_up(self, game: str) -> None:
        """Compile the kernels that the page needs; errors are ignored.

        Each step waits for a pause, so that no request waits for more than one step.
        """
        with suppress(Exception):
            beginning = new_game(game, {"seed": 0})
            positions_of(beginning)
            self.streams.wait_for_pause()
            self._agents.choice(beginning, [*self._agents.trusted, f"{PARTNER}:level=1"][0], 0)
            self.streams.wait_for_pause()
            with self._agents.borrow(champion_of(game, ANALYSIS)) as agent:
                next(analyses_of(beginning, agent, 1))
            self.streams.wait_for_pause()
            for other in GAMES:
                positions_of(new_game(other, {"seed": 0}))
            with self._agents.borrow(champion_of(game, ANALYSIS)) as agent:
                next(analyses_of(_ending_of(beginning), agent, 1))

    def agents(self, message: Message) -> list[dict[str, Any]]:
        """Return the agents that the page lists for ``game``; ValueError if ``agent`` cannot play it."""
        given = check_fields(message, {"game": fields.text}, {"agent": fields.spec})
        if "agent" in given:
            self._agents.try_out(given["agent"], given["game"])
        return self._agents.listed(given["game"])

    def choose(self, message: Message) -> AsyncIterator[Event]:
        """Stream the move of ``agent`` in the game of ``notation``; the last event is ``choice``."""
        game, given = fields.read_game_and(message, {"agent": fields.spec}, {"seed": fields.seed})
        spec, seed = self._agents.check(given["agent"]), given.get("seed")

        def work(send: Send, stopped: threading.Event) -> None:
            send({"choice": self._agents.choice(game, spec, seed)})

        return self.streams.stream(work, f"the agent {short_repr(spec)}", _MOST_OF_ONE)

    def analyse(self, message: Message) -> AsyncIterator[Event]:
        """Stream ever deeper analyses of the game of ``notation``; the last one is ``done``."""
        game, given = fields.read_game_and(message, {}, {"agent": fields.spec, "lines": fields.lines})
        spec = self._agents.check(given.get("agent", champion_of(rules_of(game.state).name, ANALYSIS)))
        most = given.get("lines", fields.DEFAULT_LINES)

        def work(send: Send, stopped: threading.Event) -> None:
            for analysis in self._agents.analyses(game, spec, most):
                if stopped.is_set():
                    return
                send({"analysis": analysis})

        return self.streams.stream(work, "the analysis", _MOST_OF_ONE)


def _ending_of(game: BaseGame) -> BaseGame:
    ending = game.clone()
    while not ending.is_over:
        ending.play(ending.legal_actions()[0])
    for _ in range(_MOVES_OF_AN_ENDING):
        ending.undo()
    return ending
