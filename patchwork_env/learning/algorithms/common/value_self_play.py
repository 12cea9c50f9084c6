"""Self-play by a compiled value, in threads or by workers; a game depends only on its random stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.random import Streams
from patchwork_env.learning.algorithms.common.batches import (
    check_like,
    draw_seed,
    even_parts,
    parts_of_size,
)
from patchwork_env.learning.algorithms.common.remote_play import Weights
from patchwork_env.learning.algorithms.common.threads import ThreadPool


class Buffers(Protocol):
    """The memory of one thread: games with their random ``streams``, and what else playing needs."""

    @property
    def games(self) -> Any:
        """The games."""


OwnBuffers = TypeVar("OwnBuffers", bound=Buffers)
Played = TypeVar("Played")
Positions = TypeVar("Positions")


class ValueSelfPlay(ABC, Generic[OwnBuffers, Played, Positions]):
    """Plays the games of an iteration from their first turn to their last, compiled; threads share them.

    Attributes:
        nothing_played: The result of no games, with the types of all that games result in.
        game: The class of the games.
    """

    nothing_played: ClassVar[Any]
    game: ClassVar[type[BaseGame]]

    def __init__(self, games: int, threads: ThreadPool) -> None:
        self._number, self._threads = games, threads
        self._parts = even_parts(games, threads.size)
        self._buffers = [self._new_buffers(part.stop - part.start) for part in self._parts]

    def play(
        self, weights: Any, progress: float, random: np.random.Generator
    ) -> tuple[Positions, dict[str, float]]:
        """Plays the games of an iteration by a record of weights.

        ``progress`` is the fraction of the run that is over; ``random`` draws the seed of the games. Returns
        positions with targets, and statistics, among them the ``turns`` of all games.
        """
        streams = seed_streams(draw_seed(random), self._number)
        for part, buffers in zip(self._parts, self._buffers, strict=True):
            buffers.games.streams[:] = streams[part]

        def work(buffers: OwnBuffers) -> Played:
            return self._play(buffers, weights, progress)

        return self.combine(self._threads.map(work, self._buffers))

    def play_streams(self, weights: Any, progress: float, streams: Streams) -> Played:
        """Plays a game from each random stream in this thread, with memory for this call alone."""
        buffers = self._new_buffers(len(streams))
        buffers.games.streams[:] = streams
        return self._play(buffers, weights, progress)

    @abstractmethod
    def combine(self, parts: Sequence[Played]) -> tuple[Positions, dict[str, float]]:
        """What :meth:`play` returns for games that were played in these parts, in this order."""

    @abstractmethod
    def _new_buffers(self, games: int) -> OwnBuffers:
        """Memory for so many games."""

    @abstractmethod
    def _play(self, buffers: OwnBuffers, weights: Any, progress: float) -> Played:
        """Plays games to their ends; their random streams have been set."""


class ValuePlayer:
    """The worker's side, a ``Player``. A job consists of the random streams of its games.

    The record of weights is overwritten with those that play.
    """

    def __init__(self, self_play: ValueSelfPlay[Any, Any, Any], weights: Any) -> None:
        self._self_play, self._weights = self_play, weights

    def set_weights(self, weights: Weights) -> None:
        """Copies the weights into the record that compiled code reads."""
        for name, array in arrays_of(self._weights).items():
            array[:] = weights[name]

    def play(self, progress: float, job: Streams) -> Any:
        """Plays a game from each stream."""
        return self._self_play.play_streams(self._weights, progress, job)


def check_targets(states: Any, targets: Any) -> None:
    """Raises ValueError unless there is a target for every position."""
    if len(states) != len(targets):
        raise ValueError(f"there are {len(states)} positions and targets for {len(targets)}")


class RemoteValueGames:
    """The learner's side, a ``RemoteGames``. The games are the same as without workers.

    ``average`` are the weights that play, by name.
    """

    def __init__(
        self, self_play: ValueSelfPlay[Any, Any, Any], games: int, average: Mapping[str, Floats]
    ) -> None:
        self._self_play, self._number, self._average = self_play, games, average

    def weights(self) -> Weights:
        """A copy of the weights that play."""
        return {name: array.copy() for name, array in self._average.items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Streams]:
        """The random streams of all games, ``size`` of them in a job."""
        streams = seed_streams(seed, self._number)
        return [streams[part] for part in parts_of_size(self._number, size)]

    def check(self, result: Any) -> None:
        """See :meth:`RemoteGames.check`."""
        check_like(result, self._self_play.nothing_played, self._self_play.game)
        check_targets(*result.positions)

    def combine(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """Positions with targets, and statistics."""
        return self._self_play.combine(results)
