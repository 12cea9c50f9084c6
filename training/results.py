"""What a match between two agents says: figures of every game, their means and how sure these are."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.patchwork import Game

CONFIDENCE = 0.95
Z = 1.959963984540054
"""The 97.5% quantile of the normal distribution: two-sided intervals of 95%."""

AGENT, OPPONENT = 0, 1
"""Columns of the figures that both sides have."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Games:
    """Figures of every game of a match; rows ``2 k`` and ``2 k + 1`` are the pair played with circle ``k``.

    Attributes:
        seats: int64 ``(n,)``, the agent's seat, 0 or 1.
        agent_starts: bool ``(n,)``, whether the agent has the first turn.
        agent_wins: bool ``(n,)``.
        scores: int64 ``(n, 2)``, of the agent and of the opponent, as in all following ones.
        empty_cells: int64 ``(n, 2)``, at the end.
        bonus_tiles: bool ``(n, 2)``, who owns the bonus tile.
        incomes: int64 ``(n, 2)``, income buttons on the quilt at the end.
        buttons: int64 ``(n, 2)``, at the end.
        spent: int64 ``(n, 2)``, buttons paid for patches.
        from_income: int64 ``(n, 2)``, buttons received at income marks.
        from_advancing: int64 ``(n, 2)``, buttons received for advancing.
        patches: int64 ``(n, 2)``, bought.
        special_patches: int64 ``(n, 2)``, placed.
        turns: int64 ``(n, 2)``, actions played, special patches included.
    """

    seats: npt.NDArray[np.int64]
    agent_starts: npt.NDArray[np.bool_]
    agent_wins: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.int64]
    empty_cells: npt.NDArray[np.int64]
    bonus_tiles: npt.NDArray[np.bool_]
    incomes: npt.NDArray[np.int64]
    buttons: npt.NDArray[np.int64]
    spent: npt.NDArray[np.int64]
    from_income: npt.NDArray[np.int64]
    from_advancing: npt.NDArray[np.int64]
    patches: npt.NDArray[np.int64]
    special_patches: npt.NDArray[np.int64]
    turns: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.seats)


FIGURES = {
    "score": "scores",
    "empty_cells": "empty_cells",
    "bonus_tile": "bonus_tiles",
    "income": "incomes",
    "buttons": "buttons",
    "buttons_spent": "spent",
    "buttons_from_income": "from_income",
    "buttons_from_advancing": "from_advancing",
    "patches": "patches",
    "special_patches": "special_patches",
    "turns": "turns",
}
"""Mean figures of a side, and the arrays of :class:`Games` that they come from."""
_SHARES = ("bonus_tile",)
SHOWN = {"score": "score", "empty_cells": "empty cells"}
"""Figures that tables of many agents show and whose distributions are drawn, and their titles."""


