"""A round robin: every agent meets every other with the same circles or decks, and all get ratings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from patchwork_env import __version__
from patchwork_env.core.checks import as_number, as_texts, check_seed
from patchwork_env.core.documents import one_line
from patchwork_env.core.names import short_repr
from patchwork_env.learning.distributed.jobs import Workers, check_workers
from patchwork_env.learning.evaluation.matches import Progress, check_games, play_all
from patchwork_env.learning.evaluation.players import Participant, labels
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE
from patchwork_env.learning.evaluation.ratings import Anchor
from patchwork_env.learning.evaluation.runners import Match, check_variant, common_game, runner_of
from patchwork_env.learning.evaluation.standings import Standings
from patchwork_env.learning.evaluation.store import open_store, read_settings
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
