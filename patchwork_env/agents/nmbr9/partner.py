"""Difficulty levels in NMBR 9: they judge placements by eye, or by the champion's learned value."""

from __future__ import annotations

from functools import partial

from patchwork_env.agents.base import Actions
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.nmbr9.greedy import highest_digit
from patchwork_env.agents.nmbr9.value import (
    LIKELY,
    Expansion,
    Weights,
    expand,
    list_all,
    new_expansion,
    read_value,
)
from patchwork_env.agents.partner import BEGINNER, Candidates, Habits, Player, decide, player_of
from patchwork_env.agents.partner import new_candidates as new_candidates_of
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.nmbr9.actions import NUM_ANCHORS, NUM_TURNS
from patchwork_env.nmbr9.engine import MAX_LEGAL_ACTIONS, MAX_LEVELS, digit_to_place, legal
from patchwork_env.nmbr9.state import NO_DIGIT, States

CHAMPION_NODES = 6_000
"""The placements that the champion evaluates for a move as the highest level; ``fast`` has 20,000."""
HABITS = {
    BEGINNER: Habits(turning=0.7, misjudging=1.0, carelessness=0.5),
    2: Habits(turning=0.65, misjudging=1.0, carelessness=1.0, lapses=0.2, lapse=6.0),
    3: Habits(turning=0.85, misjudging=0.7, carelessness=1.0),
    4: Habits(turning=1.0, misjudging=0.2, carelessness=0.2),
}
"""The levels below the champion's, which docs/play/levels.md describes."""


def new_player(level: int) -> Player:
    """Return the player of a level; this compiles only the kernels that it needs."""
    if level not in HABITS:
        return player_of(f"nmbr9_champion:nodes={CHAMPION_NODES}")
    expansion, candidates = new_expansion(), new_candidates()
    if level == BEGINNER:
        return partial(choose_by_eye, HABITS[level], expansion, candidates)
    weights = read_value(read_checkpoint(SHIPPED_FOLDER / "nmbr9_champion"))
    return partial(choose_by_value, HABITS[level], weights, expansion, candidates)


def new_candidates() -> Candidates:
    """Allocate the arrays for one tile, for one thread; the placements on one level are a group."""
    return new_candidates_of(MAX_LEGAL_ACTIONS, MAX_LEVELS + 1, NUM_TURNS)


@kernel
def choose_by_eye(
    habits: Habits,
    expansion: Expansion,
    candidates: Candidates,
    states: States,
    streams: Streams,
    actions: Actions,
) -> None:
    """Write the actions of a beginner, who likes high levels and does not think of later tiles."""
    for i in range(len(states)):
        digit = digit_to_place(states, i)
        legal(states, i, expansion.maps)
        if digit == NO_DIGIT:
            actions[i] = highest_digit(expansion.maps)
            continue
        count = list_all(states, i, expansion)
        for k in range(count):
            level = expansion.levels[k]
            value = float(level * (2 + digit) + expansion.contacts[k])
            _note(candidates, k, expansion.actions[k], level, value)
        actions[i] = decide(candidates, count, habits, streams)


@kernel
def choose_by_value(
    habits: Habits,
    weights: Weights,
    expansion: Expansion,
    candidates: Candidates,
    states: States,
    streams: Streams,
    actions: Actions,
) -> None:
    """Write the actions of a player who judges by the value and chooses the highest digit."""
    for i in range(len(states)):
        if digit_to_place(states, i) == NO_DIGIT:
            legal(states, i, expansion.maps)
            actions[i] = highest_digit(expansion.maps)
            continue
        count = expand(states, i, LIKELY, weights, expansion)
        for k in range(count):
            _note(candidates, k, expansion.actions[k], expansion.levels[k], expansion.values[k])
        actions[i] = decide(candidates, count, habits, streams)


@kernel(inline=True)
def _note(candidates: Candidates, k: int, action: int, level: int, value: float) -> None:
    candidates.actions[k], candidates.values[k] = action, value
    candidates.groups[k], candidates.orientations[k] = level, action // NUM_ANCHORS
