"""Difficulty levels in Patchwork: the values that each gives to moves.

The beginner judges by eye: by the costs and gains of a move, and by how snugly the patches of the quilt lie
after it. The other levels use the champion's learned value, one of them with a short search.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from patchwork_env.agents.base import Actions
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.partner import (
    BEGINNER,
    NEVER_OVERLOOKED,
    Candidates,
    Habits,
    Player,
    decide,
    player_of,
)
from patchwork_env.agents.partner import new_candidates as new_candidates_of
from patchwork_env.agents.patchwork.champion import search
from patchwork_env.agents.patchwork.joints import count_joints
from patchwork_env.agents.patchwork.placements import NO_ACTION, NUM_KINDS, kind_of, list_likely, only_action
from patchwork_env.agents.patchwork.value.expansion import (
    TO_WIN,
    Expansion,
    expand_likely,
    margin_of,
    new_expansion,
)
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import Quantized, quantized, read_value
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import Streams
from patchwork_env.patchwork.actions import FIRST_BUY
from patchwork_env.patchwork.components import LAST_SPACE, NUM_CELLS, NUM_OFFERED, PENALTY_PER_EMPTY_CELL
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS, apply, empty_cells, legal
from patchwork_env.patchwork.state import STATE, States
from patchwork_env.patchwork.tables import INCOMES_UP_TO
from patchwork_env.search.best_first import new_tree
from patchwork_env.search.tree import ROOT, Tree

CHAMPION = "instant"  # the champion's level that is the highest difficulty level
HABITS = {
    1: Habits(turning=0.9, flipping=0.4, misjudging=0.5, carelessness=0.2),
    2: Habits(turning=0.9, flipping=0.6, misjudging=0.5, carelessness=0.2, lapses=0.29, lapse=12.0),
    3: Habits(turning=1.0, misjudging=1.0, carelessness=0.5),
    4: Habits(turning=1.0, misjudging=0.0, carelessness=0.0, lapses=0.17, lapse=15.0, lookahead=300),
}
"""The levels below the champion's; docs/play/levels.md describes them."""
_POINTS_OF_UTILITY = 15
"""The points per unit of utility: in mid-game, a point raises the probability to win by about 1/30."""
_MOST_JOINTS = np.array([2 * n - math.ceil(2 * math.sqrt(n)) for n in range(NUM_CELLS + 1)], np.int64)
"""The maximum number of pairs of neighbors among ``n`` cells, by ``n``."""

# The beginner overrates buttons, underrates time and income, and overlooks that a move may keep the turn,
# reach a special patch or win the bonus tile. A weight of 1 is the true worth.
_INCOME = 0.8  # the weight of an income button at every income mark ahead
_PRICE, _TIME = 1.1, 0.8  # of a button that is spent, and of a space that the token moves
_COVER = 1.0  # of a covered cell, which saves two points
_EARLY = 0.2  # the share of this weight at the start of the game; it rises to 1 at the end
_SNUGNESS = 0.7  # points per unit of snugness


def new_player(level: int) -> Player:
    """Return the player of a level; it compiles only the kernels of this level."""
    if level not in HABITS:
        return player_of(f"champion:{CHAMPION}")
    habits, candidates = HABITS[level], new_candidates()
    if level == BEGINNER:
        return partial(choose_by_eye, habits, new_expansion(), candidates)
    weights = quantized(read_value(read_checkpoint(SHIPPED_FOLDER / "champion")))
    if not habits.lookahead:
        return partial(choose_by_value, habits, weights, new_expansion(), candidates)
    tree = new_tree(habits.lookahead + 1, search.WIDTH, STATE)
    return partial(
        choose_ahead, habits, search.Evaluator(weights, TO_WIN), tree, search.new_workspace(), candidates
    )


def new_candidates() -> Candidates:
    """Return empty buffers for the moves of a position."""
    return new_candidates_of(MAX_LEGAL_ACTIONS, NUM_KINDS, NUM_OFFERED * NUM_ORIENTATIONS)


@kernel(inline=True)
def _note(candidates: Candidates, k: int, action: int, value: float) -> None:
    """Write candidate ``k``; the moves with one patch are a group, and so is advancing."""
    kind = kind_of(action)
    candidates.actions[k], candidates.values[k] = action, value
    candidates.groups[k] = (kind - 1) % NUM_KINDS
    candidates.orientations[k] = NEVER_OVERLOOKED
    if 1 <= kind <= NUM_OFFERED:
        candidates.orientations[k] = (action - FIRST_BUY) // NUM_CELLS


