"""What every action of a position leads to, evaluated one by one.

Positions after one move differ little from each other: all purchases of one patch share everything but one
quilt, and that quilt differs from the one before in the windows around the patch. Only those are summed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.value import patterns
from patchwork_env.agents.value.features import signed
from patchwork_env.agents.value.network import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OWN_EMPTY,
    OWN_SCORE,
    Memory,
    Record,
    Weights,
    add_fits,
    add_patterns,
    add_quilt,
    add_squares,
    embed_quilt,
    new_memory,
    subtract_patterns,
    values_of,
    write_hidden_of_game,
)
from patchwork_env.agents.value.placements import kind_of, select_placements
from patchwork_env.agents.value.records import copy
from patchwork_env.agents.value.vectors import Floats
from patchwork_env.patchwork.engine import (
    MAX_LEGAL_ACTIONS,
    NUM_MAPS,
    LegalSet,
    apply,
    empty_cells,
    is_over,
    legal,
    score,
    winner,
    write_actions,
)
from patchwork_env.patchwork.state import States, empty_states

LIKELY = 16
"""Placements of a patch that are likely enough. Values are learned from play among so many; of the others
they know little, and the best of hundreds of guesses is seldom a good one."""


class Expansion(NamedTuple):
    """The successors of a position, and memory of one thread to evaluate them.

    Attributes:
        actions: int16 ``(MAX_LEGAL_ACTIONS,)``, ascending; as many entries count as :func:`expand` says.
        owns: float32, expected final scores after each action of the player who acts.
        others: float32, those of the other player.
        margins: float32, their differences.
        wins: float32, that player's probabilities to win.
        empties: float32 ``(MAX_LEGAL_ACTIONS, 2)``, expected empty cells of that player and of the other.
    """

    actions: npt.NDArray[np.int16]
    owns: Floats
    others: Floats
    margins: Floats
    wins: Floats
    empties: Floats
    anchors: LegalSet
    joints: npt.NDArray[np.int64]
    successor: States
    memory: Memory


def new_expansion() -> Expansion:
    """Memory for one thread."""
    return Expansion(
        np.empty(MAX_LEGAL_ACTIONS, np.int16),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty((MAX_LEGAL_ACTIONS, 2), np.float32),
        np.empty((2, NUM_MAPS), np.uint64),
        np.empty(MAX_LEGAL_ACTIONS, np.int64),
        empty_states(1),
        new_memory(),
    )


@kernel
def expand(states: States, i: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluates all successors of a game that goes on; returns how many there are.

    A successor in which the game is over has its true margin, and 1 or 0 as probability to win.
    """
    legal(states, i, expansion.anchors)
    count = write_actions(expansion.anchors, expansion.actions)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel
def expand_likely(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """As :func:`expand`, but of each patch only about the ``width`` placements that leave the most joints.

    The best action is rarely among the others, which are most of all.
    """
    legal(states, i, expansion.anchors)
    count = write_actions(expansion.anchors, expansion.actions)
    count = select_placements(states, i, width, expansion.actions, count, expansion.joints)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel
def _evaluate_listed(states: States, i: int, count: int, weights: Weights, expansion: Expansion) -> None:
    """Evaluates the successors of the first ``count`` actions."""
    memory, successor = expansion.memory[0], expansion.successor
    owns, others = expansion.owns, expansion.others
    player = signed(states[i]["current_player"])
    _embed_quilts(states, i, player, weights[0], memory)
    kind = -2
    for k in range(count):
        action = signed(expansion.actions[k])
        successor[0] = states[i]
        apply(successor, 0, action)
        if is_over(successor, 0):
            owns[k], others[k] = score(successor, 0, player), score(successor, 0, 1 - player)
            expansion.wins[k] = winner(successor, 0) == player
            expansion.empties[k, 0] = empty_cells(successor, 0, player)
            expansion.empties[k, 1] = empty_cells(successor, 0, 1 - player)
        else:
            role = int(successor[0]["current_player"] != player)
            if kind_of(action) != kind:
                kind = kind_of(action)
                _write_shared(successor, 1 - role, weights[0], memory)
            _, win = _evaluate_successor(successor, player, role, weights[0], memory)
            outputs = memory["outputs"]
            owns[k], others[k] = outputs[OWN_SCORE + role], outputs[OTHER_SCORE - role]
            expansion.wins[k] = win if role == 0 else 1 - win
            expansion.empties[k, role] = outputs[OWN_EMPTY]
            expansion.empties[k, 1 - role] = outputs[OTHER_EMPTY]
        expansion.margins[k] = owns[k] - others[k]


@kernel
def _embed_quilts(states: States, i: int, player: int, weights: Record, memory: Record) -> None:
    embed_quilt(states, i, 1 - player, weights, memory)
    copy(memory["other_quilt"], memory["quilt"])
    embed_quilt(states, i, player, weights, memory)
    copy(memory["own_quilt"], memory["quilt"])
    copy(memory["own_bands"], memory["bands"])
    copy(memory["own_windows"], memory["rows"])


@kernel
def _write_shared(successor: States, role_of_other: int, weights: Record, memory: Record) -> None:
    """The part of the first layer that all successors of one kind of action share."""
    write_hidden_of_game(successor, 0, weights, memory)
    copy(memory["quilt"], memory["other_quilt"])
    add_quilt(role_of_other, weights, memory)
    add_fits(successor, 0, role_of_other, weights, memory)
    copy(memory["shared"], memory["hidden"])


@kernel
def _evaluate_successor(
    successor: States, player: int, role: int, weights: Record, memory: Record
) -> tuple[float, float]:
    """Margin and probability to win of the player to move in ``successor``."""
    quilt = successor[0]["quilt"]
    old, new = memory["old"], memory["new"]
    patterns.write_bands(quilt[player, 0], quilt[player, 1], memory["bands"])
    changes = patterns.list_changes(memory["own_bands"], memory["bands"], memory["own_windows"], old, new)
    copy(memory["quilt"], memory["own_quilt"])
    subtract_patterns(memory["quilt"], weights["patterns"], old, changes)
    add_patterns(memory["quilt"], weights["patterns"], new, changes)
    copy(memory["hidden"], memory["shared"])
    add_quilt(role, weights, memory)
    add_fits(successor, 0, role, weights, memory)
    add_squares(successor, 0, weights, memory)
    return values_of(weights, memory)
