"""What temporal-difference learning asks of a game, and the games that it has played."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents import Agent
from patchwork_env.core.game import Rules
from patchwork_env.core.kernels import States
from patchwork_env.core.random import Streams
from patchwork_env.learning.algorithms.common.stats import statistics_of_games
from patchwork_env.learning.algorithms.common.workers import concatenated
from patchwork_env.learning.algorithms.td.learner import Positions, ValueModule

STEPS = 1 << 30
"""Random numbers below 1 are multiples of ``1 / STEPS``."""


class Played(NamedTuple):
    """Some games that were played to their ends.

    Attributes:
        positions: The positions of all turns, with targets.
        finals: ``(k,)`` records of the ends of the games without scripted players.
        lengths: int64 ``(k,)``, the numbers of turns of these games.
        turns: The number of turns of all games together.
    """

    positions: Positions
    finals: States
    lengths: npt.NDArray[np.int64]
    turns: int


class ValueGame(ABC):
    """A game whose compiled value learns from whole games by itself; a game depends on its stream alone.

    Attributes:
        rules: The game.
        weights: The type of the record of weights.
        nothing_played: The result of no games, with the types of all that games result in.
    """

    rules: ClassVar[Rules]
    weights: ClassVar[np.dtype[np.void]]
    nothing_played: ClassVar[Played]

    @abstractmethod
    def new_module(self) -> ValueModule:
        """The network that learns, with random weights from the seed of the run."""

    @abstractmethod
    def agent(self, weights: Any, name: str) -> Agent:
        """The agent that plays by a record of weights, without further search."""

    @abstractmethod
    def new_buffers(self, games: int) -> Any:
        """The memory for so many games of one thread; ``games.streams`` are their random streams."""

    @abstractmethod
    def play(self, buffers: Any, weights: Any, progress: float) -> Played:
        """Plays games to their ends by a record of weights; their random streams have been set.

        ``progress`` is the fraction of the run that is over, for schedules.
        """

    def play_streams(
        self, weights: Any, progress: float, streams: Streams, buffers: Any | None = None
    ) -> Played:
        """Plays a game from each random stream in this thread; see :meth:`play`."""
        buffers = self.new_buffers(len(streams)) if buffers is None else buffers
        buffers.games.streams[:] = streams
        return self.play(buffers, weights, progress)

    def combine(self, parts: Sequence[Played]) -> tuple[Positions, dict[str, float]]:
        """The positions of games that were played in parts, and statistics with all their ``turns``."""
        finals = np.concatenate([part.finals for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        statistics = statistics_of_games(self.rules, finals)
        if len(lengths):
            statistics["turns_per_game"] = float(lengths.mean())
        statistics["turns"] = float(sum(part.turns for part in parts))
        return concatenated(part.positions for part in parts), statistics
