"""The outcome of a round robin: ratings, win rates and mean figures, as tables, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.evaluation.ratings import MEAN_AT_ZERO, Anchor, Ratings, rate, show_bounds
from patchwork_env.learning.evaluation.results import MatchResult, wins_by_set_up
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchRunner
from patchwork_env.learning.evaluation.statistics import CONFIDENCE
from patchwork_env.learning.evaluation.tables import TEXT, Column, Table, csv_text, render

Pair = tuple[int, int]
"""The indices of two agents, the lower one first."""


@dataclass(frozen=True)
class Standings:
    """The matches of a round robin, and what follows from them.

    Each pairing has the same circles or decks, and measures the agent with the lower index. The anchor fixes
    the scale of the ratings.
    """

    names: tuple[str, ...]
    results: Mapping[Pair, MatchResult]
    anchor: Anchor = MEAN_AT_ZERO

    def __repr__(self) -> str:
        return f"<Standings: {', '.join(self.names)}>"

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings in the order of ``names``; see :mod:`patchwork_env.learning.evaluation.ratings`."""
        return rate(wins_by_set_up(self.results, len(self.names)), self.anchor)

    @property
    def runner(self) -> type[MatchRunner]:
        """How agents meet in the game, and the figures that results have of it."""
        return self._any_result.runner

    @property
    def shown_figures(self) -> dict[str, str]:
        """The titles of the figures that tables of many agents show, by the names of the figures."""
        figures = self.runner.figures.items()
        return {name: figure.title for name, figure in figures if figure.title is not None}

    @property
    def _any_result(self) -> MatchResult:
        return next(iter(self.results.values()))

    @cached_property
    def order(self) -> list[int]:
        """The agents from the highest rating to the lowest."""
        return sorted(range(len(self.names)), key=lambda i: (-self.ratings.values[i], i))

    @cached_property
    def win_rates(self) -> npt.NDArray[np.float64]:
        """The share of games that the row won against the column, ``(n, n)``; NaN on the diagonal."""
        rates = np.full((len(self.names),) * 2, np.nan)
        for (i, j), result in self.results.items():
            rates[i, j], rates[j, i] = result.win_rate, 1 - result.win_rate
        return rates

    def values(self, agent: int, figure: str) -> npt.NDArray[Any]:
        """The values of a figure of an agent in all of its games; the figure is a key of the runner's."""
        return np.concatenate(
            [result.games.figures[figure][:, side] for result, side in self._matches_of(agent)]
        )

    def means(self, agent: int) -> dict[str, float]:
        """The mean of each figure of an agent over all of its games, by name."""
        return {name: float(self.values(agent, name).mean()) for name in self.runner.figures}

    def win_rate(self, agent: int) -> float:
        """The share of all of its games that an agent won; a tie is half a win."""
        return float(np.nanmean(self.win_rates[agent]))

    def seconds_per_move(self, agent: int) -> float:
        """The mean seconds that an agent took per action in all of its games."""
        matches = list(self._matches_of(agent))
        moves = sum(int(result.games.turns[:, side].sum()) for result, side in matches)
        return sum(result.seconds[side] for result, side in matches) / max(moves, 1)

    def forfeits(self, agent: int) -> int:
        """The number of games that an agent lost because it failed."""
        return sum(result.forfeits(side) for result, side in self._matches_of(agent))

    def _matches_of(self, agent: int) -> Iterator[tuple[MatchResult, int]]:
        """The matches of an agent, and its side in each."""
        for (i, j), result in self.results.items():
            if agent in (i, j):
                yield result, AGENT if agent == i else OPPONENT

    # --- as tables, JSON and CSV --------------------------------------------------------------------------

    def table(self, form: str = TEXT) -> str:
        """The standings and the win matrix; as CSV the standings alone.

        Args:
            form: One of the formats of :mod:`~patchwork_env.learning.evaluation.tables`.
        """
        notes = "\n".join(self._notes())
        return render([self._heading(), self.ranking(), self.matrix(), notes], form)

    def _heading(self) -> str:
        match = self._any_result
        return f"{len(self.names)} agents, {len(match.games)} games of each pairing: {match.set_ups()}"

    def ranking(self) -> Table:
        """A row for each agent, from the highest rating to the lowest."""
        columns = [
            Column("agent"),
            Column("rating", "{:.0f}".format),
            Column("95% interval", show_bounds, ("rating, lower end", "rating, upper end")),
            Column("ahead", "{:.1%}".format),
            Column("wins", "{:.1%}".format),
            *(Column(title, "{:.1f}".format) for title in self.shown_figures.values()),
            Column("ms/move", "{:.3g}".format),
        ]
        return Table(columns, [self._row(i) for i in self.order])

    def _row(self, agent: int) -> list[Any]:
        means = self.means(agent)
        return [
            self.names[agent],
            float(self.ratings.values[agent]),
            self.ratings.intervals[agent],
            self._ahead_of_next(agent),
            self.win_rate(agent),
            *(means[name] for name in self.shown_figures),
            1000 * self.seconds_per_move(agent),
        ]

    def _ahead_of_next(self, agent: int) -> float | None:
        """How sure it is that an agent is stronger than the next one of the order; None for the last."""
        place = self.order.index(agent)
        if place + 1 == len(self.order):
            return None
        return float(self.ratings.ahead[agent, self.order[place + 1]])

    def matrix(self) -> Table:
        """The share of games that the row won against the column, in percent."""
        columns = [Column("% of games won against"), *(Column(self.names[j], _percent) for j in self.order)]
        rows = [[self.names[i], *(100 * self.win_rates[i, j] for j in self.order)] for i in self.order]
        return Table(columns, rows)

    def _notes(self) -> list[str]:
        zero = "the mean" if self.anchor.player is None else self.names[self.anchor.player]
        i, j = self._worst_fit()
        notes = [
            f"Bradley-Terry ratings on the scale of Elo, {zero} at {self.anchor.rating:g}; "
            f"an interval is that of the distance to {zero}.",
            "Ahead: how sure it is that the agent is stronger than the next one.",
            f"The ratings fit worst for {self.names[i]} against {self.names[j]}: they expect "
            f"{self.ratings.expected[i, j]:.1%} wins of the {self.win_rates[i, j]:.1%} seen.",
        ]
        notes += [
            f"{self.names[k]} lost {self.forfeits(k)} games because it failed."
            for k in self.order
            if self.forfeits(k)
        ]
        if any(None in interval for interval in self.ratings.intervals):
            notes.append(
                "Where an interval has no end, no game went the way that could have set one; "
                "the rating itself then rests on half a virtual win of everybody over everybody."
            )
        return notes

    def _worst_fit(self) -> Pair:
        gaps = {pair: abs(self.ratings.expected[pair] - self.win_rates[pair]) for pair in self.results}
        return max(gaps, key=gaps.__getitem__)

    def as_dict(self) -> dict[str, Any]:
        """The standings as plain data, for JSON: ``anchor``, ``ranking`` and ``matches``."""
        player = self.anchor.player
        return {
            "confidence": CONFIDENCE,
            "anchor": {
                "agent": None if player is None else self.names[player],
                "rating": self.anchor.rating,
            },
            "ranking": [self._entry(i) for i in self.order],
            "matches": [
                result.as_dict() | {"expected_win_rate": float(self.ratings.expected[pair])}
                for pair, result in self.results.items()
            ],
        }

    def _entry(self, agent: int) -> dict[str, Any]:
        return {
            "agent": self.names[agent],
            "rating": float(self.ratings.values[agent]),
            "interval": list(self.ratings.intervals[agent]),
            "ahead_of_next": self._ahead_of_next(agent),
            "win_rate": self.win_rate(agent),
            "forfeits": self.forfeits(agent),
            **self.means(agent),
        }

    def csv(self) -> str:
        """A row of CSV for each game: the pairing, the circle or deck, and the figures of both sides."""
        runner = self.runner
        columns = [f"{name}_of_{side}" for name in runner.figures for side in ("agent", "opponent")]
        rows: list[list[Any]] = [
            ["agent", "opponent", runner.set_up, "seat", "agent_starts", "agent_wins", *columns]
        ]
        for result in self.results.values():
            games = result.games
            number = np.arange(len(games)) // runner.games_per_set_up
            values = [number, games.seats, games.agent_starts, games.agent_wins]
            for name in runner.figures:
                values += list(games.figures[name].T)
            listed = zip(*map(_as_numbers, values), strict=True)
            rows += [[result.agent, result.opponent, *row] for row in listed]
        return csv_text(rows)


def _as_numbers(values: npt.NDArray[Any]) -> list[Any]:
    """A list of the values, with truth values as 0 and 1."""
    listed: list[Any] = (values.astype(np.int64) if values.dtype == np.bool_ else values).tolist()
    return listed


def _percent(value: float) -> str:
    """A cell of the win matrix; its diagonal is NaN."""
    return "-" if np.isnan(value) else f"{value:.1f}"
