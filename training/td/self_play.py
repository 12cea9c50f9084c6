"""Self-play by the value of what every action leads to, compiled from the first turn to the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.value.choice import Payoffs, best_action, draw_action
from patchwork_env.agents.value.expansion import Expansion, expand_likely, new_expansion
from patchwork_env.agents.value.features import signed
from patchwork_env.agents.value.network import Weights
from patchwork_env.patchwork.engine import (
    apply,
    is_over,
    random_below,
    restart_games,
    score,
    winner,
)
from patchwork_env.patchwork.options import check_variant, seed_streams
from patchwork_env.patchwork.state import NOBODY, States, empty_states
from training.config import Reward, Td
from training.crew import Crew
from training.statistics import statistics_of_games

MAX_TURNS = 128
"""Room for the turns of a game: all but at most 5 special patches move one of the two tokens, each of which
has 53 spaces to go."""


class Positions(NamedTuple):
    """Positions with what they turned out to be worth to the player to move.

    Attributes:
        states: ``(n,)`` records.
        margins: float32 ``(n,)``, final margins in points.
        wins: float32 ``(n,)``, probabilities to win.
    """

    states: States
    margins: npt.NDArray[np.float32]
    wins: npt.NDArray[np.float32]


class Games(NamedTuple):
    """Games of one thread, turn by turn; entries of a game from its length on are of no meaning.

    Attributes:
        streams: uint64 ``(n,)``, random streams.
        states: ``(n,)`` records of the games as they stand.
        positions: ``(n, MAX_TURNS)`` records before each turn.
        margins: float32 of the same shape: first what the best action promises, in the end the target.
        wins: Likewise.
        explored: bool, whether another action than the best was played.
        lengths: int64 ``(n,)``, turns.
    """

    streams: npt.NDArray[np.uint64]
    states: States
    positions: States
    margins: npt.NDArray[np.float32]
    wins: npt.NDArray[np.float32]
    explored: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int64]


class SelfPlay:
    """Plays whole games against oneself.

    Args:
        config: How to play and how far targets look ahead.
        reward: What the players are after.
        special_patches: The print of the track.
        crew: Shares the games.
    """

    def __init__(self, config: Td, reward: Reward, special_patches: str, crew: Crew) -> None:
        self.config = config
        self._payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale)
        self._variant = check_variant(special_patches)
        self._crew = crew
        sizes = [len(part) for part in np.array_split(np.arange(config.games), crew.size)]
        self._parts = [(_new_games(size), new_expansion()) for size in sizes if size]

    def play(
        self, weights: Weights, progress: float, random: np.random.Generator
    ) -> tuple[Positions, dict[str, float]]:
        """Plays ``config.games`` games; returns their positions with targets, and statistics."""
        streams = seed_streams(random.integers(2**64, dtype=np.uint64), self.config.games)
        start = 0
        for games, _ in self._parts:
            games.streams[:] = streams[start : start + len(games.streams)]
            start += len(games.streams)
        exploration, temperature = self.config.exploration.at(progress), self.config.temperature

        def work(part: tuple[Games, Expansion]) -> Positions:
            games, expansion = part
            restart_games(games.states, games.streams, self._variant, NOBODY)
            _play(games, weights, expansion, self._payoffs, self.config.width, exploration, temperature)
            _write_targets(games, self.config.trace)
            return _flat(games)

        parts = self._crew.map(work, self._parts)
        finals = np.concatenate([games.states for games, _ in self._parts])
        joined = Positions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return joined, statistics_of_games(finals) | {"turns_per_game": len(joined.states) / len(finals)}


def _new_games(size: int) -> Games:
    shape = (size, MAX_TURNS)
    return Games(
        np.empty(size, np.uint64),
        empty_states(size),
        empty_states(size * MAX_TURNS).reshape(shape),
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty(shape, np.bool_),
        np.empty(size, np.int64),
    )


def _flat(games: Games) -> Positions:
    played = np.arange(MAX_TURNS) < games.lengths[:, None]
    return Positions(games.positions[played], games.margins[played], games.wins[played])


@kernel
def _play(
    games: Games,
    weights: Weights,
    expansion: Expansion,
    payoffs: Payoffs,
    width: int,
    exploration: float,
    temperature: float,
) -> None:
    """Plays all games to their ends."""
    states = games.states
    for i in range(len(states)):
        turn = 0
        while not is_over(states, i):
            games.positions[i, turn] = states[i]
            count = expand_likely(states, i, width, weights, expansion)
            best = best_action(expansion, count, payoffs)
            games.margins[i, turn], games.wins[i, turn] = expansion.margins[best], expansion.wins[best]
            chosen = best
            if random_below(games.streams, i, 1 << 30) < exploration * (1 << 30):
                chosen = draw_action(expansion, count, payoffs, temperature, games.streams, i)
            games.explored[i, turn] = chosen != best
            apply(states, i, signed(expansion.actions[chosen]))
            turn += 1
        games.lengths[i] = turn


@kernel
def _write_targets(games: Games, trace: float) -> None:
    """Lambda-returns for the player to move, in place of what the best actions promised.

    As in Watkins's Q(lambda), no return passes an action other than the best. See Sutton and Barto,
    Reinforcement Learning, 2nd edition, sections 12.1 and 12.10.
    """
    for i in range(len(games.lengths)):
        last = games.lengths[i] - 1
        player = signed(games.positions[i, last]["current_player"])
        margin = float(score(games.states, i, player) - score(games.states, i, 1 - player))
        win = 1.0 if winner(games.states, i) == player else 0.0
        for turn in range(last, -1, -1):
            mover = signed(games.positions[i, turn]["current_player"])
            if mover != player:
                margin, win, player = -margin, 1 - win, mover
            share = 0.0 if games.explored[i, turn] else trace
            margin = share * margin + (1 - share) * games.margins[i, turn]
            win = share * win + (1 - share) * games.wins[i, turn]
            games.margins[i, turn], games.wins[i, turn] = margin, win
