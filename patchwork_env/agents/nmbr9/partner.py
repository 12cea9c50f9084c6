"""Levels for people in NMBR 9: how each judges placements, by eye or by the champion's learned value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from patchwork_env.agents.base import Actions
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.nmbr9.champion import load
from patchwork_env.agents.nmbr9.expansion import LIKELY, Expansion, expand, new_expansion
from patchwork_env.agents.nmbr9.greedy import MOST_PLACEMENTS, Placements, list_placements
from patchwork_env.agents.nmbr9.value import Weights, read_value
from patchwork_env.agents.partner import Candidates, Habits, Player, decide
from patchwork_env.agents.partner import new_candidates as new_candidates_of
from patchwork_env.core.bits import U1
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import (
    CHOICE_MAP,
    MAX_LEVELS,
    NUM_MAPS,
    NUM_ROWS,
    LegalSet,
    Levels,
    digit_to_place,
    legal,
    paint,
)
from patchwork_env.nmbr9.state import NO_DIGIT, States

_VALUE = SHIPPED_FOLDER / "nmbr9_champion"
CHAMPION_NODES = 6_000
"""The placements that the champion evaluates for a move as the highest level; ``fast`` has 20,000."""
NUM_SEEDS = 2**31 - 1
"""The champion draws the decks of a move from one of so many seeds."""
HABITS = {
    1: Habits(turning=0.7, misjudging=1.0, carelessness=0.5),
    2: Habits(turning=0.65, misjudging=1.0, carelessness=1.0, lapses=0.2, lapse=6.0),
    3: Habits(turning=0.85, misjudging=0.7, carelessness=1.0),
    4: Habits(turning=1.0, misjudging=0.2, carelessness=0.2),
}
"""The levels below the champion's: docs/play.md says more of each."""


class Eye(NamedTuple):
    """What somebody counts who judges a placement by eye.

    Attributes:
        height: Points for every level, whatever the digit: to get up is fun.
        points: The weight of the points that the placement scores.
        snugness: Points for every edge that the tile shares with others of its level.
    """

    height: float
    points: float
    snugness: float


EYES = {1: Eye(height=2.0, points=1.0, snugness=1.0)}
"""The level that judges by eye: the beginner wants to get up, and sees nothing of the tiles to come."""


def new_player(level: int) -> Player:
    """The player of a level; a level compiles only what it needs."""
    candidates = new_candidates()
    if level not in HABITS:
        champion = load(_VALUE, nodes=CHAMPION_NODES)

        def choose(states: States, streams: Streams, actions: Actions) -> None:
            for i in range(len(states)):
                champion.reseed(random_below(streams, 0, NUM_SEEDS))
                actions[i] = champion.act_batch(states[i : i + 1])[0]

    elif level in EYES:
        buffers = new_buffers()

        def choose(states: States, streams: Streams, actions: Actions) -> None:
            choose_by_eye(states, HABITS[level], EYES[level], buffers, candidates, streams, actions)

    else:
        weights, expansion = read_value(_VALUE)[0], new_expansion()

        def choose(states: States, streams: Streams, actions: Actions) -> None:
            choose_by_value(states, HABITS[level], weights, expansion, candidates, streams, actions)

    return choose


def new_candidates() -> Candidates:
    """Room for the placements of a tile in one thread; those on one level are misjudged together."""
    return new_candidates_of(MOST_PLACEMENTS, MAX_LEVELS + 1, NUM_TURNS)


class Buffers(NamedTuple):
    """What one thread needs to judge by eye: the legal set, the levels of the table, and the placements."""

    maps: LegalSet
    levels: Levels
    placements: Placements


def new_buffers() -> Buffers:
    """Buffers for one thread."""
    return Buffers(
        np.empty((NUM_MAPS, TABLE_SIZE), np.uint64),
        np.empty((MAX_LEVELS + 1, NUM_ROWS), np.uint64),
        Placements(*(np.empty(MOST_PLACEMENTS, np.int64) for _ in range(3))),
    )


@kernel
def choose_by_eye(
    states: States,
    habits: Habits,
    eye: Eye,
    buffers: Buffers,
    candidates: Candidates,
    streams: Streams,
    actions: Actions,
) -> None:
    """Writes the actions of games, none of which is over."""
    for i in range(len(states)):
        legal(states, i, buffers.maps)
        if digit_to_place(states, i) == NO_DIGIT:
            actions[i] = _highest_digit(buffers.maps)
        else:
            count = _judge_by_eye(states, i, eye, buffers, candidates)
            actions[i] = decide(candidates, count, habits, streams)


@kernel
def choose_by_value(
    states: States,
    habits: Habits,
    weights: Weights,
    expansion: Expansion,
    candidates: Candidates,
    streams: Streams,
    actions: Actions,
) -> None:
    """Writes the actions of games, none of which is over, by the value."""
    for i in range(len(states)):
        if digit_to_place(states, i) == NO_DIGIT:
            legal(states, i, expansion.maps)
            actions[i] = _highest_digit(expansion.maps)
            continue
        count = expand(states, i, LIKELY, weights, expansion)
        for k in range(count):
            _note(candidates, k, expansion.actions[k], expansion.levels[k], expansion.values[k])
        actions[i] = decide(candidates, count, habits, streams)


@kernel(inline=True)
def _note(candidates: Candidates, k: int, action: int, level: int, value: float) -> None:
    candidates.actions[k], candidates.values[k] = action, value
    candidates.groups[k], candidates.orientations[k] = level, action // NUM_ANCHORS


@kernel
def _highest_digit(maps: LegalSet) -> int:
    """The choice of the highest digit, which people take while they can build high with it."""
    digit = NUM_DIGITS - 1
    while maps[CHOICE_MAP, 0] >> np.uint64(digit) & U1 == 0:
        digit -= 1
    return FIRST_CHOICE + digit


@kernel
def _judge_by_eye(states: States, i: int, eye: Eye, buffers: Buffers, candidates: Candidates) -> int:
    """Judges all placements of a legal set; returns their number."""
    digit, placements = digit_to_place(states, i), buffers.placements
    number = paint(states, i, states[i]["current_player"], buffers.levels)
    count = list_placements(buffers.levels, number, digit, buffers.maps, placements)
    for k in range(count):
        level = placements.levels[k]
        value = level * (eye.height + eye.points * digit) + eye.snugness * placements.contacts[k]
        _note(candidates, k, placements.actions[k], level, value)
    return count
