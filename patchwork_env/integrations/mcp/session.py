"""The games of a session, and the tools by which a language model plays them.

Every tool is a method of :class:`Session`. Clients read its docstring and the types of its arguments, which
also validate calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from patchwork_env.agents.specs import MAX_SPEC_LENGTH
from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.envs.opponents import seed_of_move, turns_of_others
from patchwork_env.errors import OpponentError
from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.integrations.text.answers import ask, parse
from patchwork_env.integrations.text.view import describe, moves_text, news, notation_of, rules
from patchwork_env.nmbr9.components import ORDERS
from patchwork_env.patchwork.components import VARIANTS
from patchwork_env.service import positions
from patchwork_env.service.agents import ANALYSIS, AgentPool, champion_of
from patchwork_env.service.fields import MOST_BYTES
from patchwork_env.service.thinking import Event, Thinking

MOST_GAMES = 16
_MOST_WORDS = 8
_OPPONENT = """\
The agent of all other seats, which answers at once: 'greedy', 'partner:level=2', 'champion:fast'
(patchwork) or 'nmbr9_champion:fast' (nmbr9), for example. Without one you play every seat."""
_REQUESTS = """\
'moves' for the kinds of legal moves, 'placements of patch 12', also with 'orientation 3', 'row 2', 'column d'
and 'page 2' (nmbr9: 'level 1'), 'shapes of patch 12' for any piece, also one not offered, or 'rules'."""
_ONE_OF = "{0}: one of {1}; the first by default."

Word = Annotated[str, Field(max_length=200)]  # a move or a name
Spec = Annotated[str, Field(max_length=MAX_SPEC_LENGTH)]
Notation = Annotated[str, Field(max_length=MOST_BYTES)]
GameId = Annotated[Word, Field(description="The game_id that new_game returned.")]
Asked = Annotated[Spec | None, Field(description="The agent to ask; the champion of the game by default.")]


@dataclass
class Table:
    """A game of the session."""

    game: BaseGame  # replaced by another object after every move
    opponent: str | None = None  # the agent that plays all other seats
    seat: int | None = None  # of the client; None for every seat
    seed: int | None = None  # of the opponent's random numbers
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the game is being changed

    def is_clients_move(self, game: BaseGame) -> bool:
        """Whether the client is to move in a game at this table."""
        return not game.is_over and self.seat in (None, game.current_player)


class Session:
    """Games by name, and the tools: asynchronous methods that return a str.

    A tool that fails or is cancelled does not change its game. Agents think in threads, so that other calls
    are answered meanwhile.
    """

    def __init__(self, players: AgentPool | None = None) -> None:
        self._agents = players or AgentPool()
        self.thinking = Thinking(self._agents)
        self._tables: dict[str, Table] = {}
        self._begun = 0
        changing: tuple[Any, ...] = (self.new_game, self.play, self.undo, self.end_game)
        reading: tuple[Any, ...] = (self.show, self.ask, self.hint, self.analyse)
        self.tools = {tool.__name__: TypeAdapter(tool) for tool in (*changing, *reading)}
        self.only_read = frozenset(tool.__name__ for tool in reading)

    async def call(self, tool: str, arguments: Mapping[str, Any] | None) -> str:
        """Validate and do a call of a tool; errors are raised."""
        if tool not in self.tools:
            raise ValueError(f"there is no tool {short_repr(tool)}; {did_you_mean(tool, self.tools)}")
        given = {name: value for name, value in (arguments or {}).items() if value is not None}
        adapter = self.tools[tool]
        try:
            working = adapter.validate_python(ArgsKwargs((), given))
        except ValidationError as error:
            raise ValueError(_what_is_wrong(error, adapter.json_schema()["properties"])) from None
        answer: str = await working
        return answer

    def game(self, game_id: str) -> BaseGame:
        """Return the game of a name, which the caller must not change; ValueError if there is none."""
        return self._table(game_id).game

    # --- tools --------------------------------------------------------------------------------------------

    async def new_game(
        self,
        game: Annotated[str | None, Field(description=_ONE_OF.format("Which game", positions.GAMES))] = None,
        opponent: Annotated[Spec | None, Field(description=_OPPONENT)] = None,
        seat: Annotated[int, Field(ge=0, description="Your seat against an opponent; 0 begins.")] = 0,
        seed: Annotated[int | None, Field(ge=0, description="For the same game again.")] = None,
        variant: Annotated[str | None, Field(description=_ONE_OF.format("Patchwork", VARIANTS))] = None,
        players: Annotated[int | None, Field(description="NMBR 9: 1 to 4; 2 with an opponent.")] = None,
        order: Annotated[str | None, Field(description=_ONE_OF.format("NMBR 9: the deck", ORDERS))] = None,
        notation: Annotated[Notation | None, Field(description="A game to continue.")] = None,
    ) -> str:
        """Begin a game of Patchwork or NMBR 9. Returns its game_id, the rules, the position and the moves."""
        options = {"variant": variant, "players": players, "order": order}
        if notation is None:
            first = _dealt(positions.known_game(game or PATCHWORK), {"seed": seed, **options}, opponent)
        else:
            first = _continued(notation, {"game": game, **options})
        check_between(seat, 0, first.num_players - 1, "seat")
        if opponent is not None:
            await asyncio.to_thread(self._agents.try_out, opponent, rules_of(first.state).name)
        table = Table(first, opponent, None if opponent is None else seat, seed)
        table.game = await self._answered(table, first.clone())
        if len(self._tables) >= MOST_GAMES:
            raise ValueError(f"there are {MOST_GAMES} games already; end_game makes room")
        self._begun += 1
        name = f"{rules_of(first.state).name}-{self._begun}"
        self._tables[name] = table
        return _paragraphs(
            f"game_id: {name}", rules(first), _answers_text(table, first), _position_text(table)
        )

    async def show(self, game_id: GameId) -> str:
        """Show the position, the kinds of legal moves, and the game in notation if nothing is hidden."""
        table = self._table(game_id)
        notation = notation_of(table.game)
        return _paragraphs(_position_text(table), f"In notation:\n{notation.strip()}" if notation else "")

    async def ask(self, game_id: GameId, request: Annotated[Word, Field(description=_REQUESTS)]) -> str:
        """List legal moves, draw pieces, or show the rules."""
        table = self._table(game_id)
        return ask(table.game, request, table.seat)

    async def play(
        self, game_id: GameId, move: Annotated[Word, Field(description="Such as '12/3@d5' or '7/3@-2,5'.")]
    ) -> str:
        """Play a move for the player to move. An opponent answers at once, until it is your move again."""
        table = self._table(game_id)
        async with table.busy:
            before = table.game
            game, action = before.clone(), parse(before, move)
            played = f"Player {before.current_player} played {before.move_text(action)}."
            game.play(action)
            table.game = await self._answered(table, game)
            answers = _answers_text(table, before)
        return _paragraphs(f"{played} {answers}".strip(), _position_text(table))

    async def undo(self, game_id: GameId) -> str:
        """Take back your last move, and all later ones."""
        table = self._table(game_id)
        async with table.busy:
            game, taken = table.game.clone(), 0
            while taken == 0 or not table.is_clients_move(game):
                if not game.num_moves:
                    raise ValueError("there is no move of yours to take back")
                game.undo()
                taken += 1
            table.game = game
        return _paragraphs(f"{counted(taken, 'move')} taken back.", _position_text(table))

    async def hint(self, game_id: GameId, agent: Asked = None) -> str:
        """Return the move of a strong agent."""
        game = self.game(game_id)
        spec = agent or champion_of(rules_of(game.state).name, "fast")
        choice = await self._choice(game, spec, None)
        return f"{spec} would play {choice['word']}."

    async def analyse(
        self,
        game_id: GameId,
        agent: Asked = None,
        lines: Annotated[int, Field(ge=1, le=20, description="The number of moves to show.")] = 5,
        seconds: Annotated[float, Field(gt=0, le=60, description="The seconds to think.")] = 3.0,
    ) -> str:
        """Return the best moves of a search, with the expected result and continuation of each."""
        game = self.game(game_id)
        spec = agent or champion_of(rules_of(game.state).name, ANALYSIS)
        stream = self.thinking.analyse({"notation": game.notation(), "agent": spec, "lines": lines})
        latest, end = None, 0.0
        async with aclosing(_checked(stream)) as events:
            async for event in events:
                if "analysis" in event:
                    end = end or time.monotonic() + seconds
                    latest = event["analysis"]
                    if latest["done"] or time.monotonic() >= end:
                        break
        if latest is None:
            raise OpponentError(f"agent {short_repr(spec)} found nothing")
        return _analysis_text(spec, latest)

    async def end_game(self, game_id: GameId) -> str:
        """End a game, which makes room for another one."""
        self._table(game_id)
        del self._tables[game_id]
        return f"{game_id} has ended; {len(self._tables)} of at most {MOST_GAMES} games are held."

    # --- shared parts -------------------------------------------------------------------------------------

    async def _answered(self, table: Table, game: BaseGame) -> BaseGame:
        """Return the game after the opponent's moves up to the client's next turn."""
        if table.opponent is not None and table.seat is not None:
            for turn in turns_of_others(game, table.seat):
                seed = None if table.seed is None else seed_of_move(table.seed, turn)
                choice = await self._choice(turn, table.opponent, seed)
                turn.play(choice["action"])
        return game

    async def _choice(self, game: BaseGame, spec: str, seed: int | None) -> dict[str, Any]:
        stream = self.thinking.choose({"notation": game.notation(), "agent": spec, "seed": seed})
        async with aclosing(_checked(stream)) as events:
            async for event in events:
                if "choice" in event:
                    choice: dict[str, Any] = event["choice"]
                    return choice
        raise OpponentError(f"agent {short_repr(spec)} gave no move")

    def _table(self, game_id: str) -> Table:
        if game_id not in self._tables:
            held = ", ".join(self._tables) or "none; new_game begins one"
            raise ValueError(f"there is no game {short_repr(game_id)}; the games are: {held}")
        return self._tables[game_id]


async def _checked(stream: Any) -> AsyncGenerator[Event]:
    """Yield the events of a stream, and raise its error. Closing it ends the work."""
    async with aclosing(stream) as events:
        async for event in events:
            if "error" in event:
                raise OpponentError(event["error"])
            yield event


def _what_is_wrong(error: ValidationError, known: Collection[str]) -> str:
    problem = error.errors(include_url=False)[0]
    is_missing = problem["type"] == "missing_argument"
    given = "" if is_missing else f" is {short_repr(problem['input'])}"
    return f"{problem['loc'][0]}{given}: {problem['msg']}; the arguments are {', '.join(known)}"


def _dealt(name: str, options: dict[str, Any], opponent: str | None) -> BaseGame:
    """Return a new game, by default with a seat for the opponent."""
    if opponent is not None and options["players"] is None and rules_of(name).usual_set_up.players == 1:
        options["players"] = 2
    return positions.new_game(name, options)


def _continued(notation: str, options: dict[str, Any]) -> BaseGame:
    """Return the game of a notation, which has its own options."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} is {short_repr(value)}; a game with a notation has its own {name}")
    return positions.read_game(notation)


