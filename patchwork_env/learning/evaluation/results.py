"""The result of a match between two agents: figures of every game, their means, and how sure these are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.usage import Usage
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import aligned, counted
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchGames, MatchRunner, runner_of
from patchwork_env.learning.evaluation.sequential import SequentialTest
from patchwork_env.learning.evaluation.statistics import (
    CONFIDENCE,
    Interval,
    mean_interval,
    win_rate_interval,
)
from patchwork_env.learning.evaluation.tables import DIFFERENCE_COLUMNS, WIN_COLUMNS, Column, Table
from patchwork_env.learning.system import made_with

if TYPE_CHECKING:
    from patchwork_env.drawing import Frame

FORMAT = "patchwork-env evaluation"
VERSION = 1
_TIE = 0.5  # the share of a win that a tie counts for
_NAME_WIDTH = 22  # the length of the longest name of a figure
_WIDTH, _SMALL = 960, 3
"""The width of a picture in pixels, and the number of earlier positions in a row below the last one."""

_Game = TypeVar("_Game", bound=BaseGame[Any])


@dataclass(frozen=True)
class MatchResult:
    """The result of a match.

    Attributes:
        agent, opponent: The names of the agent that is measured and of the one that it is measured against.
        seed: The seed of the set-ups and of both agents' random numbers.
        variant: The variant of the game; see :attr:`MatchRunner.variant`.
        games: The figures of every game.
        seconds: The seconds that the agent and the opponent took to choose their actions.
        kept: The first games of the match move by move, as many as were asked for.
        usage: The usage of both, in the games that were played now, not read from a folder. It is of zeros
            but for language models.
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

    @property
    def runner(self) -> type[MatchRunner]:
        """The runner of the game's matches."""
        return runner_of(self.games.game)

    @property
    def num_set_ups(self) -> int:
        """The number of circles or decks."""
        return len(self.games) // self.runner.games_per_set_up

    def by_set_up(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the means of values ``(n,)`` over the games of each set-up, ``(set-ups,)``."""
        return values.reshape(-1, self.runner.games_per_set_up).mean(1)

    @property
    def win_rate(self) -> float:
        """The share of games that the agent won; a tie is half a win."""
        return float(self.games.agent_wins.mean())

    @property
    def interval(self) -> Interval:
        """The 95% confidence interval of the win rate; see :func:`win_rate_interval`."""
        return win_rate_interval(self.by_set_up(self.games.agent_wins))

    @property
    def ties(self) -> float:
        """The share of games that both sides won."""
        return float((self.games.agent_wins == _TIE).mean())

    @property
    def score_difference(self) -> float:
        """The mean score of the agent minus that of the opponent."""
        return float(self._differences().mean())

    @property
    def score_difference_interval(self) -> Interval | None:
        """The 95% confidence interval of the score difference; None for a single set-up."""
        return mean_interval(self.by_set_up(self._differences()))

    def score_interval(self, side: int) -> Interval | None:
        """Return the 95% interval of the mean score of ``AGENT`` or ``OPPONENT``; None for one set-up."""
        return mean_interval(self.by_set_up(self.games.scores[:, side]))

    @property
    def metric(self) -> float:
        """The figure to compare agents by: the win rate, or the score if the sides do not interact."""
        return self.win_rate if self.runner.metric == "win_rate" else self.means(AGENT)["score"]

    def win_rate_if(self, agent_starts: bool) -> float:
        """Return the win rate over the games that the agent starts, or that the opponent starts."""
        return float(self.games.agent_wins[self.games.agent_starts == agent_starts].mean())

    def means(self, side: int) -> dict[str, float]:
        """Return the mean of each figure of ``AGENT`` or ``OPPONENT`` by name."""
        return {name: float(figure[:, side].mean()) for name, figure in self.games.figures.items()}

    def forfeits(self, side: int) -> int:
        """Return the number of games that ``AGENT`` or ``OPPONENT`` lost because it failed."""
        return int(self.games.forfeits[:, side].sum())

    def seconds_per_move(self, side: int) -> float:
        """Return the mean seconds that ``AGENT`` or ``OPPONENT`` took per action."""
        return seconds_per_move([(self, side)])

    def set_ups(self) -> str:
        """Return the set-ups and the variant in words."""
        runner, number = self.runner, counted(self.num_set_ups, self.runner.set_up)
        how = ", the same for both sides" if runner.is_noninteractive else " from both seats"
        variant = f", {runner.variant.replace('_', ' ')} {self.variant!r}" if runner.variant else ""
        return f"{number}{how}{variant}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        noninteractive = self.runner.is_noninteractive
        sides = {"agent": AGENT, "opponent": OPPONENT}
        own: dict[str, Any]
        if noninteractive:
            intervals = {name: _as_list(self.score_interval(side)) for name, side in sides.items()}
            own = {"ties": self.ties, "score_intervals": intervals}
        else:
            own = {
                "win_rate_starting": self.win_rate_if(agent_starts=True),
                "win_rate_following": self.win_rate_if(agent_starts=False),
            }
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "games": len(self.games),
            **({} if noninteractive else {"pairs": self.num_set_ups}),
            "seed": self.seed,
            **({self.runner.variant: self.variant} if self.runner.variant else {}),
            "confidence": CONFIDENCE,
            "win_rate": self.win_rate,
            "win_rate_interval": list(self.interval),
            **own,
            "score_difference": self.score_difference,
            "score_difference_interval": _as_list(self.score_difference_interval),
            **({"sprt": self.test.as_dict()} if self.test else {}),
            "forfeits": {name: self.forfeits(side) for name, side in sides.items()},
            "turns_per_game": float(self.games.turns.sum(1).mean()),
            "sides": {name: self.means(side) for name, side in sides.items()},
        }

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
        (low, high), noninteractive = self.interval, self.runner.is_noninteractive
        lines = [
            f"{self.agent} against {self.opponent}: {counted(len(self.games), 'game')}, {self.set_ups()}",
            f"  wins {self.win_rate:.1%} (95% interval {low:.1%} to {high:.1%}), "
            + (
                f"ties, which are half a win, {self.ties:.1%}"
                if noninteractive
                else f"{self.win_rate_if(True):.1%} when starting, {self.win_rate_if(False):.1%} when second"
            ),
            f"  score difference {self.score_difference:+.2f}{_text(self.score_difference_interval, '+')}"
            + ("" if noninteractive else f", {self.games.turns.sum(1).mean():.1f} turns per game"),
        ]
        if noninteractive:
            lines += [f"  {self._score(self.agent, AGENT)}", f"  {self._score(self.opponent, OPPONENT)}"]
        if self.test:
            lines += [f"  {line}" for line in self.test.lines()]
        if self.games.forfeits.any():
            lines.append(f"  forfeits {self.forfeits(AGENT)} and {self.forfeits(OPPONENT)}")
        rows = [["per game".ljust(_NAME_WIDTH), self.agent, self.opponent]]
        own, others = self.means(AGENT), self.means(OPPONENT)
        for name, figure in self.runner.figures.items():
            cells = (
                f"{mean:.1%}" if figure.is_share else f"{mean:.2f}" for mean in (own[name], others[name])
            )
            rows.append([name.replace("_", " "), *cells])
        return "\n".join([*lines, *(f"  {line}" for line in aligned(rows))])

    def _score(self, name: str, side: int) -> str:
        mean = float(self.games.scores[:, side].mean())
        return f"{name} scores {mean:.2f}{_text(self.score_interval(side))}"

    def _differences(self) -> npt.NDArray[np.int64]:
        return self.games.scores[:, AGENT] - self.games.scores[:, OPPONENT]


def wins_by_set_up(results: Mapping[tuple[int, int], MatchResult], players: int) -> npt.NDArray[np.float64]:
    """Return the games that the row won against the column with each circle or deck, ``(set-ups, n, n)``.

    All matches have the same circles or decks; those that a match did not play have no wins.
    """
    wins = np.zeros((max(result.num_set_ups for result in results.values()), players, players))
    for (i, j), result in results.items():
        shares, games = result.by_set_up(result.games.agent_wins), result.runner.games_per_set_up
        wins[: len(shares), i, j] = games * shares
        wins[: len(shares), j, i] = games - games * shares
    return wins


def seconds_per_move(matches: Iterable[tuple[MatchResult, int]]) -> float:
    """Return the mean seconds that an agent took per action in matches, each with the agent's side."""
    figures = [(result.seconds[side], int(result.games.turns[:, side].sum())) for result, side in matches]
    return sum(seconds for seconds, _ in figures) / max(sum(turns for _, turns in figures), 1)


def matches_table(results: Sequence[MatchResult]) -> Table:
    """Return a row for each match: the win rate, the score difference, and how sure both are."""
    columns = [Column("agent"), Column("against"), *MATCH_COLUMNS]
    rows = [[result.agent, result.opponent, *match_cells(result)] for result in results]
    tests = [result.test for result in results if result.test]
    if tests:
        columns += [Column("decision"), Column("LLR", "{:.2f}".format)]
        rows = [[*row, test.decision, test.llr] for row, test in zip(rows, tests, strict=True)]
    return Table(columns, rows)


def match_cells(result: MatchResult) -> list[Any]:
    """Return the cells of a match for :data:`MATCH_COLUMNS`."""
    contents = result.as_dict()
    return [contents[name] for name in MATCH_FIGURES]


def results_as_dict(results: Sequence[MatchResult], weights: Mapping[str, str | None]) -> dict[str, Any]:
    """Matches, at least one, as data for JSON, with the SHA-256 of agents' weights by their names."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "game": results[0].games.game,
        "weights": dict(weights),
        "matches": [result.as_dict() for result in results],
        "made_with": made_with(),
    }


MATCH_FIGURES = ("games", "win_rate", "win_rate_interval", "score_difference", "score_difference_interval")
"""The figures of a match in tables, by their names in files."""
MATCH_COLUMNS = [Column("games"), *WIN_COLUMNS, *DIFFERENCE_COLUMNS]  # columns for the figures of a match


def _as_list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _text(interval: Interval | None, sign: str = "") -> str:
    if interval is None:
        return ""
    low, high = interval
    return f" (95% interval {low:{sign}.2f} to {high:{sign}.2f})"


def sample_games(result: MatchResult) -> list[dict[str, Any]]:
    """Return the games that a result kept, as plain data."""
    return [
        {
            "opponent": result.opponent,
            "players": list(players_of(result, i)),
            "scores": list(game.scores()),
            "winner": game.winners()[0] if len(game.winners()) == 1 else None,
            "notation": game.notation(),
        }
        for i, game in enumerate(result.kept)
    ]


def players_of(result: MatchResult, i: int) -> tuple[str, str]:
    """Return the names of the players of game ``i``, by seat."""
    agent, opponent = result.agent, result.opponent
    return (agent, opponent) if result.games.seats[i] == 0 else (opponent, agent)


def position_after(game: _Game, turns: int) -> _Game:
    """Return the game as it was after the first turns of its history: after none, some or all of them."""
    position = game.root()
    for action in game.history[:turns]:
        position.play(action)
    return position


def milestones(game: _Game, count: int) -> list[_Game]:
    """Return ``count`` positions at even distances in the history, without the first and the last."""
    turns = len(game.history)
    return [position_after(game, round((k + 1) * turns / (count + 1))) for k in range(count)]


def picture(game: BaseGame[Any], names: tuple[str, str]) -> Frame:
    """Draw the last position, 960 pixels wide, above three earlier ones, for which Pillow is needed."""
    draw = rules_of(game.state).pictures.rgb_array
    small = [draw(position, _WIDTH // _SMALL, names) for position in milestones(game, _SMALL)]
    return np.concatenate([draw(game, _WIDTH, names), np.concatenate(small, axis=1)])
