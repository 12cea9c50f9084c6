"""A round robin: every agent meets every other with the same circles or decks, and all get ratings."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from patchwork_env import __version__
from patchwork_env.core.checks import as_number, as_texts, check_seed
from patchwork_env.core.documents import one_line
from patchwork_env.core.names import short_repr
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.distributed.jobs import Workers, check_workers
from patchwork_env.learning.evaluation.blocks import BLOCK_SIZE, split
from patchwork_env.learning.evaluation.contests import Block, check_variant, common_game, contest_of
from patchwork_env.learning.evaluation.matches import Pairing, Progress, check_games, play_pairings
from patchwork_env.learning.evaluation.players import Entrant, labels
from patchwork_env.learning.evaluation.ratings import Anchor, check_installed
from patchwork_env.learning.evaluation.standings import Standings
from patchwork_env.learning.evaluation.store import GameStore, open_store, read_settings
from patchwork_env.learning.system.machine import made_with

DEFAULT_ANCHOR = "random"
_HIGHEST_RATING = 1e6
_KIND = "tournament"
"""The name of the file with the settings, in a folder that keeps games."""
_STORE_VERSION = 3
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
class Settings:
    """What decides the games of a tournament, or of a match of the gauntlet.

    Attributes:
        agents: The agents as the command names them.
        weights: The SHA-256 of each agent's weights; None for an agent that has none on disk.
        games: The number of games of every pairing.
        seed: The seed of the circles or decks, and of the agents' random numbers.
        variant: What is played of the game.
        rungs: The rungs of a ladder, which are the first agents; empty if there is no ladder.
        game: The name of the game.
        block_size: How many circles or decks are played at once.
        package: The version of the package.
        forfeits: Whether an agent that fails loses the game.
    """

    agents: tuple[str, ...]
    weights: tuple[str | None, ...]
    games: int
    seed: int
    variant: str
    rungs: tuple[Rung, ...] = ()
    game: str = PATCHWORK
    block_size: int = BLOCK_SIZE
    package: str = __version__
    forfeits: bool = False

    def blocks(self) -> list[Block]:
        """The blocks of every pairing."""
        return split(self.game, self.variant, self.games, self.seed, block_size=self.block_size)

    def open(self, folder: Path, free: Collection[str] = ()) -> AbstractContextManager[GameStore]:
        """Opens a folder that keeps the games, for this process alone; see :func:`open_store`."""
        return open_store(folder, _KIND, _STORE_VERSION, self.as_dict(), free)

    def match_name(self, pair: tuple[int, int]) -> str:
        """What a folder calls the match of two agents, whoever else takes part."""
        sides = (json.dumps([self.agents[k], self.weights[k]]).encode() for k in pair)
        return "_against_".join(hashlib.sha256(side).hexdigest()[:16] for side in sides)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data; the variant goes by the name of the game's option for it."""
        values = {"game": self.game} | asdict(self)
        name = contest_of(self.game).variant or "variant"
        return {name if key == "variant" else key: values[key] for key in values}

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The settings of the tournament in a folder.

        Raises:
            FileNotFoundError: The folder holds no tournament.
            ValueError: The settings are damaged, or of another version.
        """
        contents = read_settings(folder, _KIND, _STORE_VERSION)
        try:
            variant = contents.pop(contest_of(contents["game"]).variant or "variant")
            agents, weights = tuple(contents.pop("agents")), tuple(contents.pop("weights"))
            rungs = tuple(Rung(*rung) for rung in contents.pop("rungs"))
            return cls(agents, weights, variant=variant, rungs=rungs, **contents)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder / _KIND}.json is damaged: {one_line(repr(error))}") from None


@dataclass(frozen=True)
class Tournament:
    """A tournament that can be played; :meth:`enter` and :meth:`resume` make it.

    Attributes:
        settings: What decides the games.
        entrants: The agents that take part.
        anchor: What fixes the scale of the ratings.
    """

    settings: Settings
    entrants: tuple[Entrant, ...]
    anchor: Anchor

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
                :func:`~patchwork_env.learning.evaluation.contests.check_variant`.
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
        entrants = tuple(Entrant.load(agent) for agent in agents)
        game = common_game([entrant.agent for entrant in entrants], game)
        what, games, seed = check_variant(game, variant or {}), check_games(games, game), check_seed(seed)
        weights = tuple(entrant.weights for entrant in entrants)
        settings = Settings(agents, weights, games, seed, what, tuple(rungs), game, forfeits=forfeits)
        place = None if anchor is None else agents.index(anchor)
        return cls(settings, entrants, Anchor(place, anchor_rating))

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
        there = Settings.read(folder)
        variant = {contest_of(there.game).variant: there.variant} if there.variant else {}
        about = there.agents, there.games, there.seed, variant
        forfeits = forfeits or there.forfeits
        again = cls.enter(*about, anchor, anchor_rating, there.rungs, there.game, forfeits)
        for agent, old, new in zip(there.agents, there.weights, again.settings.weights, strict=True):
            if old != new:
                raise ValueError(f"{agent} has other weights than when the tournament began")
        return again

    @property
    def num_games(self) -> int:
        """The number of games of all pairings."""
        return self.settings.games * len(self._pairs())

    def play(self, folder: Path, workers: Workers = 1, progress: Progress | None = None) -> Standings:
        """Plays what has not been played yet; returns the standings.

        The folder, which is created if it does not exist, keeps the games block by block. It may hold those
        of a tournament of other agents, whose games between two that take part are used. For ``workers`` and
        ``progress`` see :func:`~patchwork_env.learning.evaluation.matches.play_pairings`.

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
            ModuleNotFoundError: The library that finds ratings is not installed.
        """
        check_workers(workers)
        check_installed()
        settings, pairs = self.settings, self._pairs()
        names, players = labels(settings.agents), [entrant.agent for entrant in self.entrants]
        blocks = settings.blocks()
        with settings.open(folder, _OF_AGENTS) as store:
            pairings = [
                Pairing(*pair, blocks, store, settings.match_name(pair), settings.forfeits) for pair in pairs
            ]
            results = list(play_pairings(names, players, pairings, workers, progress))
        return Standings(tuple(names), dict(zip(pairs, results, strict=True)), self.anchor)

    def _pairs(self) -> list[tuple[int, int]]:
        return list(itertools.combinations(range(len(self.entrants)), 2))

    def results_as_dict(self, standings: Standings) -> dict[str, Any]:
        """The contents of results.json; docs/evaluation.md describes them."""
        settings = self.settings
        listed = zip(standings.names, settings.agents, settings.weights, strict=True)
        speeds = {name: standings.seconds_per_move(i) for i, name in enumerate(standings.names)}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "game": settings.game,
            "agents": [{"name": name, "spec": spec, "weights": weights} for name, spec, weights in listed],
            "games": settings.games,
            "seed": settings.seed,
            standings.contest.variant or "variant": settings.variant,
            **standings.as_dict(),
            "ladder": _rungs_as_dicts(settings.rungs, standings),
            "seconds_per_move": speeds,
            "made_with": made_with(),
        }


def _rungs_as_dicts(ladder: Sequence[Rung], standings: Standings) -> list[dict[str, Any]]:
    ratings = standings.ratings
    return [
        {
            "agent": standings.names[k],
            "steps": rung.steps,
            "minutes": rung.minutes,
            "rating": float(ratings.values[k]),
            "interval": list(ratings.intervals[k]),
        }
        for k, rung in enumerate(ladder)
    ]