@dataclass(frozen=True)
class Result:
    """The result of a match of paired games.

    Attributes:
        agent: Name of the agent that is measured.
        opponent: Name of the agent that it is measured against.
        seed: Of the circles and of both agents' random numbers.
        special_patches: Print of the time track.
        games: Figures of every game.
        kept: Games move by move, the first ones of the match, as many as were asked for.
        seconds: What each side took to choose its actions; None if that was not measured.
    """

    agent: str
    opponent: str
    seed: int
    special_patches: str
    games: Games
    kept: tuple[Game, ...] = ()
    seconds: tuple[float, float] | None = None

    @property
    def win_rate(self) -> float:
        """Share of games that the agent won; there are no draws."""
        return float(self.games.agent_wins.mean())

    @property
    def interval(self) -> Interval:
        """The 95% confidence interval of the win rate; see :func:`win_rate_interval`."""
        return win_rate_interval(_by_pair(self.games.agent_wins))

    @property
    def score_difference(self) -> float:
        """Mean score of the agent minus mean score of the opponent."""
        return float(_differences(self.games).mean())

    @property
    def score_difference_interval(self) -> Interval | None:
        """The 95% confidence interval of the score difference; None for a single pair."""
        return mean_interval(_by_pair(_differences(self.games)))

    def win_rate_if(self, agent_starts: bool) -> float:
        """Win rate over the games that the agent starts, or over those that the opponent starts."""
        return float(self.games.agent_wins[self.games.agent_starts == agent_starts].mean())

    def means(self, side: int) -> dict[str, float]:
        """Mean figures of ``AGENT`` or ``OPPONENT`` by name; ``bonus_tile`` is a share of the games."""
        return {name: float(getattr(self.games, array)[:, side].mean()) for name, array in FIGURES.items()}

    def seconds_per_move(self, side: int) -> float | None:
        """What ``AGENT`` or ``OPPONENT`` took per action, special patches included; None if unknown."""
        return None if self.seconds is None else self.seconds[side] / int(self.games.turns[:, side].sum())

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "games": len(self.games),
            "pairs": len(self.games) // 2,
            "seed": self.seed,
            "special_patches": self.special_patches,
            "confidence": CONFIDENCE,
            "win_rate": self.win_rate,
            "win_rate_interval": list(self.interval),
            "win_rate_starting": self.win_rate_if(agent_starts=True),
            "win_rate_following": self.win_rate_if(agent_starts=False),
            "score_difference": self.score_difference,
            "score_difference_interval": _as_list(self.score_difference_interval),
            "turns_per_game": float(self.games.turns.sum(1).mean()),
            "sides": {"agent": self.means(AGENT), "opponent": self.means(OPPONENT)},
        }

    def table(self) -> str:
        """The result as lines of text."""
        low, high = self.interval
        lines = [
            f"{self.agent} against {self.opponent}: {len(self.games)} games, {len(self.games) // 2} circles "
            f"from both seats, special patches {self.special_patches!r}, seed {self.seed}",
            f"  wins {self.win_rate:.1%} (95% interval {low:.1%} to {high:.1%}), "
            f"{self.win_rate_if(True):.1%} when starting, {self.win_rate_if(False):.1%} when second",
            f"  score difference {self.score_difference:+.2f}{_text(self.score_difference_interval)}, "
            f"{self.games.turns.sum(1).mean():.1f} turns per game",
        ]
        columns = [_column(self.agent, self.means(AGENT)), _column(self.opponent, self.means(OPPONENT))]
        names = ["per game", *(name.replace("_", " ") for name in FIGURES)]
        widths = [max(map(len, column)) for column in columns]
        for name, *cells in zip(names, *columns, strict=True):
            row = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
            lines.append(f"  {name:<22}  {row}")
        return "\n".join(lines)


def win_rate_interval(pairs: npt.NDArray[np.float64]) -> Interval:
    """The 95% confidence interval of a win rate measured by pairs of games.

    The two games of a pair share a circle and are not independent, so the unit is the pair, with result 0,
    1/2 or 1. To those that were seen the formula adds ``z**2`` imagined pairs, half of them won twice and
    half lost twice, and takes ``mean ± z s / sqrt(n)`` of them all. That is the interval of Agresti and Coull
    (1998), for results that may also be 1/2. It stays honest where the plain formula breaks down: at rates
    near 0 and 1, and for few pairs.

    Args:
        pairs: Share of its two games that the agent won, ``(n,)``.
    """
    number = len(pairs) + Z**2
    mean = (pairs.sum() + Z**2 / 2) / number
    variance = ((pairs**2).sum() + Z**2 / 2) / number - mean**2
    margin = Z * sqrt(variance / number)
    return max(0.0, float(mean - margin)), min(1.0, float(mean + margin))


def mean_interval(values: npt.NDArray[np.float64]) -> Interval | None:
    """The 95% confidence interval of a mean, ``mean ± z s / sqrt(n)``; None for a single value."""
    if len(values) < 2:
        return None
    margin = Z * float(values.std(ddof=1)) / sqrt(len(values))
    return float(values.mean()) - margin, float(values.mean()) + margin


def _by_pair(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Means over the two games of each pair."""
    return values.reshape(-1, 2).mean(1)


def _differences(games: Games) -> npt.NDArray[np.int64]:
    return games.scores[:, AGENT] - games.scores[:, OPPONENT]


def _column(name: str, means: dict[str, float]) -> list[str]:
    return [name, *(f"{mean:.1%}" if key in _SHARES else f"{mean:.2f}" for key, mean in means.items())]


def _as_list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _text(interval: Interval | None) -> str:
    return "" if interval is None else f" (95% interval {interval[0]:+.2f} to {interval[1]:+.2f})"
