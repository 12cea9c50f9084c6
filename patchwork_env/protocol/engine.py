"""The engine, which answers queries. It keeps nothing of a query that has been answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from patchwork_env import __version__
from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import FieldError, error_with_field, read_message
from patchwork_env.games import rules_of
from patchwork_env.protocol import queries
from patchwork_env.protocol.tasks import Answer, Task, TaskPool
from patchwork_env.service import positions
from patchwork_env.service.agents import ANALYSIS, AgentPool, champion_of
from patchwork_env.service.fields import DEFAULT_LINES
from patchwork_env.service.positions import components_of

PROTOCOL = 1  # the version of the protocol
CHOICE = "fast"
"""The level of the champion for moves of queries that name no agent."""

Send = Callable[[Answer], None]


class Engine:
    """Answers queries: at once, or from threads, each of which works on one position.

    ``send`` is called from any thread, but for each query from one at a time. ``agent`` answers queries that
    name no agent; if it is None, the champion of the game does.
    """

    def __init__(self, players: AgentPool, send: Send, agent: str | None = None, threads: int = 1) -> None:
        self._agents, self._send, self._agent = players, send, agent
        self.pool = TaskPool(threads)
        self._methods: dict[str, Callable[[queries.Query], None]] = {
            "position": partial(self._answer_positions, _position),
            "legal_moves": partial(self._answer_positions, _legal_moves),
            "choose": partial(self._think, self._chosen, CHOICE),
            "analyse": partial(self._think, self._analysed, ANALYSIS),
            "terminate": self._terminate,
            "terminate_all": self._terminate,
            "query_version": self._tell_version,
            "query_agents": partial(self._tell_of_game, "agents", players.listed),
            "query_components": partial(self._tell_of_game, "components", lambda game: components_of(game)),
        }

    def handle(self, line: bytes) -> None:
        """Answer a line at once or from threads; an invalid line gets an error as its answer."""
        id = None
        try:
            message = read_message(line)
            if (used := queries.read_id(message)) in self.pool:
                raise FieldError(f"the id {used!r} belongs to a query that is not answered yet", "id")
            id = used
            query = queries.check_query(message)
            for name, words in query.unknown.items():
                self._send({"id": id, "warning": words, "field": name})
            self._methods[query.method](query)
        except Exception as error:
            self._send({**({} if id is None else {"id": id}), **error_with_field(error)})

    # --- immediate answers --------------------------------------------------------------------------------

    def _answer_positions(self, tell: Callable[[BaseGame], Answer], query: queries.Query) -> None:
        for ply, game in queries.positions_asked(queries.game_of(query.fields), query.fields).items():
            self._send({"id": query.id, "ply": ply, "done": True, **tell(game)})

    def _terminate(self, query: queries.Query) -> None:
        ended = self.pool.terminate(query.fields.get("terminate_id"), query.fields.get("plies"))
        self._send({"id": query.id, "method": query.method, **query.fields, "terminated": ended})

    def _tell_version(self, query: queries.Query) -> None:
        games = list(positions.GAMES)
        self._send({"id": query.id, "version": __version__, "protocol": PROTOCOL, "games": games})

    def _tell_of_game(self, name: str, tell: Callable[[str], Any], query: queries.Query) -> None:
        self._send({"id": query.id, name: queries.for_field("game", tell, query.fields["game"])})

    # --- answers of agents --------------------------------------------------------------------------------

    def _think(
        self,
        work: Callable[[queries.Query, BaseGame, str, Task], Answer],
        level: str,
        query: queries.Query,
    ) -> None:
        fields, game = query.fields, queries.game_of(query.fields)
        spec = queries.agent_of(fields, self._agent or champion_of(rules_of(game.state).name, level))
        queries.for_field("agent", self._agents.check, spec)
        more = fields.get("priority", 0), fields.get("time_limit")
        asked = queries.positions_asked(game, fields)
        self.pool.add(
            [
                Task(query.id, ply, partial(work, query, position, spec), self._send, *more)
                for ply, position in asked.items()
            ]
        )

    def _chosen(self, query: queries.Query, game: BaseGame, spec: str, task: Task) -> Answer:
        self._require_ready(game, spec)
        choice = self._agents.choice(game, spec, query.fields.get("seed"))
        return {"player": game.current_player, "move": choice["word"], "action": choice["action"]}

    def _analysed(self, query: queries.Query, game: BaseGame, spec: str, task: Task) -> Answer:
        self._require_ready(game, spec)
        every, reported = query.fields.get("report_every"), monotonic()
        latest: Answer = {}
        for analysis in self._agents.analyses(game, spec, query.fields.get("lines", DEFAULT_LINES)):
            latest = {name: value for name, value in analysis.items() if name != "done"}
            is_time = every is not None and monotonic() - reported >= every
            if is_time:
                reported = monotonic()
            task.note(latest, tell=is_time and not analysis["done"])
            if task.is_done:
                break
        return latest

    def _require_ready(self, game: BaseGame, spec: str) -> None:
        if game.is_over:
            raise ValueError("the game is over")
        try:
            with self._agents.borrow(spec):
                pass
        except (ValueError, OSError, ImportError) as error:
            raise FieldError(str(error), "agent") from None


def _position(game: BaseGame) -> Answer:
    """Return the position of a game with its last move."""
    before = game.clone()
    position = positions.play(before, before.undo()) if game.num_moves else positions.position_of(game)
    return {"notation": game.notation(), "state": game.to_bytes().hex(), "position": position}


def _legal_moves(game: BaseGame) -> Answer:
    actions = game.legal_actions().tolist()
    return {
        "player": None if game.is_over else game.current_player,
        "legal_moves": [game.move_text(action) for action in actions],
        "legal_actions": actions,
    }
