"""An agent plays decks of NMBR 9 alone: what it scores, how its tables look, and the time that it takes.

This needs no more than the library itself, so that long searches can be measured on any machine. A file of
decks has a line of digits for each deck, the first card first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from patchwork_env import __version__
from patchwork_env.agents import Agent
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import as_number, check_between, check_seed, seed_streams
from patchwork_env.core.documents import read_text
from patchwork_env.core.names import counted, short_repr
from patchwork_env.games import NMBR9
from patchwork_env.learning.distributed.jobs import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.blocks import blamed
from patchwork_env.learning.evaluation.players import Entrant
from patchwork_env.learning.evaluation.store import GameStore, open_store
from patchwork_env.learning.system.machine import made_with
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.options import check_deck
from patchwork_env.nmbr9.rules import RULES

KIND = "decks"
Deck = tuple[int, ...]
"""The digits of the cards, the first card first."""

FORMAT, VERSION = "patchwork-env decks", 1
_STORE_VERSION = 2
_MOST_DECKS = 10**6
_QUANTILES = (5, 25, 50, 75, 95)
_BIN = 10
"""The range of scores, in points, that a row of the histogram covers."""
_LONGEST_BAR = 50


class DeckGame(NamedTuple):
    """A game that an agent played with a deck.

    Attributes:
        deck: The number of the deck.
        score: The points that the agent scored.
        tiles: How many tiles lie on each level, the table itself first.
        seconds: The time that the agent took for all of its moves, in seconds.
        longest: The time that the agent took for its slowest move, in seconds.
        notation: The game in notation, which ``Game.from_notation`` replays.
    """

    deck: int
    score: int
    tiles: tuple[int, ...]
    seconds: float
    longest: float
    notation: str


class _Job(NamedTuple):
    number: int
    deck: Deck
    order: str
    seed: int


@dataclass(frozen=True)
class DecksResult:
    """The games that an agent played with several decks.

    Attributes:
        agent: The name of the agent.
        order: ``"unknown"``, or ``"known"`` if the agent was shown the whole deck.
        games: The game with each deck.
    """

    agent: str
    order: str
    games: tuple[DeckGame, ...]

    def __repr__(self) -> str:
        number = counted(len(self.games), "deck")
        return f"<DecksResult: {self.agent}, {number}, mean score {self.scores.mean():.2f}>"

    @property
    def scores(self) -> npt.NDArray[np.int64]:
        """The score of each deck, int64 ``(n,)``."""
        return np.array([game.score for game in self.games], np.int64)

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean score; None for a single deck."""
        number = len(self.games)
        return None if number < 2 else float(self.scores.std(ddof=1)) / sqrt(number)

    @property
    def seconds_per_move(self) -> float:
        """The mean time that the agent took for a move, in seconds."""
        moves = sum(sum(game.tiles) for game in self.games)
        return sum(game.seconds for game in self.games) / moves

    @property
    def longest_move(self) -> float:
        """The time that the agent took for its slowest move, in seconds."""
        return max(game.longest for game in self.games)

    @property
    def levels(self) -> float:
        """The mean number of levels with tiles on them, the table itself included."""
        return float(np.mean([len(game.tiles) for game in self.games]))

    def tiles_per_level(self) -> list[float]:
        """The mean number of tiles on each level, the table itself first."""
        height = max(len(game.tiles) for game in self.games)
        padded = [game.tiles + (0,) * (height - len(game.tiles)) for game in self.games]
        return [float(mean) for mean in np.mean(padded, axis=0)]

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON; docs/nmbr9.md describes it."""
        scores = self.scores
        return {
            "format": FORMAT,
            "version": VERSION,
            "game": NMBR9,
            "agent": self.agent,
            "order": self.order,
            "decks": len(self.games),
            "mean": float(scores.mean()),
            "standard_error": self.standard_error,
            "lowest": int(scores.min()),
            "highest": int(scores.max()),
            "quantiles": {str(q): float(np.percentile(scores, q)) for q in _QUANTILES},
            "levels": self.levels,
            "tiles_per_level": self.tiles_per_level(),
            "seconds_per_move": self.seconds_per_move,
            "longest_move": self.longest_move,
            "scores": {str(game.deck): game.score for game in self.games},
            "made_with": made_with(),
        }

    def table(self) -> str:
        """The result as lines of text."""
        scores, error = self.scores, self.standard_error
        spread = "" if error is None else f" ± {error:.2f} (standard error)"
        quantiles = ", ".join(f"{q}%: {np.percentile(scores, q):.0f}" for q in _QUANTILES)
        tiles = ", ".join(f"{mean:.2f}" for mean in self.tiles_per_level())
        return "\n".join(
            [
                f"{self.agent}: {counted(len(self.games), 'deck')}, order {self.order}",
                f"  mean score {scores.mean():.2f}{spread}, {scores.min()} to {scores.max()}",
                f"  quantiles {quantiles}",
                f"  {self.levels:.2f} levels, with {tiles} tiles",
                f"  {self.seconds_per_move:.3g} s per move, at most {self.longest_move:.3g} s",
                *_histogram(scores),
            ]
        )


def _histogram(scores: npt.NDArray[np.int64]) -> list[str]:
    counts = Counter((scores // _BIN).tolist())
    scale = _LONGEST_BAR / max(counts.values())
    return [
        f"  {_BIN * k:>4}-{_BIN * k + _BIN - 1:<3} {counts[k]:>5} {'#' * round(scale * counts[k])}".rstrip()
        for k in range(min(counts), max(counts) + 1)
    ]


def play_decks(
    agent: Agent,
    decks: Mapping[int, Deck],
    order: str = "unknown",
    seed: int = 0,
    workers: Workers = 1,
    done: Callable[[DeckGame], object] | None = None,
    store: GameStore | None = None,
) -> DecksResult:
    """Has an agent play decks of NMBR 9 alone.

    If the order is unknown, the agent is shown games in which the cards to come lie in another, random order:
    nothing that it could look at betrays the real one. The agent is reseeded for each deck, from ``seed`` and
    the number of the deck. So equal seeds give equal results whatever the number of processes, unless the
    agent looks at the clock.

    Args:
        agent: The agent, which must play NMBR 9.
        decks: The decks by their numbers, at least one.
        order: ``"unknown"``, or ``"known"`` to show the agent the whole deck.
        seed: The seed of random numbers, ``0 ... 2**64 - 1``.
        workers: See :func:`~patchwork_env.learning.evaluation.matches.play_matches`.
        done: Called with every game as it ends.
        store: What keeps the games, from :func:`open_decks`; games that it holds are not played again.

    Raises:
        ValueError: There is no deck, or the agent does not play NMBR 9.
        IllegalActionError: The agent chose an action that is not legal.
        OpponentError: The agent failed: it raised another error, or is a program.
        WorkerError: A process was killed.
    """
    if not isinstance(agent, Agent):
        raise ValueError(f"{short_repr(agent)} is no agent; agents.load and agents.as_agent make one")
    agent.check_game(NMBR9)
    check_workers(workers)
    if not isinstance(decks, Mapping) or not decks:
        raise ValueError(
            f"there is no deck to be played in {short_repr(decks)}, which must be decks by number"
        )
    decks = {
        check_between(k, 0, 2**32 - 1, "the number of a deck"): tuple(check_deck(decks[k])) for k in decks
    }
    seed = check_seed(seed)
    jobs = [_Job(number, deck, order, seed) for number, deck in decks.items()]
    games = [] if store is None else [_kept(store, job) for job in jobs if store.has(_part(job.number))]
    there = {game.deck for game in games}
    jobs = [job for job in jobs if job.number not in there]
    for _, game in do_jobs(play_deck, agent, jobs, workers):
        games.append(game)
        if store is not None:
            store.write(_part(game.deck), game._asdict())
        if done is not None:
            done(game)
    return DecksResult(agent.name, order, tuple(sorted(games)))


def open_decks(
    folder: Path, entrant: Entrant, order: str, seed: int, file: str
) -> AbstractContextManager[GameStore]:
    """Opens a folder that keeps the games of an agent, for this process alone; creates it if there is none.

    The order, the seed and the file that the decks come from decide the games, besides the agent.

    Raises:
        ValueError: The folder holds games of other settings, or it is a file.
    """
    if folder.is_file():
        raise ValueError(f"{folder} is a file; games are kept in a folder: name another")
    settings: dict[str, Any] = {
        "game": NMBR9,
        "agent": entrant.name,
        "weights": entrant.weights,
        "order": order,
    }
    settings |= {"seed": seed, "file": file, "package": __version__}
    return open_store(folder, KIND, _STORE_VERSION, settings)


def _part(number: int) -> str:
    """The name under which a store keeps the game with a deck."""
    return f"{number:06d}"


def _kept(store: GameStore, job: _Job) -> DeckGame:
    """The game of a job that a store keeps; ValueError if it is damaged, or another."""

    def parse(kept: Any) -> DeckGame:
        game, times = Game.from_notation(kept["notation"]), (kept["seconds"], kept["longest"])
        if game.root() != Game(deck=job.deck, order=job.order) or not game.is_over:
            raise ValueError(f"it holds no whole game with deck {job.number}")
        played = _deck_game(job, game, *(as_number(time, "a time", least=0) for time in times))
        if played != DeckGame(**kept | {"tiles": tuple(kept["tiles"])}):
            raise ValueError("deck, score or tiles are not those of its notation")
        return played

    return store.read(_part(job.number), parse)


_warm: WeakSet[Agent] = WeakSet()
"""The agents that have played in this process, so that their compiled functions are ready."""


def play_deck(agent: Agent, job: _Job) -> DeckGame:
    """Plays one deck; see :func:`play_decks`."""
    game = Game(deck=job.deck, order=job.order)
    if agent not in _warm:
        with blamed(agent):
            agent.act(game.clone())
        _warm.add(agent)
    source = np.random.SeedSequence([job.seed, job.number])
    seeds = source.generate_state(len(job.deck) + 1, np.uint64).tolist()
    agent.reseed(seeds[-1])
    times = []
    while not game.is_over:
        shown = game.imagine(seeds[game.round])
        with blamed(agent):
            began = perf_counter()
            action = agent.act(shown)
            times.append(perf_counter() - began)
        game.play(action)
    return _deck_game(job, game, sum(times), max(times))


def _deck_game(job: _Job, game: Game, seconds: float, longest: float) -> DeckGame:
    """What is told of a game that is over."""
    tiles = Counter(move.level or 0 for move in game.placements(0))
    counts = tuple(tiles[level] for level in range(max(tiles) + 1))
    return DeckGame(job.number, game.scores()[0], counts, seconds, longest, game.notation())


# --- decks in files -----------------------------------------------------------------------------------------


def shuffled_decks(number: int, seed: int) -> list[Deck]:
    """Random decks of the published game; deck ``k`` depends on ``seed`` and ``k`` alone.

    Deck ``k`` is that of game ``k`` in every batch that begins with this seed, and in every match.
    """
    states = begin_games(RULES, seed_streams(seed, check_between(number, 1, _MOST_DECKS, "number")))
    return [tuple(deck) for deck in states["deck"][:, : states[0]["num_cards"]].tolist()]


def decks_text(decks: list[Deck]) -> str:
    """The contents of a file that holds these decks."""
    return "".join("".join(map(str, deck)) + "\n" for deck in decks)


def read_decks(path: Path) -> list[Deck]:
    """The decks of a file.

    Raises:
        ValueError: The file holds no deck, or something else in a line that the message names.
        OSError: The file cannot be read.
    """
    decks = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not (line.isascii() and line.isdigit()):
            raise ValueError(
                f"{path}, line {number}: {short_repr(line)} is no deck; it must be a line of digits"
            )
        try:
            decks.append(tuple(check_deck(map(int, line))))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not decks:
        raise ValueError(f"{path} holds no deck")
    return decks
