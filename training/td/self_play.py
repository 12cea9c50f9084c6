"""Self-play by the value of what every action leads to, compiled from the first turn to the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.mcts.playout import Table, choose, new_table
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
from patchwork_env.patchwork.components import NUM_PLAYERS
from patchwork_env.patchwork.engine import (
    MAX_TURNS,
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

_LONGEST_OPENING = 40
_STEPS = 1 << 30

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
        openings: int64 ``(n,)``, turns that guests have played before.
        guests: int64 ``(n,)``, the player who is a guest, or NOBODY.
    """

    streams: npt.NDArray[np.uint64]
    states: States
    positions: States
    targets: Targets
    explored: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int64]
    openings: npt.NDArray[np.int64]
    guests: npt.NDArray[np.int64]


class SelfPlay:
    """Plays whole games, most of them against oneself.

    Positions that arise among equals are few, and a value that knows no others fails against everybody else.
    So some games have an opening by guests, and in some a guest plays one side to the end. The guest is the
    quick policy of ``mcts``. Nothing is learned from openings.

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
        self._parts = [_Part(_new_games(size), new_expansion(), new_table()) for size in sizes if size]

    def play(
        self, weights: Weights, progress: float, random: np.random.Generator
    ) -> tuple[Positions, dict[str, float]]:
        """Plays ``config.games`` games; returns their positions with targets, and statistics.

        Statistics are of the games without guests.
        """
        streams = seed_streams(random.integers(2**64, dtype=np.uint64), self.config.games)
        start = 0
        for part in self._parts:
            part.games.streams[:] = streams[start : start + len(part.games.streams)]
            start += len(part.games.streams)

        def work(part: _Part) -> Positions:
            return self._play_part(part, weights, progress)

        parts = self._crew.map(work, self._parts)
        joined = Positions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return joined, _statistics([part.games for part in self._parts])

    def _play_part(self, part: _Part, weights: Weights, progress: float) -> Positions:
        games, expansion, table = part
        config = self.config
        restart_games(games.states, games.streams, self._variant, NOBODY)
        _draw_roles(games, config.openings, config.guests)
        _play_openings(games, table)
        exploration = config.exploration.at(progress)
        _play(games, weights, expansion, table, self._payoffs, config.width, exploration, config.temperature)
        _write_targets(games, config.trace)
        return _flat(games)


class _Part(NamedTuple):
    """What one thread plays."""

    games: Games
    expansion: Expansion
    table: Table


def _statistics(parts: list[Games]) -> dict[str, float]:
    """Mean figures of the games without guests; empty if there are none."""
    alone = [(games.openings == 0) & (games.guests == NOBODY) for games in parts]
    finals = np.concatenate([games.states[chosen] for games, chosen in zip(parts, alone, strict=True)])
    if not len(finals):
        return {}
    lengths = np.concatenate([games.lengths[chosen] for games, chosen in zip(parts, alone, strict=True)])
    return statistics_of_games(finals) | {"turns_per_game": float(lengths.mean())}


def _new_games(size: int) -> Games:
    shape = (size, MAX_TURNS)
    return Games(
        np.empty(size, np.uint64),
        empty_states(size),
        empty_states(size * MAX_TURNS).reshape(shape),
        np.empty((*shape, OUTPUTS), np.float32),
        np.empty(shape, np.bool_),
        *(np.empty(size, np.int64) for _ in range(3)),
    )


def _flat(games: Games) -> Positions:
    played = np.arange(MAX_TURNS) < games.lengths[:, None]
    return Positions(games.positions[played], games.targets[played])


@kernel
def _draw_roles(games: Games, openings: float, guests: float) -> None:
    """Draws which games begin with turns of guests only, and which have a guest for one of the players."""
    for i in range(len(games.lengths)):
        number = random_below(games.streams, i, _STEPS) / _STEPS
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


@kernel
def _play(
    games: Games,
    weights: Weights,
    expansion: Expansion,
    table: Table,
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
            action = preferred = signed(expansion.actions[best])
            if states[i]["current_player"] == games.guests[i]:
                action = choose(states, i, table, games.streams, i)
            elif random_below(games.streams, i, _STEPS) < exploration * _STEPS:
                drawn = draw_action(expansion, count, payoffs, temperature, games.streams, i)
                action = signed(expansion.actions[drawn])
            games.explored[i, turn] = action != preferred
            _write_promise(states, i, preferred, weights, expansion, games.targets[i, turn])
            apply(states, i, action)
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
        if games.lengths[i] == 0:
            continue
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