# --- by eye -------------------------------------------------------------------------------------------------


@kernel
def choose_by_eye(
    habits: Habits,
    expansion: Expansion,
    candidates: Candidates,
    states: States,
    streams: Streams,
    actions: Actions,
) -> None:
    """Write an action for each game that is not over, judged by eye."""
    for i in range(len(states)):
        count = judge_by_eye(states, i, habits.placements, expansion, candidates)
        actions[i] = decide(candidates, count, habits, streams)


@kernel
def judge_by_eye(
    states: States, i: int, placements: int, expansion: Expansion, candidates: Candidates
) -> int:
    """Write advancing and the snuggest placements of each patch with their values; return their number."""
    legal(states, i, expansion.legal_set)
    count = list_likely(states, i, placements, expansion.legal_set, expansion.ranking, expansion.actions)
    player, successor = signed(states[i]["current_player"]), expansion.successor
    for k in range(count):
        action = signed(expansion.actions[k])
        copy_record(successor, 0, states, i)
        apply(successor, 0, action)
        _note(candidates, k, action, _value_by_eye(states, i, player, successor))
    return count


@kernel
def _value_by_eye(states: States, i: int, player: int, successor: States) -> float:
    """Return the points that the beginner expects from the move to a successor."""
    before, after = states[i], successor[0]
    space, target = signed(before["position"][player]), signed(after["position"][player])
    income = signed(after["income"][player]) - signed(before["income"][player])
    incomes_ahead = signed(INCOMES_UP_TO[LAST_SPACE]) - signed(INCOMES_UP_TO[space])
    earned = signed(INCOMES_UP_TO[target]) - signed(INCOMES_UP_TO[space])
    earned *= signed(after["income"][player])
    spent = signed(before["buttons"][player]) + earned - signed(after["buttons"][player])
    covered = empty_cells(states, i, player) - empty_cells(successor, 0, player)
    share = _EARLY + (1 - _EARLY) * target / LAST_SPACE
    value = _INCOME * income * incomes_ahead - _PRICE * spent - _TIME * (target - space)
    value += _COVER * PENALTY_PER_EMPTY_CELL * share * covered
    return value + _SNUGNESS * (_snugness(successor, 0, player) - _snugness(states, i, player))


@kernel(inline=True)
def _snugness(states: States, i: int, player: int) -> int:
    """Return the pairs of empty neighbors, minus the maximum for this number of empty cells."""
    quilt = states[i]["quilt"][player]
    return count_joints(quilt[0], quilt[1]) - signed(_MOST_JOINTS[empty_cells(states, i, player)])


# --- by the learned value -----------------------------------------------------------------------------------


@kernel
def choose_by_value(
    habits: Habits,
    weights: Quantized,
    expansion: Expansion,
    candidates: Candidates,
    states: States,
    streams: Streams,
    actions: Actions,
) -> None:
    """Write an action for each game that is not over, judged by the learned value."""
    for i in range(len(states)):
        count = expand_likely(states, i, habits.placements, weights, expansion)
        for k in range(count):
            _note(candidates, k, signed(expansion.actions[k]), margin_of(expansion, k))
        actions[i] = decide(candidates, count, habits, streams)


@kernel
def choose_ahead(
    habits: Habits,
    evaluator: search.Evaluator,
    tree: Tree,
    work: search.Workspace,
    candidates: Candidates,
    states: States,
    streams: Streams,
    actions: Actions,
) -> None:
    """Write an action for each game that is not over, judged by a short search."""
    for i in range(len(states)):
        actions[i] = only_action(states, i, work.expansion.legal_set)
        count = 1
        if actions[i] == NO_ACTION:
            search.reset_search(tree, work, evaluator, states, i)
            search.grow(tree, work, evaluator, habits.lookahead, search.NO_LIMIT, False, 0)
            count = _note_edges(tree, candidates)
        else:  # the search's root would be the next position with a choice
            _note(candidates, 0, actions[i], 0.0)
        actions[i] = decide(candidates, count, habits, streams)


@kernel
def _note_edges(tree: Tree, candidates: Candidates) -> int:
    """Write the moves that the search has visited; return their number."""
    begin, count = tree.nodes[ROOT]["begin"], 0
    for edge in range(begin, begin + tree.nodes[ROOT]["count"]):
        if tree.edges[edge]["visits"]:
            value = _POINTS_OF_UTILITY * tree.edges[edge]["values"][search.UTILITY]
            _note(candidates, count, tree.edges[edge]["action"], value)
            count += 1
    return count
