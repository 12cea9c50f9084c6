"""What agents are asked for: the moves of opponents, hints and analyses, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import check_fields
from patchwork_env.core.names import short_repr
from patchwork_env.games import rules_of
from patchwork_env.service import fields
from patchwork_env.service.analyses import analyses_of
from patchwork_env.service.players import ANALYSTS, Players
from patchwork_env.service.positions import GAMES, new_game, positions_of
from patchwork_env.service.streams import Event, Tell, Threads

_MOST_OF_ONE = 4  # the most moves of one agent, and the most analyses, at the same time
_MOVES_OF_AN_ENDING = 3

Message = Mapping[str, Any]


class Thinking:
    """Answers the messages that agents are needed for; ValueError for one that is not as it must be."""

    def __init__(self, players: Players, threads: Threads | None = None) -> None:
        self._players = players
        self.threads = threads or Threads()

    def warm_up(self, game: str) -> None:
        """Does once what the page will ask for, so that all of it is loaded, or compiled, by then.

        That is a position, a move of the first of the agents, an analysis, a position of each other game, and
        the analysis of an ending. Errors are kept for those who ask.
        """
        with suppress(Exception):
            beginning = new_game(game, {"seed": 0})
            positions_of(beginning)
            self._players.choice(beginning, self._players.listed(game)[0]["spec"], 0)
            with self._players.borrow(ANALYSTS[game]) as agent:
                next(analyses_of(beginning, agent, 1))
            for other in GAMES:
                positions_of(new_game(other, {"seed": 0}))
            with self._players.borrow(ANALYSTS[game]) as agent:
                next(analyses_of(_ending_of(beginning), agent, 1))

    def agents(self, message: Message) -> list[dict[str, Any]]:
        """The agents that the page offers for the game ``game``; ValueError if ``agent`` cannot play it."""
        given = check_fields(message, {"game": fields.text}, {"agent": fields.spec})
        if "agent" in given:
            self._players.try_out(given["agent"], given["game"])
        return self._players.listed(given["game"])

    def choose(self, message: Message) -> AsyncIterator[Event]:
        """The move of the agent ``agent`` in the game of ``notation``; the stream ends with ``choice``."""
        game, given = fields.read_game_and(message, {"agent": fields.spec}, {"seed": fields.seed})
        spec, seed = self._players.check(given["agent"]), given.get("seed")
        _require_running(game)

        def work(tell: Tell, stopped: threading.Event) -> None:
            tell({"choice": self._players.choice(game, spec, seed)})

        return self.threads.stream(work, f"the agent {short_repr(spec)}", _MOST_OF_ONE)

    def analyse(self, message: Message) -> AsyncIterator[Event]:
        """Ever deeper analyses of the game of ``notation``, as a stream; the last one is ``done``."""
        game, given = fields.read_game_and(message, {}, {"agent": fields.spec, "lines": fields.lines})
        spec = self._players.check(given.get("agent", ANALYSTS[rules_of(game.state).name]))
        most = given.get("lines", fields.DEFAULT_LINES)
        _require_running(game)

        def work(tell: Tell, stopped: threading.Event) -> None:
            for analysis in self._players.analyses(game, spec, most):
                if stopped.is_set():
                    return
                tell({"analysis": analysis})

        return self.threads.stream(work, "the analysis", _MOST_OF_ONE)


def _ending_of(game: BaseGame) -> BaseGame:
    """A position shortly before the end of a game."""
    ending = game.clone()
    while not ending.is_over:
        ending.play(ending.legal_actions()[0])
    for _ in range(_MOVES_OF_AN_ENDING):
        ending.undo()
    return ending


def _require_running(game: BaseGame) -> None:
    if game.is_over:
        raise ValueError("the game is over")
