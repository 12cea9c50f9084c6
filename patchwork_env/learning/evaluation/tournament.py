"""A round robin: every agent plays every other with the same circles or decks, and all get ratings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from patchwork_env import __version__
from patchwork_env.core.checks import as_number, as_texts, check_seed
from patchwork_env.core.names import short_repr
from patchwork_env.core.parts import MatchPart
from patchwork_env.learning.distributed import Workers, check_workers
from patchwork_env.learning.evaluation import tables
from patchwork_env.learning.evaluation.matches import Participant, Progress, check_games, play_all
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import Ratings, expected_wins, rate, show_bounds
from patchwork_env.learning.evaluation.results import SIDES, MatchResult, seconds_per_move, wins_by_set_up
from patchwork_env.learning.evaluation.runners import Match, check_variant, common_game
from patchwork_env.learning.evaluation.store import open_store
from patchwork_env.learning.system import made_with

DEFAULT_ANCHOR = "random"
_STORE_VERSION = 4  # the version of the files that keep games
_FORMAT, _VERSION = "patchwork-env tournament results", 1


@dataclass(frozen=True)
class Tournament:
    """A tournament that can be played; :meth:`enter` makes it.

    ``anchor`` is the index of the agent whose rating is fixed; None if the mean of all ratings is.
    """

    participants: tuple[Participant, ...]
    game: str
    variant: str
    games: int
    seed: int
    anchor: int | None
    anchor_rating: float
    forfeits: bool

    @classmethod
    def enter(
        cls,
        agents: Sequence[str],
        games: int,
        seed: int = 0,
        variant: Mapping[str, Any] | None = None,
        anchor: str | None = None,
        anchor_rating: float = 0.0,
        game: str | None = None,
        forfeits: bool = False,
    ) -> Self:
        """Load all agents and check all arguments, before anything is written or played.

        Args:
            agents: Two or more different agents, as
                :func:`~patchwork_env.learning.evaluation.matches.load_player` takes them.
            games: The number of games of every pairing, at least 1; for Patchwork even.
            seed: The seed of the circles or decks, and of the agents' random numbers.
            variant: The option for the variant of the game, such as ``{"order": "known"}``.
            anchor: The agent whose rating is fixed; by default ``"random"`` if it takes part. Without an
                anchor, the mean of all ratings is fixed.
            anchor_rating: The fixed rating, or the fixed mean, in Elo points.
            game: The name of the game; None for the only one that all play, or else Patchwork.
            forfeits: Whether an agent that fails loses the game; otherwise such games are missing.

        Raises:
            ValueError, FileNotFoundError, ImportError: An argument has a value that is not allowed.
        """
        names = as_texts(agents, "agents")
        if len(names) < 2:
            raise ValueError(f"a tournament needs at least two agents; given: {', '.join(names) or 'none'}")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"agents take part once; given more than once: {', '.join(repeated)}")
        if anchor is None and DEFAULT_ANCHOR in names:
            anchor = DEFAULT_ANCHOR
        if anchor is not None and not (isinstance(anchor, str) and anchor in names):
            raise ValueError(
                f"the anchor {short_repr(anchor)} does not take part; allowed are {', '.join(names)}"
            )
        as_number(anchor_rating, "the anchor's rating")
        participants = tuple(map(Participant.load, names))
        game = common_game([one.agent for one in participants], game)
        return cls(
            participants,
            game,
            check_variant(game, variant or {}),
            check_games(games, game),
            check_seed(seed),
            None if anchor is None else names.index(anchor),
            anchor_rating,
            forfeits,
        )

    @property
    def num_games(self) -> int:
        """The number of games of all pairings."""
        return self.games * math.comb(len(self.participants), 2)

    def play(self, folder: Path, workers: Workers = 1, progress: Progress | None = None) -> Standings:
        """Play the games that are not stored; return the standings.

        The folder, which is created if it does not exist, stores the games in blocks; it may also have games
        of other agents. For ``workers`` and ``progress`` see
        :func:`~patchwork_env.learning.evaluation.matches.play_all`.

        Raises:
            ValueError: The folder holds games of other settings, or a file in it is damaged.
            InUseError: Another process plays this tournament.
            StorageError: The folder cannot be written.
            IllegalActionError, OpponentError: An agent failed, without forfeits; the games of all others have
                been played.
            WorkerError: A process was killed.
        """
        check_workers(workers)
        agents = self.participants
        pairs = list(itertools.combinations(range(len(agents)), 2))
        names = tables.labels([one.name for one in agents])
        about = self.game, self.variant, self.games, self.seed
        matches = [
            Match(
                (i, j), (names[i], names[j]), *about, forfeits=self.forfeits, key=agents[i].against(agents[j])
            )
            for i, j in pairs
        ]
        players = [one.agent for one in agents]
        settings = {"game": self.game, "games": self.games, "seed": self.seed, "variant": self.variant}
        settings |= {"block_size": BLOCK_SIZE, "package": __version__}
        with open_store(folder, "tournament", _STORE_VERSION, settings) as store:
            results = list(play_all(players, matches, workers, progress, store))
        known = [self.anchor_rating if i == self.anchor else math.nan for i in range(len(agents))]
        played = dict(zip(pairs, results, strict=True))
        return Standings(tuple(names), played, tuple(known), self.anchor_rating)

    def results_as_dict(self, standings: Standings) -> dict[str, Any]:
        """Return the contents of results.json; docs/reference/formats.md describes them."""
        names = standings.names
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
            "variant": self.variant,
            **standings.as_dict(),
            "seconds_per_move": {name: standings.seconds_per_move(i) for i, name in enumerate(names)},
            "made_with": made_with(),
        }


@dataclass(frozen=True)
class Standings:
    """The matches of agents, by pairs of their indices, the lower one first, and the ratings.

    Attributes:
        names: The names of the agents.
        results: The matches.
        known: The fixed rating of each agent in Elo points; NaN for ratings to estimate.
        mean: The mean of all ratings if none is fixed.
    """

    names: tuple[str, ...]
    results: Mapping[tuple[int, int], MatchResult]
    known: tuple[float, ...]
    mean: float = 0.0

    def __repr__(self) -> str:
        return f"<Standings: {', '.join(self.names)}>"

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings in the order of ``names``; see :mod:`patchwork_env.learning.evaluation.ratings`."""
        wins, known = wins_by_set_up(self.results, len(self.names)), np.array(self.known)
        return rate(wins, mean=self.mean) if np.isnan(known).all() else rate(wins, known)

    @property
    def anchor(self) -> tuple[str | None, float]:
        """The agent whose rating is fixed and its rating; None and the mean of all ratings if none is."""
        pairs = zip(self.names, self.known, strict=True)
        return next(((name, rating) for name, rating in pairs if not math.isnan(rating)), (None, self.mean))

    @property
    def part(self) -> MatchPart:
        """The set-ups, variants and figures of the game's matches."""
        return next(iter(self.results.values())).part

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
        """Return the values of a figure of an agent in all of its games."""
        return np.concatenate(
            [result.games.figures[figure][:, side] for result, side in self._matches_of(agent)]
        )

    def seconds_per_move(self, agent: int) -> float:
        """Return the mean seconds that an agent took per action in all of its games."""
        return seconds_per_move(self._matches_of(agent))

    def forfeits(self, agent: int) -> int:
        """Return the number of games that an agent lost because it failed."""
        return sum(int(result.games.forfeits[:, side].sum()) for result, side in self._matches_of(agent))

    def _matches_of(self, agent: int) -> list[tuple[MatchResult, int]]:
        return [(result, pair.index(agent)) for pair, result in self.results.items() if agent in pair]

    def as_dict(self) -> dict[str, Any]:
        """Return the standings as plain data, for JSON: ``anchor``, ``ranking`` and ``matches``."""
        anchor, rating = self.anchor
        return {
            "anchor": {"agent": anchor, "rating": rating},
            "ranking": [self._entry(i) for i in self.order],
            "matches": self.matches_as_dicts(),
        }

    def matches_as_dicts(self) -> list[dict[str, Any]]:
        """Return the matches as plain data, with the win rates that the ratings expect."""
        return [
            result.as_dict() | {"expected_win_rate": self._expected(*pair)}
            for pair, result in self.results.items()
        ]

    def _entry(self, agent: int) -> dict[str, Any]:
        return {
            "agent": self.names[agent],
            "rating": float(self.ratings.values[agent]),
            "interval": list(self.ratings.intervals[agent]),
            "ahead_of_next": self._ahead_of_next(agent),
            "win_rate": float(np.nanmean(self.win_rates[agent])),
            "forfeits": self.forfeits(agent),
            **{name: float(self.values(agent, name).mean()) for name in self.part.figures},
        }

    def _ahead_of_next(self, agent: int) -> float | None:
        """Return the probability that an agent is stronger than the next one; None for the last."""
        following = self.order[self.order.index(agent) + 1 :]
        return float(self.ratings.ahead[agent, following[0]]) if following else None

    def _expected(self, i: int, j: int) -> float:
        return float(expected_wins(self.ratings.values[i] - self.ratings.values[j]))

    def table(self, form: str = tables.TEXT) -> str:
        """Return the standings and the win matrix as text, markdown or latex; csv has only the standings."""
        match = next(iter(self.results.values()))
        heading = f"{len(self.names)} agents, {len(match.games)} games of each pairing: {match.set_ups()}"
        return tables.render([heading, self.ranking(), self._matrix(), "\n".join(self._notes())], form)

    def ranking(self) -> tables.Table:
        """Return a row for each agent, from the highest rating to the lowest."""
        columns = [
            tables.Column("agent"),
            tables.Column("rating", "{:.0f}".format),
            tables.interval_column("rating", show_bounds),
            tables.Column("ahead", "{:.1%}".format),
            tables.Column("wins", "{:.1%}".format),
            *(tables.Column(name.replace("_", " "), "{:.1f}".format) for name in self.part.in_rankings),
            tables.Column("ms/move", "{:.3g}".format),
        ]
        keys = ("agent", "rating", "interval", "ahead_of_next", "win_rate", *self.part.in_rankings)
        rows = []
        for i in self.order:
            entry = self._entry(i)
            rows.append([*(entry[key] for key in keys), 1000 * self.seconds_per_move(i)])
        return tables.Table(columns, rows)

    def _matrix(self) -> tables.Table:
        columns = [
            tables.Column("% of games won against"),
            *(tables.Column(self.names[j]) for j in self.order),
        ]
        rows = [
            [self.names[i], *("-" if i == j else f"{100 * self.win_rates[i, j]:.1f}" for j in self.order)]
            for i in self.order
        ]
        return tables.Table(columns, rows)

    def _notes(self) -> list[str]:
        anchor, rating = self.anchor
        zero = "the mean" if anchor is None else anchor
        i, j = max(self.results, key=lambda pair: abs(self._expected(*pair) - self.win_rates[pair]))
        notes = [
            f"Bradley-Terry ratings on the scale of Elo, {zero} at {rating:g}; "
            f"an interval is that of the distance to {zero}.",
            "Ahead: the probability that the agent is stronger than the next one.",
            f"The ratings fit worst for {self.names[i]} against {self.names[j]}: expected are "
            f"{self._expected(i, j):.1%} wins, and there were {self.win_rates[i, j]:.1%}.",
        ]
        notes += [
            f"{self.names[k]} lost {self.forfeits(k)} games because it failed."
            for k in self.order
            if self.forfeits(k)
        ]
        if any(None in interval for interval in self.ratings.intervals):
            notes.append(
                "An interval has no end if no game was won in that direction; "
                "the rating then depends on half a virtual win of each agent over every other."
            )
        return notes

    def csv(self) -> str:
        """Return CSV with a row for each game: pairing, circle or deck, and the figures of both sides."""
        part = self.part
        figures = [f"{name}_of_{side}" for name in part.figures for side in SIDES]
        heading = ["agent", "opponent", part.set_up, "seat", "agent_starts", "agent_wins", *figures]
        rows: list[list[Any]] = [heading]
        for result in self.results.values():
            games = result.games
            number = np.arange(len(games)) // part.games_per_set_up
            values = [number, games.seats, games.agent_starts, games.agent_wins]
            values += [column for name in part.figures for column in games.figures[name].T]
            numbers = [one.astype(np.int64) if one.dtype == np.bool_ else one for one in values]
            listed = zip(*(one.tolist() for one in numbers), strict=True)
            rows += [[result.agent, result.opponent, *row] for row in listed]
        return tables.csv_text(rows)
