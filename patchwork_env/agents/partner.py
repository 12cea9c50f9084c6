"""Difficulty levels: agents that make the mistakes that people make, from a beginner to the champion.

The part ``levels`` of a game has the habits of every level and judges moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Actions, DrawingAgent
from patchwork_env.agents.specs import load
from patchwork_env.core.compile import kernel
from patchwork_env.core.kernels import States
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import Streams, random_below
from patchwork_env.games import games_with, part_of, rules_of

BEGINNER, DEFAULT_LEVEL, CHAMPION = 1, 3, 5
"""The lowest level, the default, and the highest."""
NEVER_OVERLOOKED = -1  # in place of the orientation, for moves without one
_UNFLIPPED = NUM_ORIENTATIONS // 2
_STEPS = 1 << 16
NUM_SEEDS = 2**31 - 1  # the number of seeds that an agent as a player may get

Player = Callable[[States, Streams, Actions], None]
"""One level of one game: writes the actions ``(n,)`` of states ``(n,)``, with numbers of ``streams[0]``."""


class Habits(NamedTuple):
    """The mistakes of a player; errors are standard deviations in points."""

    turning: float  # the probability of trying each orientation of a piece that is not flipped
    misjudging: float  # the error that a group of moves shares, such as those with one patch
    carelessness: float  # the error of a single move
    lapses: float = 0.0  # the share of moves that are made in haste
    lapse: float = 0.0  # the error that a group shares in haste
    flipping: float = 1.0  # the probability of trying each flipped orientation
    placements: int = 16  # the number of placements considered for a piece: the snuggest ones
    lookahead: int = 0  # the number of positions that a search adds


class Candidates(NamedTuple):
    """The moves that a player considers, ascending, at most ``most``."""

    actions: npt.NDArray[np.int64]  # (most,)
    values: npt.NDArray[np.float64]  # (most,), in points
    groups: npt.NDArray[np.int64]  # (most,), the group of each, which shares an error
    orientations: npt.NDArray[np.int64]  # (most,), the one that must be tried, or NEVER_OVERLOOKED
    errors: npt.NDArray[np.float64]  # (groups,)
    tried: npt.NDArray[np.uint8]  # (orientations,), piece by piece


def new_candidates(most: int, groups: int, orientations: int) -> Candidates:
    """Allocate the arrays for one position; every thread needs its own."""
    return Candidates(
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(groups),
        np.empty(orientations, np.uint8),
    )


class PartnerAgent(DrawingAgent):
    """Plays like people of a level: with mistakes that people make, not with random moves.

    The ``level`` is 1 for a beginner to 5 for the champion; None means :data:`DEFAULT_LEVEL`.
    """

    games = games_with("levels")

    def __init__(self, seed: int | None = None, level: int | None = None) -> None:
        self.name = "partner" if level is None else f"partner:level={level}"
        self.level = DEFAULT_LEVEL if level is None else level
        super().__init__(seed)

    def _new_workspace(self) -> dict[str, Player]:
        return {}

    def _choose(self, states: States, stream: Streams, actions: Actions) -> None:
        game, players = rules_of(states).name, self.workspace()
        if game not in players:
            players[game] = part_of(game, "levels")(self.level)
        players[game](np.ascontiguousarray(states), stream, actions)


def player_of(spec: str) -> Player:
    """Return the player that is the agent of a spec, with a seed drawn for every move."""
    agent = load(spec)

    def choose(states: States, streams: Streams, actions: Actions) -> None:
        for i in range(len(states)):
            agent.reseed(random_below(streams, 0, NUM_SEEDS))
            actions[i] = agent.act_batch(states[i : i + 1])[0]

    return choose


@kernel
def decide(candidates: Candidates, count: int, habits: Habits, streams: Streams) -> int:
    """Return the move that seems best among the first ``count``; those that were tried come first."""
    errors, tried = candidates.errors, candidates.tried
    deviation = habits.lapse if _happens(habits.lapses, streams) else habits.misjudging
    for group in range(len(errors)):
        errors[group] = deviation * _draw_error(streams)
    for k in range(len(tried)):
        is_flipped = k % NUM_ORIENTATIONS >= _UNFLIPPED
        tried[k] = _happens(habits.flipping if is_flipped else habits.turning, streams)
    best, most = 0, -math.inf
    for k in range(count):
        seeming = candidates.values[k] + errors[candidates.groups[k]]
        seeming += habits.carelessness * _draw_error(streams)
        orientation = candidates.orientations[k]
        if orientation != NEVER_OVERLOOKED and not tried[orientation]:
            seeming -= 1e6  # points, more than moves differ by
        if seeming > most:
            best, most = k, seeming
    return int(candidates.actions[best])


@kernel(inline=True)
def _happens(chance: float, streams: Streams) -> bool:
    return bool(random_below(streams, 0, _STEPS) < chance * _STEPS)


@kernel(inline=True)
def _draw_error(streams: Streams) -> float:
    """Draw a number from -3 to 3, with mean 0 and standard deviation 1."""
    total = 0
    for _ in range(3):
        total += random_below(streams, 0, _STEPS)
    return 2 * (total / _STEPS - 1.5)
