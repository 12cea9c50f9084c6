"""Games of the value learners, shared with workers: jobs are random streams, one for each game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from patchwork_env.agents.compiled.records import arrays_of
from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.random import Streams
from patchwork_env.learning.distributed.players import Weights
from patchwork_env.learning.distributed.remote_play import split_in_jobs


class Divisible(Protocol):
    """Self-play that can be done in parts."""

    def play_streams(self, weights: Any, progress: float, streams: Streams) -> Any:
        """Plays a game from each stream."""

    def together(self, parts: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """What the parts are together."""


class ValuePlayer:
    """See :class:`~patchwork_env.learning.distributed.players.Player`.

    Args:
        self_play: Plays.
        weights: Room for the weights that play.
    """

    def __init__(self, self_play: Divisible, weights: Any) -> None:
        self._self_play, self._weights = self_play, weights

    def take(self, weights: Weights) -> None:
        """Plays with these weights from now on; compiled code asks for a record of them."""
        for name, array in arrays_of(self._weights).items():
            array[:] = weights[name]

    def play(self, progress: float, job: Streams) -> Any:
        """Plays a game from each stream."""
        return self._self_play.play_streams(self._weights, progress, job)


class SharedValueGames:
    """See ``SharedGames``: the same games as without workers.

    Args:
        self_play: Puts parts together.
        games: Of an iteration.
        average: The weights that play, by name.
    """

    def __init__(self, self_play: Divisible, games: int, average: Mapping[str, Floats]) -> None:
        self._self_play, self._number, self._average = self_play, games, average

    def weights(self) -> Weights:
        """A copy of the weights that play."""
        return {name: array.copy() for name, array in self._average.items()}

    def jobs(self, seed: np.uint64, size: int) -> list[Streams]:
        """The streams of all games, ``size`` of them to a job."""
        streams = seed_streams(seed, self._number)
        return [streams[part] for part in split_in_jobs(self._number, size)]

    def together(self, results: Sequence[Any]) -> tuple[Any, dict[str, float]]:
        """Positions with targets, and statistics."""
        return self._self_play.together(results)
