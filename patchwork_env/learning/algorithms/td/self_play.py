"""Self-play of whole games, compiled from the first turn to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.expansion import Expansion, Payoffs, new_expansion
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, choose_noisily, new_greedy_buffers
from patchwork_env.agents.patchwork.value import Weights
from patchwork_env.core.batches import begin_games
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.learning.algorithms.common.batches import concatenated
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.common.value_self_play import ValueSelfPlay
from patchwork_env.learning.algorithms.td.config import Td
from patchwork_env.learning.algorithms.td.games import (
    NO_POSITIONS,
    STEPS,
    Games,
    Positions,
    flat_positions,
    new_games,
    write_targets,
)
from patchwork_env.learning.algorithms.td.greedy_play import play_greedily
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.figures import statistics_of_games
from patchwork_env.patchwork.rules import RULES
from patchwork_env.patchwork.state import NOBODY, States, empty_states

_LONGEST_OPENING = 40


class Buffers(NamedTuple):
    """The memory that one thread plays with."""

    games: Games
    expansion: Expansion
    playout: GreedyBuffers


class Played(NamedTuple):
    """The result of some games.

    Attributes:
        positions: The positions of all turns, with targets.
        finals: ``(k,)`` records of the ends of the games without guests.
        lengths: int64 ``(k,)``, the numbers of turns of these games.
        turns: The number of turns of all games together.
    """

    positions: Positions
    finals: States
    lengths: npt.NDArray[np.int64]
    turns: int


class SelfPlay(ValueSelfPlay[Buffers, Played, Positions]):
    """Plays whole games, most of them with the learner on both sides.

    Games between equals reach few of all positions, and a value that knows no others fails against other
    opponents. So guests play the opening of some games, and in some a guest plays one side to the end. The
    guest is the quick policy of ``mcts``. Nothing is learned from openings. The statistics leave out games
    with guests.
    """

    nothing_played = Played(NO_POSITIONS, empty_states(0), np.empty(0, np.int64), 0)
    game = Game

    def __init__(self, config: Td, reward: Reward, special_patches: str, threads: ThreadPool) -> None:
        self._config = config
        self._payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale, config.denial)
        self._special_patches = special_patches
        super().__init__(config.games, threads)

    def combine(self, parts: Sequence[Played]) -> tuple[Positions, dict[str, float]]:
        """See :meth:`ValueSelfPlay.combine`."""
        return concatenated(part.positions for part in parts), _statistics(parts)

    def _new_buffers(self, games: int) -> Buffers:
        return Buffers(new_games(games), new_expansion(), new_greedy_buffers())

    def _play(self, buffers: Buffers, weights: Weights, progress: float) -> Played:
        games, expansion, playout = buffers
        config = self._config
        options = {"special_patches": self._special_patches, "first_player": "random"}
        games.states[:] = begin_games(RULES, games.streams, **options)
        _draw_roles(games, config.openings, config.guests)
        _play_openings(games, playout)
        exploration, temperature = config.exploration.at(progress), config.temperature
        payoffs, width = self._payoffs, config.candidate_placements
        play_greedily(games, weights, expansion, playout, payoffs, width, exploration, temperature)
        write_targets(games, config.td_lambda)
        alone = (games.openings == 0) & (games.guests == NOBODY)
        turns = int(games.lengths.sum())
        return Played(flat_positions(games), games.states[alone], games.lengths[alone], turns)


def _statistics(parts: Sequence[Played]) -> dict[str, float]:
    """Mean figures of the games without guests, if there are any, and the number of turns."""
    turns = {"turns": float(sum(part.turns for part in parts))}
    finals = np.concatenate([part.finals for part in parts])
    if not len(finals):
        return turns
    lengths = np.concatenate([part.lengths for part in parts])
    return statistics_of_games(finals) | {"turns_per_game": float(lengths.mean())} | turns


@kernel
def _draw_roles(games: Games, openings: float, guests: float) -> None:
    """Draws in which games guests play the opening, and in which a guest is one of the players."""
    for i in range(len(games.lengths)):
        number = random_below(games.streams, i, STEPS) / STEPS
        games.openings[i], games.guests[i] = 0, NOBODY
        if number < openings:
            games.openings[i] = 1 + random_below(games.streams, i, _LONGEST_OPENING)
        elif number < openings + guests:
            games.guests[i] = random_below(games.streams, i, NUM_PLAYERS)


@kernel
def _play_openings(games: Games, playout: GreedyBuffers) -> None:
    """Plays the openings of guests."""
    for i in range(len(games.lengths)):
        for _ in range(games.openings[i]):
            if not is_over(games.states, i):
                apply(games.states, i, choose_noisily(games.states, i, playout, games.streams, i))
