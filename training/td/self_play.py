"""Self-play by the value of what every action leads to, compiled from the first turn to the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.value.choice import Payoffs, best_action, draw_action
from patchwork_env.agents.value.expansion import Expansion, expand_likely, new_expansion
from patchwork_env.agents.value.features import signed
from patchwork_env.agents.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OUTPUTS,
    OWN_EMPTY,
    OWN_SCORE,
    WIN,
    Weights,
    evaluate,
)
from patchwork_env.patchwork.engine import (
    apply,
    empty_cells,
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


Targets = npt.NDArray[np.float32]


class Positions(NamedTuple):
    """Positions with what they turned out to be worth to the player to move.

    Attributes:
        states: ``(n,)`` records.
        targets: float32 ``(n, OUTPUTS)``: scores, probability to win and empty cells, as the network's
            outputs for the player to move.
    """

    states: States
    targets: Targets


class Games(NamedTuple):
    """Games of one thread, turn by turn; entries of a game from its length on are of no meaning.

    Attributes:
        streams: uint64 ``(n,)``, random streams.
        states: ``(n,)`` records of the games as they stand.
        positions: ``(n, MAX_TURNS)`` records before each turn.
        targets: float32 ``(n, MAX_TURNS, OUTPUTS)``: first what the best action promises, later the target.
        explored: bool, whether another action than the best was played.
        lengths: int64 ``(n,)``, turns.
    """

    streams: npt.NDArray[np.uint64]
    states: States
    positions: States
    targets: Targets
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
        self._payoffs = Payoffs(reward.outcome, reward.margin / reward.margin_scale, config.denial)
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
        np.empty((*shape, OUTPUTS), np.float32),
        np.empty(shape, np.bool_),
        np.empty(size, np.int64),
    )


def _flat(games: Games) -> Positions:
    played = np.arange(MAX_TURNS) < games.lengths[:, None]
    return Positions(games.positions[played], games.targets[played])


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
            _write_promise(
                states, i, signed(expansion.actions[best]), weights, expansion, games.targets[i, turn]
            )
            chosen = best
            if random_below(games.streams, i, 1 << 30) < exploration * (1 << 30):
                chosen = draw_action(expansion, count, payoffs, temperature, games.streams, i)
            games.explored[i, turn] = chosen != best
            apply(states, i, signed(expansion.actions[chosen]))
            turn += 1
        games.lengths[i] = turn


@kernel
def _write_promise(
    states: States, i: int, action: int, weights: Weights, expansion: Expansion, promise: Targets
) -> None:
    """Writes what the player who acts may expect behind an action."""
    successor, player = expansion.successor, signed(states[i]["current_player"])
    successor[0] = states[i]
    apply(successor, 0, action)
    if is_over(successor, 0):
        _write_result(successor, 0, player, promise)
        return
    evaluate(successor, 0, weights, expansion.memory)
    promise[:] = expansion.memory[0]["outputs"]
    if successor[0]["current_player"] != player:
        _change_sides(promise)


@kernel
def _write_result(states: States, i: int, player: int, result: Targets) -> None:
    """Writes how a game ended for a player."""
    result[OWN_SCORE] = score(states, i, player)
    result[OTHER_SCORE] = score(states, i, 1 - player)
    result[WIN] = winner(states, i) == player
    result[OWN_EMPTY] = empty_cells(states, i, player)
    result[OTHER_EMPTY] = empty_cells(states, i, 1 - player)


@kernel
def _change_sides(values: Targets) -> None:
    """Makes values of a player those of the other."""
    values[OWN_SCORE], values[OTHER_SCORE] = values[OTHER_SCORE], values[OWN_SCORE]
    values[OWN_EMPTY], values[OTHER_EMPTY] = values[OTHER_EMPTY], values[OWN_EMPTY]
    values[WIN] = 1 - values[WIN]


@kernel
def _write_targets(games: Games, trace: float) -> None:
    """Lambda-returns for the player to move, in place of what the best actions promised.

    As in Watkins's Q(lambda), no return passes an action other than the best. See Sutton and Barto,
    Reinforcement Learning, 2nd edition, sections 12.1 and 12.10.
    """
    following = np.empty(OUTPUTS, np.float32)
    for i in range(len(games.lengths)):
        last = games.lengths[i] - 1
        player = signed(games.positions[i, last]["current_player"])
        _write_result(games.states, i, player, following)
        for turn in range(last, -1, -1):
            mover = signed(games.positions[i, turn]["current_player"])
            if mover != player:
                _change_sides(following)
                player = mover
            share = 0.0 if games.explored[i, turn] else trace
            target = games.targets[i, turn]
            for k in range(OUTPUTS):
                target[k] += share * (following[k] - target[k])
            following[:] = target
