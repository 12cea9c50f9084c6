"""Greedy self-play by the value of the position after every action, without further search."""

from __future__ import annotations

from patchwork_env.agents.compiled.records import copy
from patchwork_env.agents.patchwork.expansion import (
    Expansion,
    Payoffs,
    best_action,
    draw_action,
    expand_likely,
)
from patchwork_env.agents.patchwork.features import signed
from patchwork_env.agents.patchwork.greedy import GreedyBuffers, choose_noisily
from patchwork_env.agents.patchwork.value import Weights, evaluate
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import random_below
from patchwork_env.learning.algorithms.td.games import STEPS, Games, Targets, change_sides, write_result
from patchwork_env.patchwork.engine import apply, is_over
from patchwork_env.patchwork.state import States


@kernel
def play_greedily(
    games: Games,
    weights: Weights,
    expansion: Expansion,
    playout: GreedyBuffers,
    payoffs: Payoffs,
    width: int,
    exploration: float,
    temperature: float,
) -> None:
    """Plays all games to their ends, with their random streams and roles.

    Of each patch, ``width`` placements are tried. With probability ``exploration`` an action is drawn from a
    softmax with the temperature. ``playout`` is the buffer of the guests.
    """
    states = games.states
    for i in range(len(states)):
        turn = 0
        while not is_over(states, i):
            games.positions[i, turn] = states[i]
            count = expand_likely(states, i, width, weights, expansion)
            best = best_action(expansion, count, payoffs)
            action = preferred = signed(expansion.actions[best])
            if states[i]["current_player"] == games.guests[i]:
                action = choose_noisily(states, i, playout, games.streams, i)
            elif random_below(games.streams, i, STEPS) < exploration * STEPS:
                drawn = draw_action(expansion, count, payoffs, temperature, games.streams, i)
                action = signed(expansion.actions[drawn])
            games.explored[i, turn] = action != preferred
            _write_value(states, i, preferred, weights, expansion, games.targets[i, turn])
            apply(states, i, action)
            turn += 1
        games.lengths[i] = turn


@kernel
def _write_value(
    states: States, i: int, action: int, weights: Weights, expansion: Expansion, value: Targets
) -> None:
    """Writes the value of an action for the player who acts, in the network's outputs."""
    successor, player = expansion.successor, signed(states[i]["current_player"])
    successor[0] = states[i]
    apply(successor, 0, action)
    if is_over(successor, 0):
        write_result(successor, 0, player, value)
        return
    evaluate(successor, 0, weights, expansion.buffer)
    copy(value, expansion.buffer[0]["outputs"])
    if successor[0]["current_player"] != player:
        change_sides(value)
