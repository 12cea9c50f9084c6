"""The engine, which answers queries about games."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any

from patchwork_env import __version__
from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import error_of, read_message, reason_of
from patchwork_env.games import rules_of
from patchwork_env.protocol import queries
from patchwork_env.service import positions
from patchwork_env.service.agents import ANALYSIS, AgentPool, champion_of
from patchwork_env.service.fields import DEFAULT_LINES

PROTOCOL = 1  # the version of the protocol
CHOICE = "fast"
"""The level of the champion for moves of queries that name no agent."""

Answer = dict[str, Any]
Send = Callable[[Answer], None]
Work = Callable[["Task"], Answer]  # returns the fields of the last answer


class Task:
    """A position for an agent to think about in a thread, with exactly one last answer.

    After ``time_limit`` seconds of work it is ended early. ``when_done`` is called after the last answer.
    """

    def __init__(
        self,
        id: str,
        ply: int,
        work: Work,
        send: Send,
        when_done: Callable[[Task], None],
        time_limit: float | None,
    ) -> None:
        self.id, self.ply = id, ply
        self._work, self._send, self._when_done, self._time_limit = work, send, when_done, time_limit
        self._lock = threading.Lock()
        self._latest: Answer = {}
        self.is_done = False

    def note(self, fields: Answer, send: bool) -> None:
        """Store a partial result, and send it if ``send``."""
        with self._lock:
            self._latest = fields
            if send and not self.is_done:
                self._send({"id": self.id, "ply": self.ply, "done": False, **fields})

    def run(self) -> None:
        """Do the work and send the last answer, unless the task has ended before."""
        if self.is_done:
            return
        timer = None
        if self._time_limit is not None:
            timer = threading.Timer(self._time_limit, self.terminate)
            timer.start()
        try:
            fields = {"done": True, **self._work(self)}
        except BaseException as error:  # of an agent, also SystemExit
            fields = error_of(reason_of(error))
        if timer:
            timer.cancel()
        self._finish(fields)

    def terminate(self) -> bool:
        """Send the latest partial result as the last answer; return False if that was sent before."""
        rest = self._latest or {"no_results": True}
        return self._finish({"done": True, "terminated": True, **rest})

    def _finish(self, fields: Answer) -> bool:
        with self._lock:
            if self.is_done:
                return False
            self.is_done = True
            self._send({"id": self.id, "ply": self.ply, **fields})
        self._when_done(self)
        return True


class Engine:
    """Answers queries: at once, or from threads, each of which works on one position.

    ``send`` is called from any thread, but for each query from one at a time. ``agent`` is the default agent
    of queries, None for the champion of the game. A task that is ended early keeps its thread until its agent
    answers.
    """

    def __init__(self, players: AgentPool, send: Send, agent: str | None = None, threads: int = 1) -> None:
        self._agents, self._send, self._agent = players, send, agent
        self._threads = ThreadPoolExecutor(threads)
        self._changed = threading.Condition()
        self._open: set[Task] = set()  # the tasks without a last answer
        self._methods: dict[str, Callable[[queries.Query], None]] = {
            "position": partial(self._answer_positions, _position),
            "legal_moves": partial(self._answer_positions, _legal_moves),
            "choose": partial(self._think, self._choose, CHOICE),
            "analyse": partial(self._think, self._analyse, ANALYSIS),
            "terminate": self._terminate,
            "query_version": self._answer_version,
            "query_agents": partial(self._answer_about_game, "agents", players.listed),
            "query_components": partial(self._answer_about_game, "components", positions.components_of),
        }

    def handle(self, line: bytes) -> None:
        """Answer a line at once or from threads; an invalid line gets an error as its answer."""
        named = {}
        try:
            message = read_message(line)
            named = {"id": queries.read_id(message)}
            query = queries.read_query(message)
            self._methods[query.method](query)
        except Exception as error:
            self._send({**named, **error_of(reason_of(error))})

    def wait(self) -> None:
        """Wait until all queries are answered."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open)

    def terminate(self, id: str | None = None) -> int:
        """End the tasks of a query early, or all tasks; return their number."""
        with self._changed:
            found = [task for task in self._open if id in (None, task.id)]
        return sum(task.terminate() for task in found)

    def close(self) -> None:
        """End all tasks, and the threads once they are free; answers no further queries."""
        self._threads.shutdown(wait=False)
        self.terminate()

    # --- immediate answers --------------------------------------------------------------------------------

    def _answer_positions(self, describe: Callable[[BaseGame], Answer], query: queries.Query) -> None:
        for ply, game in queries.positions_asked(queries.game_of(query.fields), query.fields).items():
            self._send({"id": query.id, "ply": ply, "done": True, **describe(game)})

    def _terminate(self, query: queries.Query) -> None:
        ended = self.terminate(query.fields.get("terminate_id"))
        self._send({"id": query.id, "method": query.method, **query.fields, "terminated": ended})

    def _answer_version(self, query: queries.Query) -> None:
        games = list(positions.GAMES)
        self._send({"id": query.id, "version": __version__, "protocol": PROTOCOL, "games": games})

    def _answer_about_game(self, name: str, describe: Callable[[str], Any], query: queries.Query) -> None:
        self._send({"id": query.id, name: describe(query.fields["game"])})

    # --- answers of agents --------------------------------------------------------------------------------

    def _think(
        self, work: Callable[[queries.Query, BaseGame, str, Task], Answer], level: str, query: queries.Query
    ) -> None:
        fields, game = query.fields, queries.game_of(query.fields)
        default = self._agent or champion_of(rules_of(game.state).name, level)
        spec = self._agents.check(fields.get("agent", default))
        tasks = [
            Task(
                query.id,
                ply,
                partial(work, query, position, spec),
                self._send,
                self._forget,
                fields.get("time_limit"),
            )
            for ply, position in queries.positions_asked(game, fields).items()
        ]
        with self._changed:
            self._open.update(tasks)
        for task in tasks:
            self._threads.submit(task.run)

    def _forget(self, task: Task) -> None:
        with self._changed:
            self._open.remove(task)
            self._changed.notify_all()

    def _choose(self, query: queries.Query, game: BaseGame, spec: str, task: Task) -> Answer:
        choice = self._agents.choice(game, spec, query.fields.get("seed"))
        return {"player": game.current_player, "move": choice["word"], "action": choice["action"]}

    def _analyse(self, query: queries.Query, game: BaseGame, spec: str, task: Task) -> Answer:
        every, reported = query.fields.get("report_every"), monotonic()
        latest: Answer = {}
        for analysis in self._agents.analyses(game, spec, query.fields.get("lines", DEFAULT_LINES)):
            latest = {name: value for name, value in analysis.items() if name != "done"}
            is_due = every is not None and monotonic() - reported >= every
            if is_due:
                reported = monotonic()
            task.note(latest, send=is_due and not analysis["done"])
            if task.is_done:
                break
        return latest


def _position(game: BaseGame) -> Answer:
    """Return the position of a game with its last move."""
    before = game.clone()
    position = positions.play(before, before.undo()) if game.num_moves else positions.position_of(game)
    return {"notation": game.notation(), "position": position}


def _legal_moves(game: BaseGame) -> Answer:
    actions = game.legal_actions().tolist()
    return {
        "player": None if game.is_over else game.current_player,
        "legal_moves": [game.move_text(action) for action in actions],
        "legal_actions": actions,
    }
