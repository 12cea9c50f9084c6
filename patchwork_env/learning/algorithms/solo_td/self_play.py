"""Self-play of NMBR 9 by the value of the table after every placement, compiled from first tile to last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.drawing import draw_by_softmax
from patchwork_env.agents.nmbr9.expansion import Expansion, best_action, expand, new_expansion
from patchwork_env.agents.nmbr9.value import Weights
from patchwork_env.core.batches import begin_games
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.learning.algorithms.common.batches import concatenated
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_self_play import ValueSelfPlay
from patchwork_env.learning.algorithms.solo_td.config import SoloTd
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.engine import apply, digit_to_place, level_of
from patchwork_env.nmbr9.figures import statistics_of_games
from patchwork_env.nmbr9.rules import RULES
from patchwork_env.nmbr9.state import States, empty_states

_STEPS = 1 << 30
_ROUNDS = int(RULES.set_up(RULES.options, {}).beginning[0]["num_rounds"])

Targets = npt.NDArray[np.float32]


class Positions(NamedTuple):
    """Positions with the points, float32 ``(n,)``, that the tiles still to come are to bring."""

    states: States
    targets: Targets


NO_POSITIONS = Positions(empty_states(0), np.empty(0, np.float32))


class Games(NamedTuple):
    """The games of one thread, turn by turn.

    Attributes:
        streams: uint64 ``(n,)``, the random streams.
        states: ``(n,)`` records of the games as they stand.
        positions: ``(n, rounds)`` records before each tile.
        gains: float32 ``(n, rounds)``, the points that each tile brought.
        targets: float32 ``(n, rounds)``, at first the value of the best action, later the target.
        explored: bool ``(n, rounds)``, whether another action than the best was played.
    """

    streams: npt.NDArray[np.uint64]
    states: States
    positions: States
    gains: Targets
    targets: Targets
    explored: npt.NDArray[np.bool_]


class Buffers(NamedTuple):
    """The memory that one thread plays with."""

    games: Games
    expansion: Expansion


class Played(NamedTuple):
    """The positions before all tiles of some games, and the records of their ends."""

    positions: Positions
    finals: States


class SelfPlay(ValueSelfPlay[Buffers, Played, Positions]):
    """Plays whole games with random decks of unknown order."""

    nothing_played = Played(NO_POSITIONS, empty_states(0))
    game = Game

    def __init__(self, config: SoloTd, threads: ThreadPool) -> None:
        self._config = config
        super().__init__(config.games, threads)

    def combine(self, parts: Sequence[Played]) -> tuple[Positions, dict[str, float]]:
        """See :meth:`ValueSelfPlay.combine`."""
        finals = np.concatenate([part.finals for part in parts])
        return concatenated(part.positions for part in parts), {
            "turns": float(len(finals) * _ROUNDS),
            **statistics_of_games(finals),
        }

    def _new_buffers(self, games: int) -> Buffers:
        return Buffers(_new_games(games), new_expansion())

    def _play(self, buffers: Buffers, weights: Weights, progress: float) -> Played:
        (games, expansion), config = buffers, self._config
        games.states[:] = begin_games(RULES, games.streams)
        exploration = config.exploration.at(progress)
        _play(games, weights, expansion, config.candidate_placements, exploration, config.temperature)
        _write_targets(games, config.td_lambda)
        positions = Positions(games.positions.reshape(-1).copy(), games.targets.reshape(-1).copy())
        return Played(positions, games.states.copy())


def _new_games(size: int) -> Games:
    shape = (size, _ROUNDS)
    return Games(
        np.empty(size, np.uint64),
        empty_states(size),
        empty_states(size * _ROUNDS).reshape(shape),
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty(shape, np.bool_),
    )


@kernel
def _play(
    games: Games, weights: Weights, expansion: Expansion, width: int, exploration: float, temperature: float
) -> None:
    """Plays all games to their ends."""
    states = games.states
    for i in range(len(states)):
        for turn in range(_ROUNDS):
            games.positions[i, turn] = states[i]
            count = expand(states, i, width, weights, expansion)
            chosen = best = best_action(expansion, count)
            if random_below(games.streams, i, _STEPS) < exploration * _STEPS:
                chosen = draw_by_softmax(expansion.values[:count], temperature, games.streams, i)
            action = expansion.actions[chosen]
            games.explored[i, turn] = chosen != best
            games.targets[i, turn] = expansion.values[best]
            games.gains[i, turn] = digit_to_place(states, i) * level_of(states, i, action)
            apply(states, i, action)


@kernel
def _write_targets(games: Games, td_lambda: float) -> None:
    """Writes lambda-returns in place of the values of the best actions.

    As in Watkins's Q(lambda), a return ends before an action other than the best. See Sutton and Barto,
    Reinforcement Learning, 2nd edition, sections 12.1 and 12.10.
    """
    for i in range(len(games.states)):
        following = 0.0
        for turn in range(_ROUNDS - 1, -1, -1):
            target = games.targets[i, turn]
            if not games.explored[i, turn]:
                target += td_lambda * (games.gains[i, turn] + following - target)
            games.targets[i, turn] = target
            following = target
