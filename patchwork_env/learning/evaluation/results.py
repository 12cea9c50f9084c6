"""The results of matches: the figures of all games, and the record for tables and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Usage
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import aligned, counted
from patchwork_env.core.parts import MatchPart
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchGames, match_part
from patchwork_env.learning.evaluation.sequential import SequentialTest
from patchwork_env.learning.evaluation.statistics import Interval, mean_interval, win_rate_interval
from patchwork_env.learning.evaluation.tables import Column, Table, interval_columns
from patchwork_env.learning.system import made_with

FORMAT = "patchwork-env evaluation"
VERSION = 1
SIDES = ("agent", "opponent")
MATCH_COLUMNS = [
    Column("games"),
    *interval_columns("wins", "{:.1%}"),
    *interval_columns("score difference", "{:+.1f}"),
]
"""The columns of a match in tables; see :attr:`MatchFigures.cells`."""
_TIE = 0.5  # the share of a win that a tie counts for
_NAME_WIDTH = 22  # the length of the longest name of a figure

_Game = TypeVar("_Game", bound=BaseGame[Any])


@dataclass(frozen=True, kw_only=True)
class MatchFigures:
    """The record of a match in files; docs/reference/formats.md describes the fields.

    Exported results have only the fields without defaults, and in ``sides`` only the agent's score.
    """

    agent: str = ""
    opponent: str
    games: int
    seed: int
    variant: str
    win_rate: float
    win_rate_interval: Interval | None = None
    win_rate_starting: float | None = None
    win_rate_following: float | None = None
    ties: float = 0.0
    score_difference: float
    score_difference_interval: Interval | None = None
    score_intervals: dict[str, Interval | None] = field(default_factory=dict)
    sprt: dict[str, Any] | None = None
    forfeits: dict[str, int] = field(default_factory=dict)
    turns_per_game: float = 0.0
    sides: dict[str, dict[str, float]]

    @property
    def score(self) -> float:
        """The mean score of the agent."""
        return self.sides["agent"]["score"]

    @property
    def cells(self) -> list[Any]:
        """The values for :data:`MATCH_COLUMNS`."""
        return [
            *(self.games, self.win_rate, self.win_rate_interval),
            *(self.score_difference, self.score_difference_interval),
        ]


@dataclass(frozen=True)
class SampleGame:
    """A game of a match: its players by seat, the seat of the winner, None for a tie, and all moves."""

    opponent: str
    players: tuple[str, str]
    winner: int | None
    notation: str


@dataclass(frozen=True)
class MatchResult:
    """The result of a match.

    Attributes:
        agent, opponent: The names of the measured agent and of its opponent.
        seed: The seed of the set-ups and of both agents' random numbers.
        variant: The variant of the game; empty if the game has no variants.
        games: The figures of every game.
        seconds: The seconds that the agent and the opponent took to choose their actions.
        kept: The first games of the match with all moves, as many as were requested.
        usage: The usage of both in the games that were not read from a folder; all zeros unless they are
            language models.
        test: The sequential test that ended the match, or did not decide; None for a fixed number of games.
    """

    agent: str
    opponent: str
    seed: int
    variant: str
    games: MatchGames
    seconds: tuple[float, float]
    kept: tuple[BaseGame[Any], ...] = ()
    usage: tuple[Usage, Usage] = field(default_factory=lambda: (Usage(), Usage()))
    test: SequentialTest | None = None

    @classmethod
    def joined(cls, parts: Sequence[MatchResult]) -> MatchResult:
        """Return the result of a match from those of its parts, in order."""
        first, second = (sum(part.seconds[side] for part in parts) for side in (AGENT, OPPONENT))
        kept = tuple(game for part in parts for game in part.kept)
        games = MatchGames.joined([part.games for part in parts])
        usage = (Usage(), Usage())
        for part in parts:
            for total, of_part in zip(usage, part.usage, strict=True):
                total.add(of_part)
        return replace(parts[0], games=games, seconds=(first, second), kept=kept, usage=usage)

    @cached_property
    def figures(self) -> MatchFigures:
        """The means over all games and their 95% intervals, with each circle or deck as one sample."""
        games, scores = self.games, self.games.scores
        differences = scores[:, AGENT] - scores[:, OPPONENT]
        interacts = not self.part.is_noninteractive
        return MatchFigures(
            agent=self.agent,
            opponent=self.opponent,
            games=len(games),
            seed=self.seed,
            variant=self.variant,
            win_rate=float(games.agent_wins.mean()),
            win_rate_interval=self.interval,
            win_rate_starting=float(games.agent_wins[games.agent_starts].mean()) if interacts else None,
            win_rate_following=float(games.agent_wins[~games.agent_starts].mean()) if interacts else None,
            ties=float((games.agent_wins == _TIE).mean()),
            score_difference=float(differences.mean()),
            score_difference_interval=mean_interval(self.by_set_up(differences)),
            score_intervals={
                name: mean_interval(self.by_set_up(scores[:, side])) for side, name in enumerate(SIDES)
            },
            sprt=self.test.as_dict() if self.test else None,
            forfeits={name: int(games.forfeits[:, side].sum()) for side, name in enumerate(SIDES)},
            turns_per_game=float(games.turns.sum(1).mean()),
            sides={name: self.means(side) for side, name in enumerate(SIDES)},
        )

    @property
    def part(self) -> MatchPart:
        """The set-ups, variants and figures of the game's matches."""
        return match_part(self.games.game)

    def by_set_up(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the means of values ``(n,)`` over the games of each set-up, ``(set-ups,)``."""
        return values.reshape(-1, self.part.games_per_set_up).mean(1)

    @property
    def win_rate(self) -> float:
        """The share of games that the agent won; a tie is half a win."""
        return self.figures.win_rate

    @property
    def interval(self) -> Interval:
        """The 95% confidence interval of the win rate; see :func:`win_rate_interval`."""
        return win_rate_interval(self.by_set_up(self.games.agent_wins))

    @property
    def score_difference(self) -> float:
        """The mean score of the agent minus that of the opponent."""
        return self.figures.score_difference

    def means(self, side: int) -> dict[str, float]:
        """Return the mean of each figure of the agent, 0, or of the opponent, 1, by name."""
        return {name: float(figure[:, side].mean()) for name, figure in self.games.figures.items()}

    def seconds_per_move(self, side: int) -> float:
        """Return the mean seconds that the agent, 0, or the opponent, 1, took per action."""
        return seconds_per_move([(self, side)])

    def set_ups(self) -> str:
        """Return the set-ups and the variant in words."""
        part = self.part
        number = counted(len(self.games) // part.games_per_set_up, part.set_up)
        how = ", the same for both sides" if part.is_noninteractive else " from both seats"
        variant = f", {part.variant.replace('_', ' ')} {self.variant!r}" if part.variant else ""
        return f"{number}{how}{variant}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return asdict(self.figures)

    def __repr__(self) -> str:
        low, high = self.interval
        number = counted(len(self.games), "game")
        rate = f"wins {self.win_rate:.1%} ({low:.1%} to {high:.1%})"
        return f"<MatchResult: {self.agent} against {self.opponent}, {number}, {rate}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.table())}</pre>"

    def summary(self) -> str:
        """Return the result in one line."""
        (low, high), difference = self.interval, self.score_difference
        rate = f"wins {self.win_rate:6.1%} (95%: {low:.1%} to {high:.1%})"
        return f"against {self.opponent:<8} {rate}, score difference {difference:+.2f}"

    def table(self) -> str:
        """Return the result as lines of text."""
        figures, (low, high) = self.figures, self.interval
        wins = f"  wins {self.win_rate:.1%} (95% interval {low:.1%} to {high:.1%}), "
        difference = f"  score difference {self.score_difference:+.2f}"
        difference += _text(figures.score_difference_interval, "+")
        if self.part.is_noninteractive:
            lines = [f"{wins}ties, which are half a win, {figures.ties:.1%}", difference]
            for name, side in ((self.agent, "agent"), (self.opponent, "opponent")):
                interval = _text(figures.score_intervals[side])
                lines.append(f"  {name} scores {figures.sides[side]['score']:.2f}{interval}")
        else:
            first, second = figures.win_rate_starting, figures.win_rate_following
            lines = [
                f"{wins}{first:.1%} when starting, {second:.1%} when second",
                f"{difference}, {figures.turns_per_game:.1f} turns per game",
            ]
        if self.test:
            lines += [f"  {line}" for line in self.test.lines()]
        if any(figures.forfeits.values()):
            lines.append(f"  forfeits {figures.forfeits['agent']} and {figures.forfeits['opponent']}")
        rows = [["per game".ljust(_NAME_WIDTH), self.agent, self.opponent]]
        for name in self.part.figures:
            form = ".1%" if name in self.part.shares else ".2f"
            rows.append([name.replace("_", " "), *(f"{figures.sides[side][name]:{form}}" for side in SIDES)])
        title = f"{self.agent} against {self.opponent}: {counted(len(self.games), 'game')}, {self.set_ups()}"
        return "\n".join([title, *lines, *(f"  {line}" for line in aligned(rows))])


def wins_by_set_up(results: Mapping[tuple[int, int], MatchResult], players: int) -> npt.NDArray[np.float64]:
    """Return the games that the row won against the column with each circle or deck, ``(set-ups, n, n)``.

    All matches have the same circles or decks; a match has zeros for those that it did not play.
    """
    shares = {pair: result.by_set_up(result.games.agent_wins) for pair, result in results.items()}
    wins = np.zeros((max(map(len, shares.values())), players, players))
    for (i, j), won in shares.items():
        games = results[i, j].part.games_per_set_up
        wins[: len(won), i, j] = games * won
        wins[: len(won), j, i] = games - games * won
    return wins


def seconds_per_move(matches: Iterable[tuple[MatchResult, int]]) -> float:
    """Return the mean seconds that an agent took per action in matches, each with the agent's side."""
    figures = [(result.seconds[side], int(result.games.turns[:, side].sum())) for result, side in matches]
    return sum(seconds for seconds, _ in figures) / max(sum(turns for _, turns in figures), 1)


def matches_table(results: Sequence[MatchResult]) -> Table:
    """Return a row for each match: the win rate and the score difference with their intervals."""
    columns = [Column("agent"), Column("against"), *MATCH_COLUMNS]
    rows = [[result.agent, result.opponent, *result.figures.cells] for result in results]
    tests = [result.test for result in results if result.test]
    if tests:
        columns += [Column("decision"), Column("LLR", "{:.2f}".format)]
        rows = [[*row, test.decision, test.llr] for row, test in zip(rows, tests, strict=True)]
    return Table(columns, rows)


def results_as_dict(results: Sequence[MatchResult], weights: Mapping[str, str | None]) -> dict[str, Any]:
    """Return matches, at least one, for JSON, with the SHA-256 of agents' weights by their names."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "game": results[0].games.game,
        "weights": dict(weights),
        "matches": [result.as_dict() for result in results],
        "made_with": made_with(),
    }


def _text(interval: Interval | None, sign: str = "") -> str:
    if interval is None:
        return ""
    low, high = interval
    return f" (95% interval {low:{sign}.2f} to {high:{sign}.2f})"


def sample_games(result: MatchResult) -> tuple[SampleGame, ...]:
    """Return the games that a result kept."""
    agent, opponent = result.agent, result.opponent
    return tuple(
        SampleGame(
            opponent,
            (agent, opponent) if result.games.seats[i] == 0 else (opponent, agent),
            game.winners()[0] if len(game.winners()) == 1 else None,
            game.notation(),
        )
        for i, game in enumerate(result.kept)
    )


def position_after(game: _Game, turns: int) -> _Game:
    """Return the game after the first ``turns`` turns of its history."""
    position = game.root()
    for action in game.history[:turns]:
        position.play(action)
    return position
