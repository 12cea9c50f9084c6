"""The analysis of a position by an agent that searches: its moves with margins and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from patchwork_env.agents.base import Agent, record_of
from patchwork_env.core.checks import check_at_least_one
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import aligned, counted

_ALMOST_0 = 0.001
"""The lowest probability to win that is shown for a search; 1 minus it is the highest."""
Source = Literal["exact", "search", "value"]
_SOURCES = {
    "exact": "the ending is solved",
    "search": "by as many simulations as there are visits",
    "value": "at a glance at the position after the move",
}
_MOST_ROWS, _MOST_WORDS = 20, 6  # the default number of moves, and of the words of a line, in a table


class Line(NamedTuple):
    """The result of a search for one action of the player to move."""

    action: int
    visits: int  # simulations that began with it
    margin: float  # the expected final margin, in points
    win: float  # the probability to win
    exact: bool  # True if both are exact for the actions that the search considered
    variation: tuple[int, ...]  # the best line of play, which begins with the action
    certain: bool = True  # False if the action has too few visits for a reliable margin and probability


class ScoreLine(NamedTuple):
    """The result of a search for one action of the player to move, in a game played for points."""

    action: int
    visits: int
    score: float  # the expected final score
    exact: bool


@runtime_checkable
class Analyst(Protocol):
    """An agent that can analyse a position."""

    def search(self, game: Any) -> Sequence[Line]:
        """Return a line for every action considered: first the one to play, then the others, best first."""

    def evaluate_moves(self, game: Any) -> Sequence[Line]:
        """Return a line for every legal action, best first, by the learned value without a search.

        No line is certain.
        """

    def symmetric_moves(self, game: Any) -> dict[int, list[int]]:
        """Return, for every legal action, all actions that lead to the same position up to symmetry."""


@runtime_checkable
class IncrementalAnalyst(Protocol):
    """An agent whose analyses yield intermediate results."""

    def deepen(self, game: Any) -> Iterator[Sequence[Any]]:
        """Yield the lines, :class:`Line` or :class:`ScoreLine`, of a growing search, ordered as above."""


@runtime_checkable
class Scorer(Protocol):
    """An agent that analyses games played for points; its lines are :class:`ScoreLine`."""

    def expected_scores(self, game: Any) -> Sequence[float]:
        """Return the expected final scores of all players."""


@dataclass(frozen=True)
class AnalysedMove:
    """A move and its expected result for the player to move."""

    action: int
    move: str  # in the notation of the game
    margin: float | None  # the expected final margin, in points; None if the search has too few visits of it
    win: float | None  # the probability to win, 0-1; None likewise
    visits: int  # simulations that began with the move
    source: Source  # of margin and probability
    line: tuple[str, ...]  # the best line of play found, which begins with the move, in notation
    alike: tuple[str, ...]  # other legal moves that lead to the same position up to turns and flips


@dataclass(frozen=True)
class Analysis:
    """The analysis of a position by an agent.

    The first move is the one that the agent would play. The moves that its search considered follow, then all
    others, each group best first. Symmetric moves have one entry. See also :func:`without_luck`.
    """

    agent: str  # its name
    player: int  # to move
    num_legal: int  # legal moves
    margin: float  # the expected final margin after the first move, in points
    win: float  # the probability to win after it, 0-1
    moves: tuple[AnalysedMove, ...]

    @property
    def best(self) -> AnalysedMove:
        """The first of the moves."""
        return self.moves[0]

    def find(self, move: str) -> AnalysedMove:
        """Return the entry of a move in notation or of a symmetric one; ValueError if there is none."""
        for entry in self.moves:
            if move == entry.move or move in entry.alike:
                return entry
        raise ValueError(f"the analysis has no move {move!r}; it has {len(self.moves)} moves")

    def as_dict(self) -> dict[str, Any]:
        """Return the analysis as dictionaries, tuples, numbers and strings, ready for JSON."""
        return asdict(self)

    def text(self, rows: int | None = _MOST_ROWS) -> str:
        """Return a table of at most ``rows`` moves, at least 1; None for all."""
        shown = self.moves[: None if rows is None else check_at_least_one(rows, "rows")]
        head = (
            f"player {self.player} to move, {counted(self.num_legal, 'legal move')}; "
            f"margin {self.margin:+.1f}, wins {self.win:.1%}, says {self.agent}"
        )
        sources = dict.fromkeys(entry.source for entry in shown)
        notes = [f"{source}: {_SOURCES[source]}" for source in sources]
        rest = [f"... and {len(self.moves) - len(shown)} more"] if len(shown) < len(self.moves) else []
        return "\n".join([head, "", *_table(shown), *rest, "", *notes])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        figures = f"margin {self.margin:+.1f}, wins {self.win:.1%}"
        return f"<Analysis by {self.agent}: {self.best.move} of {self.num_legal}, {figures}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def analyse(game: BaseGame, agent: Agent, k: int | None = None) -> Analysis:
    """See :func:`patchwork_env.agents.analyse`."""
    if not isinstance(agent, Analyst):
        raise ValueError(
            f"agent {agent.name!r} cannot analyse; agents that search with a learned value can, such as "
            "'champion:fast' or 'path/of/a/value:seconds=1'"
        )
    most = None if k is None else check_at_least_one(k, "k")
    agent.check_states(record_of(game))
    groups = agent.symmetric_moves(game)
    lines: dict[int, Line] = {}
    for line in (*agent.search(game), *agent.evaluate_moves(game)):
        lines.setdefault(groups[line.action][0], line)
    shown = without_luck([*lines.values()])[:most]
    moves = tuple(_analysed(game, line, groups[line.action]) for line in shown)
    return Analysis(agent.name, game.current_player, len(groups), shown[0].margin, shown[0].win, moves)


def without_luck(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with probabilities to win of at most that of the first line, unless they are exact.

    The agent would play the first line and has searched it most. A higher probability of a line with fewer
    visits is mostly luck, and drops when the search continues.
    """
    return [line if line.exact else line._replace(win=min(line.win, lines[0].win)) for line in lines]


