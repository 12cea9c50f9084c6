"""What a round robin says: ratings, who beats whom, how everybody plays; as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.learning.evaluation.ratings import MEAN_AT_ZERO, Anchor, Bounds, Ratings, rate
from patchwork_env.learning.evaluation.results import AGENT, CONFIDENCE, OPPONENT, Kind, Result

Pairing = tuple[int, int]
"""Indices of two agents, the lower one first."""


@dataclass(frozen=True)
class Standings:
    """The matches of a round robin, and what follows from them.

    Attributes:
        names: Of the agents, each once.
        results: Of every pairing; the lower index is the agent that the result is about. All have the same
            circles or decks.
        anchor: What fixes the scale of the ratings.
    """

    names: tuple[str, ...]
    results: Mapping[Pairing, Result]
    anchor: Anchor = MEAN_AT_ZERO

    @cached_property
    def ratings(self) -> Ratings:
        """Of all agents, in the order of ``names``; see :mod:`patchwork_env.learning.evaluation.ratings`."""
        return rate(self._wins_by_set_up(), self.anchor)

    @property
    def kind(self) -> Kind:
        """What results say of the game."""
        return self._any_result.kind

    @property
    def _any_result(self) -> Result:
        return next(iter(self.results.values()))

    @cached_property
    def order(self) -> list[int]:
        """The agents from the highest rating to the lowest."""
        return sorted(range(len(self.names)), key=lambda i: (-self.ratings.values[i], i))

    @cached_property
    def win_rates(self) -> npt.NDArray[np.float64]:
        """``(n, n)``, the share of games that the row won against the column; NaN on the diagonal."""
        rates = np.full((len(self.names),) * 2, np.nan)
        for (i, j), result in self.results.items():
            rates[i, j], rates[j, i] = result.win_rate, 1 - result.win_rate
        return rates

    def values(self, agent: int, figure: str) -> npt.NDArray[Any]:
        """A figure of an agent, a key of the kind's ``figures``, in all of its games."""
        array = self.kind.figures[figure]
        return np.concatenate(
            [getattr(result.games, array)[:, side] for result, side in self._matches_of(agent)]
        )

    def means(self, agent: int) -> dict[str, float]:
        """Mean figures of an agent over all of its games, by name."""
        return {name: float(self.values(agent, name).mean()) for name in self.kind.figures}

    def win_rate(self, agent: int) -> float:
        """Share of all of its games that an agent won; a tie is half a win."""
        return float(np.nanmean(self.win_rates[agent]))

    def seconds_per_move(self, agent: int) -> float | None:
        """What an agent took per action, over all of its games; None if that was not measured."""
        seconds, moves = 0.0, 0
        for result, side in self._matches_of(agent):
            if result.seconds is None:
                return None
            seconds, moves = seconds + result.seconds[side], moves + int(result.games.turns[:, side].sum())
        return seconds / moves

    def _matches_of(self, agent: int) -> Iterator[tuple[Result, int]]:
        """The matches of an agent, and its side in each."""
        for (i, j), result in self.results.items():
            if agent in (i, j):
                yield result, AGENT if agent == i else OPPONENT

    def _wins_by_set_up(self) -> npt.NDArray[np.float64]:
        """``(set-ups, n, n)``, the games with each circle or deck that the row won against the column."""
        times = self.kind.games_per_set_up
        wins = np.zeros((self._any_result.num_set_ups, len(self.names), len(self.names)))
        for (i, j), result in self.results.items():
            wins[:, i, j] = times * result.games.by_set_up(result.games.agent_wins)
            wins[:, j, i] = times - wins[:, i, j]
        return wins

    # --- as text, JSON and CSV ----------------------------------------------------------------------------

    def table(self) -> str:
        """The standings and the win matrix as lines of text."""
        return "\n".join([self._heading(), "", *self._ranking(), "", *self._matrix(), "", *self._notes()])

    def _heading(self) -> str:
        match = self._any_result
        return f"{len(self.names)} agents, {len(match.games)} games of each pairing: {match.set_ups()}"

    def _ranking(self) -> list[str]:
        rows = [["agent", "rating", "95% interval", "ahead", "wins", *self.kind.shown.values(), "ms/move"]]
        for i in self.order:
            means, seconds, ahead = self.means(i), self.seconds_per_move(i), self._ahead_of_next(i)
            rows.append(
                [
                    self.names[i],
                    f"{self.ratings.values[i]:.0f}",
                    show_interval(self.ratings.intervals[i]),
                    "" if ahead is None else f"{ahead:.1%}",
                    f"{self.win_rate(i):.1%}",
                    *(f"{means[figure]:.1f}" for figure in self.kind.shown),
                    "" if seconds is None else f"{1000 * seconds:.3g}",
                ]
            )
        return aligned(rows)

    def _ahead_of_next(self, agent: int) -> float | None:
        """How sure it is that an agent is stronger than the next one of the order; None for the last."""
        place = self.order.index(agent)
        if place + 1 == len(self.order):
            return None
        return float(self.ratings.ahead[agent, self.order[place + 1]])

    def _matrix(self) -> list[str]:
        rows = [["% of games won against", *(self.names[j] for j in self.order)]]
        for i in self.order:
            cells = ("-" if i == j else f"{100 * self.win_rates[i, j]:.1f}" for j in self.order)
            rows.append([self.names[i], *cells])
        return aligned(rows)

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
        if any(None in interval for interval in self.ratings.intervals):
            notes.append(
                "Where an interval has no end, no game went the way that could have set one; "
                "the rating itself then rests on half a virtual win of everybody over everybody."
            )
        return notes

    def _worst_fit(self) -> Pairing:
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
            **self.means(agent),
        }

    def csv(self) -> str:
        """All games as CSV: the pairing, the circle or deck, and the figures of both sides."""
        kind = self.kind
        columns = [f"{name}_of_{side}" for name in kind.figures for side in ("agent", "opponent")]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["agent", "opponent", kind.set_up, "seat", "agent_starts", "agent_wins", *columns])
        for result in self.results.values():
            games = result.games
            number = np.arange(len(games)) // kind.games_per_set_up
            values = [number, games.seats, games.agent_starts, games.agent_wins]
            for array in kind.figures.values():
                values += list(getattr(games, array).T)
            rows = zip(*map(_as_numbers, values), strict=True)
            writer.writerows([result.agent, result.opponent, *row] for row in rows)
        return file.getvalue()


def _as_numbers(values: npt.NDArray[Any]) -> list[Any]:
    """Truth values as 0 and 1, numbers as they are."""
    listed: list[Any] = (values.astype(np.int64) if values.dtype == np.bool_ else values).tolist()
    return listed


def show_interval(interval: Bounds) -> str:
    """An interval of ratings as text."""
    low, high = interval
    if low is None or high is None:
        return "unknown" if low == high else f"at least {low:.0f}" if high is None else f"at most {high:.0f}"
    return f"{low:.0f} to {high:.0f}"


def aligned(rows: list[list[str]]) -> list[str]:
    """Lines whose first column is flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