def _answers_text(table: Table, before: BaseGame) -> str:
    """Return the opponent's moves since ``before`` that the client may know."""
    if table.seat is None:
        return ""
    answers = news(table.game, before.num_public_moves, table.seat)
    listed = "; ".join(f"player {player}: {word}" for player, word in answers)
    return f"{table.opponent} answered: {listed}." if listed else ""


def _position_text(table: Table) -> str:
    return _paragraphs(describe(table.game, table.seat), moves_text(table.game))


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _analysis_text(spec: str, analysis: Mapping[str, Any]) -> str:
    player = analysis["player"]
    rows = [f"- {_line_text(line, player)}" for line in analysis["lines"]]
    head = f"Player {player} to move, after {analysis['depth']:,} visits by {spec}. Best moves first:"
    return "\n".join([head, *rows])


def _line_text(line: Mapping[str, Any], player: int) -> str:
    figures = []
    if line["win"] is not None:
        win, margin = line["win"], line["margin"]
        if player:
            win, margin = 1 - win, -margin
        figures.append(f"wins {win:.1%}, margin {margin:+.1f}")
    if line["scores"] is not None:
        figures.append(f"score {line['scores'][player]:.1f}")
    figures.append("solved" if line["exact"] else f"{line['visits']:,} visits")
    words = line["line"]
    further = " ".join(words[1:_MOST_WORDS]) + " …" * (len(words) > _MOST_WORDS)
    return f"{line['word']}: {', '.join(figures)}" + (f"; then {further}" if len(words) > 1 else "")
