"""Levels for people: agents that are weaker by mistakes that people make, from a beginner to the champion.

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
"""The lowest level, the one that is played unless another is given, and the highest."""
NEVER_OVERLOOKED = -1  # stands for the orientation of moves that have none
_UNFLIPPED = NUM_ORIENTATIONS // 2
_STEPS = 1 << 16
NUM_SEEDS = 2**31 - 1  # the number of seeds that an agent as a player may get

Player = Callable[[States, Streams, Actions], None]
"""One level of one game: writes the actions ``(n,)`` of states ``(n,)``, by numbers of ``streams[0]``."""


class Habits(NamedTuple):
    """A player's view of the moves of a position; errors are standard deviations in points of a game."""

    turning: float  # the chance that a piece is tried in each orientation to which it can be turned
    misjudging: float  # the error about a group of moves, such as those with one patch
    carelessness: float  # the error about a single move
    lapses: float = 0.0  # the share of moves that are made without much thought
    lapse: float = 0.0  # the error about a group of moves then
    flipping: float = 1.0  # the chance of each orientation for which a piece has to be flipped as well
    placements: int = 16  # of a piece that are looked at, the snuggest ones
    lookahead: int = 0  # positions that are thought through ahead


class Candidates(NamedTuple):
    """The moves that a player considers, ascending, ``most`` of them at most."""

    actions: npt.NDArray[np.int64]  # (most,)
    values: npt.NDArray[np.float64]  # (most,), in points
    groups: npt.NDArray[np.int64]  # (most,), the group in which each is misjudged
    orientations: npt.NDArray[np.int64]  # (most,), the one that has to be tried, or NEVER_OVERLOOKED
    errors: npt.NDArray[np.float64]  # (groups,)
    tried: npt.NDArray[np.uint8]  # (orientations,), all those of one piece after the other


def new_candidates(most: int, groups: int, orientations: int) -> Candidates:
    """Return room for the moves of a position in one thread."""
    return Candidates(
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(groups),
        np.empty(orientations, np.uint8),
    )


class PartnerAgent(DrawingAgent):
    """Plays like people of a level: weaker by mistakes that they make, not by random moves.

    The ``level`` is one from 1, a beginner's, to 5, the champion's; None for :data:`DEFAULT_LEVEL`.
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
    """Return the move that seems best among the first ``count``, or the first if none of them is tried."""
    errors, tried = candidates.errors, candidates.tried
    deviation = habits.lapse if _happens(habits.lapses, streams) else habits.misjudging
    for group in range(len(errors)):
        errors[group] = deviation * _draw_error(streams)
    for k in range(len(tried)):
        is_flipped = k % NUM_ORIENTATIONS >= _UNFLIPPED
        tried[k] = _happens(habits.flipping if is_flipped else habits.turning, streams)
    best, most = candidates.actions[0], -math.inf
    for k in range(count):
        seeming = candidates.values[k] + errors[candidates.groups[k]]
        seeming += habits.carelessness * _draw_error(streams)
        orientation = candidates.orientations[k]
        if (orientation == NEVER_OVERLOOKED or tried[orientation]) and seeming > most:
            best, most = candidates.actions[k], seeming
    return int(best)


@kernel(inline=True)
def _happens(chance: float, streams: Streams) -> bool:
    return bool(random_below(streams, 0, _STEPS) < chance * _STEPS)


@kernel(inline=True)
def _draw_error(streams: Streams) -> float:
    """Return a number with mean 0 and standard deviation 1, never beyond 3."""
    total = 0
    for _ in range(3):
        total += random_below(streams, 0, _STEPS)
    return 2 * (total / _STEPS - 1.5)