def _analysed(game: BaseGame, line: Line, group: Sequence[int]) -> AnalysedMove:
    source: Source = "exact" if line.exact else "search" if line.visits else "value"
    return AnalysedMove(
        line.action,
        game.move_text(line.action),
        line.margin if line.certain else None,
        line.win if line.certain else None,
        line.visits,
        source,
        variation_words(game, line.variation),
        tuple(game.move_text(action) for action in group if action != line.action),
    )


def variation_words(game: BaseGame, actions: Sequence[int]) -> tuple[str, ...]:
    """Return a line of play from a position in notation."""
    position, words = game.clone(), []
    for action in actions:
        words.append(position.move_text(action))
        position.play(action)
    return tuple(words)


def win_text(win: float, exact: bool) -> str:
    """Return a probability to win in percent; if it is not exact, never 0% or 100%."""
    if exact or _ALMOST_0 <= win <= 1 - _ALMOST_0:
        return f"{win:.1%}"
    return f">{1 - _ALMOST_0:.1%}" if win > 1 / 2 else f"<{_ALMOST_0:.1%}"


def _table(moves: Sequence[AnalysedMove]) -> list[str]:
    rows = [("move", "margin", "win", "visits", "source", "alike", "line")]
    for entry in moves:
        more = " ..." if len(entry.line) > _MOST_WORDS else ""
        margin = "-" if entry.margin is None else f"{entry.margin:+.1f}"
        win = "-" if entry.win is None else win_text(entry.win, entry.source == "exact")
        alike = f"{len(entry.alike)}" if entry.alike else "-"
        line = " ".join(entry.line[:_MOST_WORDS]) + more
        rows.append((entry.move, margin, win, f"{entry.visits:,}", entry.source, alike, line))
    return aligned(rows, left=(0, 4, 6))
