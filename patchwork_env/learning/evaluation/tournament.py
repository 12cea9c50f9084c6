"""A round robin: every agent meets every other with the same circles or decks, and all get ratings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from patchwork_env import __version__
from patchwork_env.core.checks import as_number, as_texts, check_seed
from patchwork_env.core.documents import one_line
from patchwork_env.core.names import short_repr
from patchwork_env.learning.distributed.jobs import Workers, check_workers
from patchwork_env.learning.evaluation.matches import Progress, check_games, play_all
from patchwork_env.learning.evaluation.players import Participant, labels
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import MEAN_AT_ZERO, Anchor, Ratings, rate, show_bounds
from patchwork_env.learning.evaluation.results import MatchResult, wins_by_set_up
from patchwork_env.learning.evaluation.runners import (
    AGENT,
    OPPONENT,
    Match,
    MatchRunner,
    check_variant,
    common_game,
    runner_of,
)
from patchwork_env.learning.evaluation.statistics import CONFIDENCE
from patchwork_env.learning.evaluation.store import open_store, read_settings
from patchwork_env.learning.evaluation.tables import TEXT, Column, Table, csv_text, render
from patchwork_env.learning.system.machine import made_with

DEFAULT_ANCHOR = "random"
_HIGHEST_RATING = 1e6
_KIND = "tournament"
"""The name of the file with the settings, in a folder that keeps games."""
_STORE_VERSION = 4
"""The version of the files that keep games."""
_OF_AGENTS = ("agents", "weights", "rungs", "forfeits")
"""The settings that may change in a folder: the names of stored games say who played them."""
_FORMAT, _VERSION = "patchwork-env tournament results", 1


class Rung(NamedTuple):
    """A checkpoint of a run that takes part, and the training before it.

    ``minutes`` is None if the run's metrics do not tell.
    """

    spec: str
    steps: int
    minutes: float | None


@dataclass(frozen=True)
class Tournament:
    """A tournament that can be played; :meth:`enter` and :meth:`resume` make it.

    Attributes:
        participants: The agents that take part.
        game: The name of the game.
        variant: What is played of the game.
        games: The number of games of every pairing.
        seed: The seed of the circles or decks, and of the agents' random numbers.
        anchor: What fixes the scale of the ratings.
        rungs: The rungs of a ladder, which are the first agents; empty if there is no ladder.
        forfeits: Whether an agent that fails loses the game.
    """

    participants: tuple[Participant, ...]
    game: str
    variant: str
    games: int
    seed: int
    anchor: Anchor
    rungs: tuple[Rung, ...] = ()
    forfeits: bool = False

    @classmethod
    def enter(
        cls,
        agents: Sequence[str],
        games: int,
        seed: int = 0,
        variant: Mapping[str, Any] | None = None,
        anchor: str | None = None,
        anchor_rating: float = 0.0,
        rungs: Sequence[Rung] = (),
        game: str | None = None,
        forfeits: bool = False,
    ) -> Self:
        """Loads all agents and checks everything, before anything is written or played.

        Args:
            agents: Two or more different agents, each as
                :func:`~patchwork_env.learning.evaluation.players.load_player` takes it.
            games: The number of games of every pairing, at least 1; for Patchwork even.
            seed: The seed of the circles or decks, and of the agents' random numbers.
            variant: The option of the game that says what is played; see
                :func:`~patchwork_env.learning.evaluation.runners.check_variant`.
            anchor: The agent whose rating is fixed; by default ``"random"`` if it takes part, or else the
                mean of all ratings is fixed.
            anchor_rating: The fixed rating, or the fixed mean, in Elo points.
            rungs: The rungs of a ladder, which are the first agents; empty if there is no ladder.
            game: The name of the game; None for the only one that all play, or else Patchwork.
            forfeits: Whether an agent that fails loses the game: by an illegal action, by an error that it
                raises, or as a program that ends, hangs or says what makes no sense. Without, such games
                stay missing.

        Raises:
            ValueError: An argument has a value that is not allowed.
            FileNotFoundError: There is no such checkpoint.
            ImportError: There is no such module.
        """
        agents = as_texts(agents, "agents")
        if len(agents) < 2:
            raise ValueError(f"a tournament needs at least two agents; given: {', '.join(agents) or 'none'}")
        repeated = sorted({agent for agent in agents if agents.count(agent) > 1})
        if repeated:
            raise ValueError(f"agents take part once; given more than once: {', '.join(repeated)}")
        if anchor is not None and not (isinstance(anchor, str) and anchor in agents):
            raise ValueError(
                f"the anchor {short_repr(anchor)} does not take part; allowed are {', '.join(agents)}"
            )
        if not abs(as_number(anchor_rating, "the anchor's rating")) <= _HIGHEST_RATING:
            raise ValueError(f"the anchor's rating is {anchor_rating}; allowed are up to {_HIGHEST_RATING:g}")
        if anchor is None and DEFAULT_ANCHOR in agents:
            anchor = DEFAULT_ANCHOR
        participants = tuple(Participant.load(agent) for agent in agents)
        game = common_game([one.agent for one in participants], game)
        what, games, seed = check_variant(game, variant or {}), check_games(games, game), check_seed(seed)
        scale = Anchor(None if anchor is None else agents.index(anchor), anchor_rating)
        return cls(participants, game, what, games, seed, scale, tuple(rungs), forfeits)

    @classmethod
    def resume(
        cls, folder: Path, anchor: str | None = None, anchor_rating: float = 0.0, forfeits: bool = False
    ) -> Self:
        """The tournament in a folder, with its settings; for the anchor and forfeits see :meth:`enter`.

        Raises:
            FileNotFoundError: The folder holds no tournament, or a checkpoint no longer exists.
            ValueError: The settings are damaged, a checkpoint has other weights than when the tournament
                began, or the anchor does not take part.
        """
        there = read_settings(folder, _KIND, _STORE_VERSION)
        try:
            name, weights = runner_of(there["game"]).variant, dict(enumerate(there["weights"]))
            variant = {name: there[name]} if name else {}
            rungs = [Rung(*rung) for rung in there["rungs"]]
            about, game, agents = (there["games"], there["seed"], variant), there["game"], there["agents"]
            forfeits = forfeits or there["forfeits"]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder / _KIND}.json is damaged: {one_line(repr(error))}") from None
        again = cls.enter(agents, *about, anchor, anchor_rating, rungs, game, forfeits)
        for k, participant in enumerate(again.participants):
            if participant.weights != weights.get(k):
                raise ValueError(f"{participant.name} has other weights than when the tournament began")
        return again

    @property
    def num_games(self) -> int:
        """The number of games of all pairings."""
        return self.games * len(self._pairs())

    def play(self, folder: Path, workers: Workers = 1, progress: Progress | None = None) -> Standings:
        """Plays what has not been played yet; returns the standings.

        The folder, which is created if it does not exist, keeps the games block by block. It may hold those
        of a tournament of other agents, whose games between two that take part are used. For ``workers`` and
        ``progress`` see :func:`~patchwork_env.learning.evaluation.matches.play_all`.

        If an agent fails, the games of all others are played and kept before the error is raised, unless
        forfeits count.

        Raises:
            OtherSettingsError: The folder holds games of other settings.
            ValueError: A file in the folder is damaged.
            InUseError: Another process plays this tournament.
            StorageError: The folder cannot be written.
            IllegalActionError: An agent chose an action that is not legal.
            OpponentError: An agent failed: it raised another error, or is a program.
            WorkerError: A process was killed.
        """
        check_workers(workers)
        pairs, names = self._pairs(), labels([one.name for one in self.participants])
        matches = [
            Match(
                (i, j),
                (names[i], names[j]),
                self.game,
                self.variant,
                self.games,
                self.seed,
                forfeits=self.forfeits,
                key=self.participants[i].against(self.participants[j]),
            )
            for i, j in pairs
        ]
        players = [one.agent for one in self.participants]
        with open_store(folder, _KIND, _STORE_VERSION, self._settings(), _OF_AGENTS) as store:
            results = list(play_all(players, matches, workers, progress, store))
        return Standings(tuple(names), dict(zip(pairs, results, strict=True)), self.anchor)

    def _settings(self) -> dict[str, Any]:
        """What decides the games, as plain data."""
        return {
            "game": self.game,
            "agents": [one.name for one in self.participants],
            "weights": [one.weights for one in self.participants],
            "games": self.games,
            "seed": self.seed,
            runner_of(self.game).variant or "variant": self.variant,
            "rungs": self.rungs,
            "block_size": BLOCK_SIZE,
            "package": __version__,
            "forfeits": self.forfeits,
        }

    def _pairs(self) -> list[tuple[int, int]]:
        return list(itertools.combinations(range(len(self.participants)), 2))

    def results_as_dict(self, standings: Standings) -> dict[str, Any]:
        """The contents of results.json; docs/evaluation.md describes them."""
        ratings, names = standings.ratings, standings.names
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "game": self.game,
            "agents": [
                {"name": name, "spec": one.name, "weights": one.weights}
                for name, one in zip(names, self.participants, strict=True)
            ],
            "games": self.games,
            "seed": self.seed,
            runner_of(self.game).variant or "variant": self.variant,
            **standings.as_dict(),
            "ladder": [
                {
                    "agent": names[k],
                    "steps": rung.steps,
                    "minutes": rung.minutes,
                    "rating": float(ratings.values[k]),
                    "interval": list(ratings.intervals[k]),
                }
                for k, rung in enumerate(self.rungs)
            ],
            "seconds_per_move": {name: standings.seconds_per_move(i) for i, name in enumerate(names)},
            "made_with": made_with(),
        }


# --- the outcome --------------------------------------------------------------------------------------------


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
    def figure_titles(self) -> dict[str, str]:
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
            *(Column(title, "{:.1f}".format) for title in self.figure_titles.values()),
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
            *(means[name] for name in self.figure_titles),
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
