"""What a match between two agents says: figures of every game, their means and how sure these are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.core.game import BaseGame

CONFIDENCE = 0.95
Z = 1.959963984540054
"""The 97.5% quantile of the normal distribution: two-sided intervals of 95%."""

AGENT, OPPONENT = 0, 1
"""Columns of the figures that both sides have."""

Interval = tuple[float, float]

_TIE = 0.5
"""Of a win."""


class Kind(NamedTuple):
    """What results say of a game.

    Attributes:
        game: Its name.
        set_up: What both sides have in common, in a word.
        variant: The option that tells what is played, by its name.
        is_solitary: Whether the sides do not interact. If so, every set-up is played once, there are ties,
            and a side's mean score is its own. If not, every set-up is played twice, with seats and the first
            turn swapped, and there are no ties.
        figures: Mean figures of a side, and the arrays of :class:`BaseGames` that they come from.
        shares: Those of them that are shares of the games.
        shown: Those that tables of many agents show and whose distributions are drawn, and their titles.
    """

    game: str
    set_up: str
    variant: str
    is_solitary: bool
    figures: Mapping[str, str]
    shares: tuple[str, ...]
    shown: Mapping[str, str]

    @property
    def games_per_set_up(self) -> int:
        """How often every set-up is played."""
        return 1 if self.is_solitary else 2


@dataclass(frozen=True)
class BaseGames:
    """Figures of every game of a match, those that all kinds have; the games of a set-up are neighbors.

    Attributes:
        seats: int64 ``(n,)``, the agent's seat, 0 or 1.
        agent_starts: bool ``(n,)``, whether the agent has the first turn.
        agent_wins: ``(n,)``, bool, or float64 with 0.5 for a tie.
        scores: int64 ``(n, 2)``, of the agent and of the opponent, as in all following ones.
        turns: int64 ``(n, 2)``, actions played.
    """

    kind: ClassVar[Kind]

    seats: npt.NDArray[np.int64]
    agent_starts: npt.NDArray[np.bool_]
    agent_wins: npt.NDArray[Any]
    scores: npt.NDArray[np.int64]
    turns: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.seats)

    def by_set_up(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Means over the games of each set-up, of values ``(n,)``."""
        return values.reshape(-1, self.kind.games_per_set_up).mean(1)


