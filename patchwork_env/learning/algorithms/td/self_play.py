"""Self-play, compiled from the first turn of a game to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.champion.simulation import LIKELY_BELOW_ROOT, RULE, Mind
from patchwork_env.agents.patchwork.mcts.playout import Table, choose, new_table
from patchwork_env.agents.patchwork.value.choice import TO_WIN, Payoffs
from patchwork_env.agents.patchwork.value.expansion import Expansion, new_expansion
from patchwork_env.agents.patchwork.value.network import Weights
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.learning.algorithms.common.parts import deal_streams, joined, sizes_of_parts
from patchwork_env.learning.algorithms.common.threads import Crew
from patchwork_env.learning.algorithms.td.config import Td
from patchwork_env.learning.algorithms.td.games import (
    STEPS,
    Games,
    Positions,
    flat_positions,
    new_games,
    write_targets,
)
from patchwork_env.learning.algorithms.td.greedy_play import play_greedily
from patchwork_env.learning.algorithms.td.searched_play import (
    Desk,
    clear,
    new_desk,
    play_searched,
    samples_of,
)
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import apply, is_over, random_below, restart_games
from patchwork_env.patchwork.figures import statistics_of_games
from patchwork_env.patchwork.options import check_variant
from patchwork_env.patchwork.state import NOBODY, States

_LONGEST_OPENING = 40


class SelfPlay:
    """Plays whole games, most of them against oneself.

    Positions that arise among equals are few, and a value that knows no others fails against everybody else.
    So some games have an opening by guests, and in some a guest plays one side to the end. The guest is the
    quick policy of ``mcts``. Nothing is learned from openings. From a share of the run on, every move is
    searched; the players are then after what the champion is after.

    Args:
        config: How to play and how far targets look ahead.
        reward: What the players are after.
        special_patches: The print of the track.
        crew: Shares the games.
    """

    def __init__(self, config: Td, reward: Reward, special_patches: str, crew: Crew) -> None:
        self.config = config
        self._payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale, config.denial)
        self._variant = check_variant(special_patches)
        self._crew = crew
        self._parts = [self._new_part(size) for size in sizes_of_parts(config.games, crew.size)]

    def _new_part(self, size: int) -> _Part:
        desk = new_desk(size, self.config.search.nodes)
        return _Part(new_games(size), new_expansion(), new_table(), desk)

    def play(
        self, weights: Weights, progress: float, random: np.random.Generator
    ) -> tuple[Positions, dict[str, float]]:
        """Plays ``config.games`` games; returns positions with targets, and statistics.

        Statistics are of the games without guests, and ``turns``, of all games together.
        """
        deal_streams([part.games.streams for part in self._parts], random)

        def work(part: _Part) -> Played:
            return self._play_part(part, weights, progress)

        return self.together(self._crew.map(work, self._parts))

    def play_streams(self, weights: Weights, progress: float, streams: Streams) -> Played:
        """Plays a game from each random stream, in this thread; nothing is kept from one call to the next."""
        part = self._new_part(len(streams))
        part.games.streams[:] = streams
        return self._play_part(part, weights, progress)

    def together(self, parts: Sequence[Played]) -> tuple[Positions, dict[str, float]]:
        """What :meth:`play` returns of games that were played in parts, in this order."""
        positions = joined([*(part.positions for part in parts), *(part.searched for part in parts)])
        return positions, _statistics(parts)

    def is_searching(self, progress: float) -> bool:
        """Whether moves are searched by now."""
        return progress >= self.config.search.begin

    def _play_part(self, part: _Part, weights: Weights, progress: float) -> Played:
        games, expansion, table, desk = part
        config = self.config
        restart_games(games.states, games.streams, self._variant, NOBODY)
        _draw_roles(games, config.openings, config.guests)
        _play_openings(games, table)
        exploration, temperature = config.exploration.at(progress), config.temperature
        clear(desk)
        if self.is_searching(progress):
            mind = Mind(weights, TO_WIN, RULE, LIKELY_BELOW_ROOT)
            play_searched(games, desk, table, mind, config.search.least_visits, exploration, temperature)
        else:
            payoffs, width = self._payoffs, config.candidate_placements
            play_greedily(games, weights, expansion, table, payoffs, width, exploration, temperature)
        write_targets(games, config.td_lambda)
        alone = (games.openings == 0) & (games.guests == NOBODY)
        ends = games.states[alone], games.lengths[alone], int(games.lengths.sum())
        return Played(flat_positions(games), samples_of(desk), *ends)


class Played(NamedTuple):
    """What comes of some games.

    Attributes:
        positions: Of the games.
        searched: Positions that were only searched.
        finals: ``(k,)`` records of how the games without guests ended.
        lengths: int64 ``(k,)``, their turns.
        turns: Of all games together.
    """

    positions: Positions
    searched: Positions
    finals: States
    lengths: npt.NDArray[np.int64]
    turns: int


class _Part(NamedTuple):
    """What one thread plays."""

    games: Games
    expansion: Expansion
    table: Table
    desk: Desk


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
    """Draws which games begin with turns of guests only, and which have a guest for one of the players."""
    for i in range(len(games.lengths)):
        number = random_below(games.streams, i, STEPS) / STEPS
        games.openings[i], games.guests[i] = 0, NOBODY
        if number < openings:
            games.openings[i] = 1 + random_below(games.streams, i, _LONGEST_OPENING)
        elif number < openings + guests:
            games.guests[i] = random_below(games.streams, i, NUM_PLAYERS)


@kernel
def _play_openings(games: Games, table: Table) -> None:
    for i in range(len(games.lengths)):
        for _ in range(games.openings[i]):
            if not is_over(games.states, i):
                apply(games.states, i, choose(games.states, i, table, games.streams, i))
