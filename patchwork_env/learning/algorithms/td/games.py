"""Games that are learned from, turn by turn, and their targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OUTPUTS,
    OWN_EMPTY,
    OWN_SCORE,
    WIN,
)
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.engine import MAX_TURNS, empty_cells, score, winner
from patchwork_env.patchwork.state import States, empty_states

STEPS = 1 << 30
"""Random numbers below 1 are multiples of ``1 / STEPS``."""

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


def new_games(size: int) -> Games:
    """Room for so many games."""
    shape = (size, MAX_TURNS)
    return Games(
        np.empty(size, np.uint64),
        empty_states(size),
        empty_states(size * MAX_TURNS).reshape(shape),
        np.empty((*shape, OUTPUTS), np.float32),
        np.empty(shape, np.bool_),
        *(np.empty(size, np.int64) for _ in range(3)),
    )


def flat_positions(games: Games) -> Positions:
    """The positions of all games, one after the other."""
    played = np.arange(MAX_TURNS) < games.lengths[:, None]
    return Positions(games.positions[played], games.targets[played])


@kernel
def write_result(states: States, i: int, player: int, result: Targets) -> None:
    """Writes how a game ended for a player."""
    result[OWN_SCORE] = score(states, i, player)
    result[OTHER_SCORE] = score(states, i, 1 - player)
    result[WIN] = winner(states, i) == player
    result[OWN_EMPTY] = empty_cells(states, i, player)
    result[OTHER_EMPTY] = empty_cells(states, i, 1 - player)


@kernel
def change_sides(values: Targets) -> None:
    """Makes values of a player those of the other."""
    values[OWN_SCORE], values[OTHER_SCORE] = values[OTHER_SCORE], values[OWN_SCORE]
    values[OWN_EMPTY], values[OTHER_EMPTY] = values[OTHER_EMPTY], values[OWN_EMPTY]
    values[WIN] = 1 - values[WIN]


@kernel(allocates=True)
def write_targets(games: Games, trace: float) -> None:
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
        write_result(games.states, i, player, following)
        for turn in range(last, -1, -1):
            mover = signed(games.positions[i, turn]["current_player"])
            if mover != player:
                change_sides(following)
                player = mover
            share = 0.0 if games.explored[i, turn] else trace
            target = games.targets[i, turn]
            for k in range(OUTPUTS):
                target[k] += share * (following[k] - target[k])
            following[:] = target