@dataclass(frozen=True)
class Result:
    """The result of a match.

    Attributes:
        agent: Name of the agent that is measured.
        opponent: Name of the agent that it is measured against.
        seed: Of the set-ups and of both agents' random numbers.
        variant: What was played of the game; see :attr:`Kind.variant`.
        games: Figures of every game.
        kept: Games move by move, the first ones of the match, as many as were asked for.
        seconds: What each side took to choose its actions; None if that was not measured.
    """

    agent: str
    opponent: str
    seed: int
    variant: str
    games: BaseGames
    kept: tuple[BaseGame, ...] = ()
    seconds: tuple[float, float] | None = None

    @property
    def kind(self) -> Kind:
        """What results say of the game."""
        return self.games.kind

    @property
    def num_set_ups(self) -> int:
        """How many circles or decks were played."""
        return len(self.games) // self.kind.games_per_set_up

    @property
    def win_rate(self) -> float:
        """Share of games that the agent won; a tie is half a win."""
        return float(self.games.agent_wins.mean())

    @property
    def interval(self) -> Interval:
        """The 95% confidence interval of the win rate; see :func:`win_rate_interval`."""
        return win_rate_interval(self.games.by_set_up(self.games.agent_wins))

    @property
    def ties(self) -> float:
        """Share of games that nobody won."""
        return float((self.games.agent_wins == _TIE).mean())

    @property
    def score_difference(self) -> float:
        """Mean score of the agent minus mean score of the opponent."""
        return float(self._differences().mean())

    @property
    def score_difference_interval(self) -> Interval | None:
        """The 95% confidence interval of the score difference; None for a single set-up."""
        return mean_interval(self.games.by_set_up(self._differences()))

    def score_interval(self, side: int) -> Interval | None:
        """That of the mean score of ``AGENT`` or ``OPPONENT``."""
        return mean_interval(self.games.by_set_up(self.games.scores[:, side]))

    def win_rate_if(self, agent_starts: bool) -> float:
        """Win rate over the games that the agent starts, or over those that the opponent starts."""
        return float(self.games.agent_wins[self.games.agent_starts == agent_starts].mean())

    def means(self, side: int) -> dict[str, float]:
        """Mean figures of ``AGENT`` or ``OPPONENT`` by name; some are shares of the games."""
        figures = self.kind.figures.items()
        return {name: float(getattr(self.games, array)[:, side].mean()) for name, array in figures}

    def seconds_per_move(self, side: int) -> float | None:
        """What ``AGENT`` or ``OPPONENT`` took per action; None if unknown."""
        return None if self.seconds is None else self.seconds[side] / int(self.games.turns[:, side].sum())

    def set_ups(self) -> str:
        """What was played, in words."""
        kind, number = self.kind, self.num_set_ups
        how = ", the same for both sides" if kind.is_solitary else " from both seats"
        return (
            f"{number} {kind.set_up}s{how}, {kind.variant.replace('_', ' ')} {self.variant!r}, "
            f"seed {self.seed}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON."""
        solitary = self.kind.is_solitary
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "games": len(self.games),
            **({} if solitary else {"pairs": self.num_set_ups}),
            "seed": self.seed,
            self.kind.variant: self.variant,
            "confidence": CONFIDENCE,
            "win_rate": self.win_rate,
            "win_rate_interval": list(self.interval),
            **(self._of_solitary_sides() if solitary else self._of_first_turns()),
            "score_difference": self.score_difference,
            "score_difference_interval": _as_list(self.score_difference_interval),
            "turns_per_game": float(self.games.turns.sum(1).mean()),
            "sides": {"agent": self.means(AGENT), "opponent": self.means(OPPONENT)},
        }

    def _of_first_turns(self) -> dict[str, Any]:
        return {
            "win_rate_starting": self.win_rate_if(agent_starts=True),
            "win_rate_following": self.win_rate_if(agent_starts=False),
        }

    def _of_solitary_sides(self) -> dict[str, Any]:
        sides = {"agent": AGENT, "opponent": OPPONENT}
        intervals = {name: _as_list(self.score_interval(side)) for name, side in sides.items()}
        return {"ties": self.ties, "score_intervals": intervals}

    def table(self) -> str:
        """The result as lines of text."""
        low, high = self.interval
        lines = [
            f"{self.agent} against {self.opponent}: {len(self.games)} games, {self.set_ups()}",
            f"  wins {self.win_rate:.1%} (95% interval {low:.1%} to {high:.1%}), "
            + (
                f"ties, which are half a win, {self.ties:.1%}"
                if self.kind.is_solitary
                else f"{self.win_rate_if(True):.1%} when starting, {self.win_rate_if(False):.1%} when second"
            ),
            f"  score difference {self.score_difference:+.2f}{_text(self.score_difference_interval, '+')}"
            + ("" if self.kind.is_solitary else f", {self.games.turns.sum(1).mean():.1f} turns per game"),
        ]
        if self.kind.is_solitary:
            lines += [f"  {self._score(self.agent, AGENT)}", f"  {self._score(self.opponent, OPPONENT)}"]
        columns = [self._column(self.agent, AGENT), self._column(self.opponent, OPPONENT)]
        names = ["per game", *(name.replace("_", " ") for name in self.kind.figures)]
        widths = [max(map(len, column)) for column in columns]
        for name, *cells in zip(names, *columns, strict=True):
            row = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
            lines.append(f"  {name:<22}  {row}")
        return "\n".join(lines)

    def _score(self, name: str, side: int) -> str:
        mean = float(self.games.scores[:, side].mean())
        return f"{name} scores {mean:.2f}{_text(self.score_interval(side))}"

    def _column(self, name: str, side: int) -> list[str]:
        cells = (
            f"{mean:.1%}" if key in self.kind.shares else f"{mean:.2f}"
            for key, mean in self.means(side).items()
        )
        return [name, *cells]

    def _differences(self) -> npt.NDArray[np.int64]:
        return self.games.scores[:, AGENT] - self.games.scores[:, OPPONENT]


def win_rate_interval(pairs: npt.NDArray[np.float64]) -> Interval:
    """The 95% confidence interval of a win rate measured by pairs of games, or by games that may be ties.

    The two games of a pair share a circle and are not independent, so the unit is the pair, with result 0,
    1/2 or 1; a single game that may be a tie has the same results. To those that were seen the formula adds
    ``z**2`` imagined pairs, half of them won twice and half lost twice, and takes ``mean ± z s / sqrt(n)`` of
    them all. That is the interval of Agresti and Coull (1998), for results that may also be 1/2. It stays
    honest where the plain formula breaks down: at rates near 0 and 1, and for few pairs.

    Args:
        pairs: Share of its two games that the agent won, or result of a game, ``(n,)``.
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


def _as_list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _text(interval: Interval | None, sign: str = "") -> str:
    if interval is None:
        return ""
    low, high = interval
    return f" (95% interval {low:{sign}.2f} to {high:{sign}.2f})"
