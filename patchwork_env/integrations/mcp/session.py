"""The games of a session, and what tools and addresses give of them, for a language model to read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from patchwork_env.core.checks import check_between, offset_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, short_repr
from patchwork_env.envs.opponents import opponent_seed
from patchwork_env.errors import OpponentError
from patchwork_env.games import NMBR9, PATCHWORK, rules_of
from patchwork_env.integrations import text
from patchwork_env.integrations.mcp.tools import check_call
from patchwork_env.service import positions
from patchwork_env.service.players import ANALYSTS, CHAMPIONS, Players
from patchwork_env.service.streams import Event
from patchwork_env.service.thinking import Thinking

MOST_GAMES = 16
MOST_CHARACTERS = 24_000
"""The longest text that a tool gives; only NMBR 9 with widely spread tiles comes near it."""
_SCHEME = "patchwork-env://"
RULES = {game: f"{_SCHEME}rules/{game}" for game in positions.GAMES}
PICTURE = f"{_SCHEME}games/{{game_id}}/picture"
PLAIN, SVG = "text/plain", "image/svg+xml"
DEFAULT_LINES, DEFAULT_SECONDS = 5, 3.0
_MOST_WORDS = 8


@dataclass
class Table:
    """A game that is held."""

    game: BaseGame  # replaced by another object when somebody has moved
    opponent: str | None = None  # the agent that plays all other seats
    seat: int = 0  # of the client against an opponent
    seed: int | None = None  # of the opponent's random numbers
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the game is being changed

    def is_clients_move(self, game: BaseGame) -> bool:
        """Whether the client is to move in a game at this table."""
        return not game.is_over and (self.opponent is None or game.current_player == self.seat)


class Session:
    """Games by their names, and the tools, each an asynchronous method that gives a text.

    A tool that fails, or is cancelled, leaves its game as it was. Agents think in threads, so that other
    calls are answered meanwhile.
    """

    def __init__(self, players: Players | None = None) -> None:
        self._players = players or Players()
        self.thinking = Thinking(self._players)
        self._tables: dict[str, Table] = {}
        self._begun = 0

    async def call(self, tool: str, arguments: Mapping[str, Any] | None) -> str:
        """Checks a call of a tool and does it; what goes wrong is raised."""
        given = check_call(tool, arguments)
        answer: str = await getattr(self, tool)(**given)
        return answer if len(answer) <= MOST_CHARACTERS else f"{answer[:MOST_CHARACTERS]}\n… (cut)"

    def game(self, game_id: str) -> BaseGame:
        """The game of a name, which nobody must play on; ValueError if there is none."""
        return self._table(game_id).game

    # --- games --------------------------------------------------------------------------------------------

    async def new_game(
        self,
        game: str | None = None,
        opponent: str | None = None,
        seat: int = 0,
        seed: int | None = None,
        **options: Any,
    ) -> str:
        """Begins a game, or goes on with that of ``notation``; an opponent that is first to move does so."""
        self._require_room()
        beginning = _beginning(game, seed, opponent is not None, options)
        check_between(seat, 0, beginning.num_players - 1, "seat")
        if opponent is not None:
            await asyncio.to_thread(self._check_opponent, opponent, beginning)
        table = Table(beginning, opponent, seat, seed)
        table.game = await self._answered(table, beginning.clone())
        self._require_room()  # others may have begun meanwhile
        self._begun += 1
        name = f"{rules_of(beginning.state).name}-{self._begun}"
        self._tables[name] = table
        return _paragraphs(
            f"game_id: {name}", text.rules(beginning), _answers_text(table, beginning), _position_text(table)
        )

    async def end_game(self, game_id: str) -> str:
        """Forgets a game."""
        self._table(game_id)
        del self._tables[game_id]
        return f"{game_id} is forgotten; {len(self._tables)} of at most {MOST_GAMES} games are held."

    async def show(self, game_id: str) -> str:
        """The position, the kinds of moves, and the game in notation."""
        table = self._table(game_id)
        notation = text.notation(table.game)
        return _paragraphs(_position_text(table), f"In notation:\n{notation.strip()}" if notation else "")

    async def legal_moves(self, game_id: str, **wanted: Any) -> str:
        """The kinds of moves, or the placements that are asked for."""
        game = self.game(game_id)
        return text.placements_text(game, **wanted) if wanted else text.moves_text(game)

    async def shapes(self, game_id: str, piece: str) -> str:
        """The shape of a piece of the game."""
        return text.shapes_text(self.game(game_id), piece)

    # --- moves --------------------------------------------------------------------------------------------

    async def play(self, game_id: str, move: str) -> str:
        """Plays a move, and the opponent's answer."""
        table = self._table(game_id)
        async with table.busy:
            before = table.game
            game, action = before.clone(), text.parse(before, move)
            played = f"Player {before.current_player} played {before.move_text(action)}."
            game.play(action)
            table.game = await self._answered(table, game)
            answers = _answers_text(table, before)
        return _paragraphs(f"{played} {answers}".strip(), _position_text(table))

    async def undo(self, game_id: str) -> str:
        """Takes back the client's last move, and what came after it."""
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

    # --- agents -------------------------------------------------------------------------------------------

    async def hint(self, game_id: str, agent: str | None = None) -> str:
        """What an agent would play."""
        game = self.game(game_id)
        spec = agent or f"{CHAMPIONS[rules_of(game.state).name]}:fast"
        choice = await self._choice(game, spec, None)
        return f"{spec} would play {choice['word']}."

    async def analyse(
        self,
        game_id: str,
        agent: str | None = None,
        lines: int = DEFAULT_LINES,
        seconds: float = DEFAULT_SECONDS,
    ) -> str:
        """The best moves that a search finds in so many seconds, which begin with its first result."""
        game = self.game(game_id)
        spec = agent or ANALYSTS[rules_of(game.state).name]
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

    def _check_opponent(self, spec: str, game: BaseGame) -> None:
        with self._players.borrow(spec) as agent:
            agent.check_game(rules_of(game.state).name)

    async def _answered(self, table: Table, game: BaseGame) -> BaseGame:
        """The game after the moves of the opponent that are due."""
        while not game.is_over and not table.is_clients_move(game):
            seed = None if table.seed is None else offset_seed(opponent_seed(table.seed), game.num_moves)
            choice = await self._choice(game, str(table.opponent), seed)
            game.play(choice["action"])
        return game

    async def _choice(self, game: BaseGame, spec: str, seed: int | None) -> dict[str, Any]:
        """The move that an agent chooses, by its word and its action."""
        stream = self.thinking.choose({"notation": game.notation(), "agent": spec, "seed": seed})
        async with aclosing(_checked(stream)) as events:
            async for event in events:
                if "choice" in event:
                    choice: dict[str, Any] = event["choice"]
                    return choice
        raise OpponentError(f"agent {short_repr(spec)} gave no move")

    def _require_room(self) -> None:
        if len(self._tables) >= MOST_GAMES:
            raise ValueError(
                f"there are {MOST_GAMES} games already, which is all; end_game forgets one of them"
            )

    def _table(self, game_id: str) -> Table:
        if game_id not in self._tables:
            held = ", ".join(self._tables) or "none; new_game begins one"
            raise ValueError(f"there is no game {short_repr(game_id)}; the games are: {held}")
        return self._tables[game_id]


