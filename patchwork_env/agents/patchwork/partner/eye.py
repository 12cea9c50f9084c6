"""How moves are judged by eye: what they cost and bring, and how tidy the quilt is afterwards."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.joints import count_joints
from patchwork_env.agents.patchwork.partner.decision import Thoughts, decide
from patchwork_env.agents.patchwork.partner.levels import Eye, Habits
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.placements import RankingBuffer, list_likely, new_ranking_buffer
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.components import BONUS_POINTS, LAST_SPACE, NUM_CELLS, PENALTY_PER_EMPTY_CELL
from patchwork_env.patchwork.engine import NUM_MAPS, LegalSet, apply, empty_cells, legal
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.patchwork.tables import INCOMES_UP_TO

_MOST_JOINTS = np.array([2 * n - math.ceil(2 * math.sqrt(n)) for n in range(NUM_CELLS + 1)], np.int64)
"""The most pairs of neighbors that a number of cells can have."""


class Sight(NamedTuple):
    """What one thread needs to judge by eye.

    Attributes:
        anchors: The legal set.
        ranking: The buffer in which placements are ranked.
        successor: One record, the position after an action.
    """

    anchors: LegalSet
    ranking: RankingBuffer
    successor: States


def new_sight() -> Sight:
    """Buffers for one thread."""
    return Sight(np.empty((2, NUM_MAPS), np.uint64), new_ranking_buffer(), empty_states(1))


@kernel
def choose_by_eye(
    states: States,
    habits: Habits,
    eye: Eye,
    sight: Sight,
    thoughts: Thoughts,
    streams: Streams,
    actions: npt.NDArray[np.int64],
) -> None:
    """Writes the actions of games, none of which is over."""
    for i in range(len(states)):
        count = look(states, i, habits.placements, eye, sight, thoughts)
        actions[i] = decide(thoughts, count, habits, streams)


@kernel
def look(states: States, i: int, placements: int, eye: Eye, sight: Sight, thoughts: Thoughts) -> int:
    """Judges advancing and the snuggest placements of each patch; returns the number of these moves."""
    legal(states, i, sight.anchors)
    count = list_likely(states, i, placements, sight.anchors, sight.ranking, thoughts.actions)
    player = signed(states[i]["current_player"])
    for k in range(count):
        sight.successor[0] = states[i]
        apply(sight.successor, 0, signed(thoughts.actions[k]))
        thoughts.worths[k] = _worth(states, i, player, eye, sight.successor)
    return count


@kernel
def _worth(states: States, i: int, player: int, eye: Eye, successor: States) -> float:
    """What a player thinks to gain by the move to a successor, in points."""
    before, after = states[i], successor[0]
    space, target = signed(before["position"][player]), signed(after["position"][player])
    income = signed(after["income"][player]) - signed(before["income"][player])
    incomes_ahead = signed(INCOMES_UP_TO[LAST_SPACE]) - signed(INCOMES_UP_TO[space])
    earned = signed(INCOMES_UP_TO[target]) - signed(INCOMES_UP_TO[space])
    earned *= signed(after["income"][player])
    spent = signed(before["buttons"][player]) + earned - signed(after["buttons"][player])
    covered = empty_cells(states, i, player) - empty_cells(successor, 0, player)
    share = eye.early + (1 - eye.early) * target / LAST_SPACE
    worth = eye.income * income * incomes_ahead - eye.price * spent - eye.time * (target - space)
    worth += eye.cover * PENALTY_PER_EMPTY_CELL * share * covered
    worth += eye.snugness * (_snugness(successor, 0, player) - _snugness(states, i, player))
    if after["pending_special"]:
        worth += eye.special * PENALTY_PER_EMPTY_CELL
    elif after["current_player"] == player:
        worth += eye.turn
    if after["bonus_owner"] != before["bonus_owner"]:
        worth += eye.bonus * BONUS_POINTS
    return worth


@kernel(inline=True)
def _snugness(states: States, i: int, player: int) -> int:
    """Pairs of empty neighbors, less those that as many empty cells can have at most."""
    quilt = states[i]["quilt"][player]
    return count_joints(quilt[0], quilt[1]) - signed(_MOST_JOINTS[empty_cells(states, i, player)])
