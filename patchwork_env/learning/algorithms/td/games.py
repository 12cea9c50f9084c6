"""The games that are learned from, turn by turn, and their targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.features import signed
from patchwork_env.agents.patchwork.value import (
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
    """Positions with the targets that the value of the player to move is to learn.

    The targets, float32 ``(n, OUTPUTS)``, are as the network's outputs.
    """

    states: States
    targets: Targets


NO_POSITIONS = Positions(empty_states(0), np.empty((0, OUTPUTS), np.float32))


class Games(NamedTuple):
    """The games of one thread, turn by turn. Entries of turns after the end of a game have no meaning.

    Attributes:
        streams: uint64 ``(n,)``, the random streams.
        states: ``(n,)`` records of the games as they stand.
        positions: ``(n, MAX_TURNS)`` records before each turn.
        targets: float32 ``(n, MAX_TURNS, OUTPUTS)``, at first the value of the best action, later the target.
        explored: bool ``(n, MAX_TURNS)``, whether another action than the best was played.
        lengths: int64 ``(n,)``, the numbers of turns.
        openings: int64 ``(n,)``, the numbers of turns that guests play in the opening.
        guests: int64 ``(n,)``, the player who is a guest to the end, or NOBODY.
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
    """Memory for so many games."""
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
    """Turns the values for one player into those for the other."""
    values[OWN_SCORE], values[OTHER_SCORE] = values[OTHER_SCORE], values[OWN_SCORE]
    values[OWN_EMPTY], values[OTHER_EMPTY] = values[OTHER_EMPTY], values[OWN_EMPTY]
    values[WIN] = 1 - values[WIN]


@kernel(allocates=True)
def write_targets(games: Games, td_lambda: float) -> None:
    """Writes lambda-returns for the player to move in place of the values of the best actions.

    As in Watkins's Q(lambda), a return ends before an action other than the best. See Sutton and Barto,
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
            share = 0.0 if games.explored[i, turn] else td_lambda
            target = games.targets[i, turn]
            for k in range(OUTPUTS):
                target[k] += share * (following[k] - target[k])
            following[:] = target