def read_resource(session: Session, uri: str) -> tuple[str, str]:
    """What an address stands for: its type and its content; ValueError if nothing."""
    for name, address in RULES.items():
        if uri == address:
            return PLAIN, text.rules(positions.new_game(name, {"seed": 0}))
    before, _, after = PICTURE.partition("{game_id}")
    if uri.startswith(before) and uri.endswith(after):
        game_id = uri[len(before) : -len(after)]
        game = session.game(game_id).public()
        return SVG, rules_of(game.state).pictures.svg(game)
    raise ValueError(
        f"there is nothing at {short_repr(uri)}; there are {', '.join(RULES.values())} and {PICTURE}"
    )


async def _checked(stream: Any) -> AsyncGenerator[Event]:
    """The events of a stream; an error among them is raised. Closing it ends the work."""
    async with aclosing(stream) as events:
        async for event in events:
            if "error" in event:
                raise OpponentError(event["error"])
            yield event


def _beginning(name: str | None, seed: int | None, has_opponent: bool, options: dict[str, Any]) -> BaseGame:
    """A new game with these options, or that of a notation."""
    notation = options.pop("notation", None)
    if notation is not None:
        game = positions.read_game(notation)
        found = rules_of(game.state).name
        if options or name not in (None, found):
            wrong = ", ".join(options) or "game"
            raise ValueError(f"{wrong} cannot be chosen for the game of a notation, which is one of {found}")
        return game
    name = positions.known_game(PATCHWORK if name is None else name)
    for option in options:
        if option not in positions.OPTIONS[name]:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(positions.OPTIONS[name])}")
    if name == NMBR9 and has_opponent:
        options.setdefault("players", 2)
    return positions.new_game(name, options if seed is None else {**options, "seed": seed})


def _answers_text(table: Table, before: BaseGame) -> str:
    """The moves of the opponent that the client has come to know since the game was as ``before``."""
    if table.opponent is None:
        return ""
    answers = text.news(table.game, before.num_public_moves, table.seat)
    listed = "; ".join(f"player {player}: {word}" for player, word in answers)
    return f"{table.opponent} answered: {listed}." if listed else ""


def _position_text(table: Table) -> str:
    game = table.game
    reader = game.current_player if table.opponent is None else table.seat
    return _paragraphs(text.describe(game, reader), text.moves_text(game))


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _analysis_text(spec: str, analysis: Mapping[str, Any]) -> str:
    player = analysis["player"]
    rows = [f"- {_line_text(line, player)}" for line in analysis["lines"]]
    head = f"Player {player} to move, after {analysis['depth']:,} visits by {spec}. Best moves first:"
    return "\n".join([head, *rows])


def _line_text(line: Mapping[str, Any], player: int) -> str:
    """A line of play from the side of the player to move."""
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
