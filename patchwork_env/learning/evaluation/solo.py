"""NMBR 9 alone, deck by deck: what an agent scores, how its tables look, and the time that it takes.

Needs no more than the library itself, so that long searches can be measured on any machine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.games import NMBR9
from patchwork_env.learning.distributed.workers import Workers, check_workers, do_jobs
from patchwork_env.learning.evaluation.decks import Deck
from patchwork_env.learning.system.machine import made_with
from patchwork_env.nmbr9 import Game

FORMAT = "patchwork-env decks"
VERSION = 1
_QUANTILES = (5, 25, 50, 75, 95)
_BIN = 10
"""Points in a row of the histogram."""
_LONGEST_BAR = 50


class SoloGame(NamedTuple):
    """What became of a deck.

    Attributes:
        deck: Its number.
        score: Points.
        tiles: On each level, the table itself first.
        seconds: What the agent took for all of its moves.
        longest: The same for the move that took longest.
        notation: The game, to be replayed by ``Game.from_notation``.
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
class SoloResult:
    """What an agent did with some decks.

    Attributes:
        agent: Its name.
        order: ``"unknown"``, or ``"known"`` if the agent was shown the whole deck.
        games: One for each deck.
    """

    agent: str
    order: str
    games: tuple[SoloGame, ...]

    @property
    def scores(self) -> npt.NDArray[np.int64]:
        """By deck, int64 ``(n,)``."""
        return np.array([game.score for game in self.games], np.int64)

    @property
    def standard_error(self) -> float | None:
        """Of the mean score; None for a single deck."""
        number = len(self.games)
        return None if number < 2 else float(self.scores.std(ddof=1)) / sqrt(number)

    @property
    def seconds_per_move(self) -> float:
        """The mean over all moves."""
        moves = sum(sum(game.tiles) for game in self.games)
        return sum(game.seconds for game in self.games) / moves

    def tiles_per_level(self) -> list[float]:
        """Mean number of tiles on each level, the table itself first."""
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
            "levels": float(np.mean([len(game.tiles) for game in self.games])),
            "tiles_per_level": self.tiles_per_level(),
            "seconds_per_move": self.seconds_per_move,
            "longest_move": max(game.longest for game in self.games),
            "scores": {str(game.deck): game.score for game in self.games},
            "made_with": made_with(),
        }

    def table(self) -> str:
        """The result as lines of text."""
        scores, error = self.scores, self.standard_error
        spread = "" if error is None else f" ± {error:.2f} (standard error)"
        quantiles = ", ".join(f"{q}%: {np.percentile(scores, q):.0f}" for q in _QUANTILES)
        tiles = ", ".join(f"{mean:.2f}" for mean in self.tiles_per_level())
        levels = np.mean([len(game.tiles) for game in self.games])
        return "\n".join(
            [
                f"{self.agent}: {len(self.games)} decks, order {self.order}",
                f"  mean score {scores.mean():.2f}{spread}, {scores.min()} to {scores.max()}",
                f"  quantiles {quantiles}",
                f"  {levels:.2f} levels, with {tiles} tiles",
                f"  {self.seconds_per_move:.3g} s per move, at most "
                f"{max(game.longest for game in self.games):.3g} s",
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
    done: Callable[[SoloGame], object] | None = None,
) -> SoloResult:
    """Has an agent play decks alone.

    In unknown order the agent is shown games in which the cards to come lie in another, random order: nothing
    that it could look at betrays the real one. It is reseeded for each deck, with a number that follows from
    ``seed`` and that of the deck, so that equal seeds give equal results whatever the number of processes,
    unless the agent looks at the clock.

    Args:
        agent: Plays NMBR 9.
        decks: By number, at least one.
        order: ``"unknown"`` or ``"known"``.
        seed: Of random numbers, ``0 ... 2**64 - 1``.
        workers: Processes that share the decks, or a cluster; with more than one, the agent must allow
            pickling.
        done: Called with every game as it ends.

    Raises:
        ValueError: There is no deck, or the agent does not play NMBR 9.
        IllegalActionError: The agent chose an action that is not legal.
        TableEdgeError: Its tiles would spread further than the numbering of actions reaches.
        WorkerError: A process was killed.
    """
    agent.check_game(NMBR9)
    check_workers(workers)
    if not decks:
        raise ValueError("there is no deck to be played")
    jobs = [_Job(number, deck, order, seed) for number, deck in decks.items()]
    games = []
    for _, game in do_jobs(play_deck, agent, jobs, workers):
        games.append(game)
        if done is not None:
            done(game)
    return SoloResult(agent.name, order, tuple(sorted(games)))


_warm: WeakSet[Agent] = WeakSet()
"""Agents that have played in this process, so that what they need is compiled."""


def play_deck(agent: Agent, job: _Job) -> SoloGame:
    """Plays one deck; see :func:`play_decks`."""
    game = Game(deck=job.deck, order=job.order)
    if agent not in _warm:
        agent.act(game.clone())
        _warm.add(agent)
    source = np.random.SeedSequence([job.seed, job.number])
    seeds = source.generate_state(len(job.deck) + 1, np.uint64).tolist()
    agent.reseed(seeds[-1])
    times = []
    while not game.is_over:
        shown = game.imagine(seeds[game.round])
        began = perf_counter()
        action = agent.act(shown)
        times.append(perf_counter() - began)
        game.play(action)
    tiles = Counter(move.level or 0 for move in game.placements(0))
    counts = tuple(tiles[level] for level in range(max(tiles) + 1))
    return SoloGame(job.number, game.scores()[0], counts, sum(times), max(times), game.notation())


# --- games that are kept ----------------------------------------------------------------------------------


class KeptGames:
    """A file of games, a line of JSON for each, behind a first line that says how they were played.

    A line is on the disk as soon as the game has ended, so that a long evaluation goes on where it was
    stopped.

    Args:
        path: Of the file, which may exist.
        settings: What decides the games; JSON.

    Raises:
        ValueError: The file holds games of other settings, or something else.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        heading = {"format": FORMAT, "version": VERSION, "game": NMBR9, **settings}
        lines = list(_whole_lines(path)) if path.exists() else []
        if lines and lines[0] != heading:
            raise ValueError(f"{path} holds games of other settings: {lines[0]} instead of {heading}")
        try:
            self.games = [SoloGame(**line | {"tiles": tuple(line["tiles"])}) for line in lines[1:]]
        except (TypeError, KeyError) as error:
            raise ValueError(f"{path} is damaged: {error!r}") from None
        self._path = path
        if not lines:
            self._write(heading)

    def add(self, game: SoloGame) -> None:
        """Keeps a game."""
        self._write(game._asdict())

    def _write(self, contents: Mapping[str, Any]) -> None:
        with self._path.open("ab") as file:
            file.write(json.dumps(contents).encode() + b"\n")


def _whole_lines(path: Path) -> Iterator[Any]:
    """What the lines of a file hold; half a line at its end, which a killed process has left, is cut off."""
    contents = path.read_bytes()
    end = contents.rfind(b"\n") + 1
    if end < len(contents):
        with path.open("r+b") as file:
            file.truncate(end)
    for number, line in enumerate(contents[:end].splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}, is damaged: {error}") from None


def result_of(agent: str, order: str, games: Sequence[SoloGame]) -> SoloResult:
    """The result of games that may have been played at different times, in the order of their decks."""
    return SoloResult(agent, order, tuple(sorted(games)))
