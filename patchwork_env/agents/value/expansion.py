"""What every action of a position leads to, evaluated one by one.

Positions after one move differ little from each other: all purchases of one patch share everything but one
quilt, and that quilt differs from the one before in the windows around the patch. Only those are summed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env._compile import kernel
from patchwork_env.agents.value import features, patterns
from patchwork_env.agents.value.network import (
    HIDDEN,
    QUILT_WIDTH,
    Weights,
    Workspace,
    add_features,
    add_patterns,
    add_quilt,
    embed_quilt,
    new_workspace,
    subtract_patterns,
    values_of,
    write_hidden_of_game,
)
from patchwork_env.agents.value.vectors import Floats, Rows, aligned_floats
from patchwork_env.patchwork.actions import FIRST_BUY
from patchwork_env.patchwork.components import NUM_CELLS, NUM_OFFERED
from patchwork_env.patchwork.engine import (
    MAX_LEGAL_ACTIONS,
    NUM_MAPS,
    LegalSet,
    apply,
    is_over,
    legal,
    score,
    winner,
    write_actions,
)
from patchwork_env.patchwork.state import States, empty_states
from patchwork_env.polyomino import NUM_ORIENTATIONS

_ACTIONS_PER_SLOT = NUM_ORIENTATIONS * NUM_CELLS


class Expansion(NamedTuple):
    """The successors of a position, and memory of one thread to evaluate them.

    Attributes:
        actions: int16 ``(MAX_LEGAL_ACTIONS,)``, ascending; as many entries count as :func:`expand` says.
        margins: float32, expected final margins in points after each action, for the player who acts.
        wins: float32, that player's probabilities to win.
    """

    actions: npt.NDArray[np.int16]
    margins: Floats
    wins: Floats
    anchors: LegalSet
    successor: States
    work: Workspace
    before: patterns.Bands
    after: patterns.Bands
    windows: Rows
    old: Rows
    new: Rows
    rows: Rows
    own_quilt: Floats
    other_quilt: Floats
    shared: Floats


def new_expansion() -> Expansion:
    """Memory for one thread."""
    return Expansion(
        np.empty(MAX_LEGAL_ACTIONS, np.int16),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty((2, NUM_MAPS), np.uint64),
        empty_states(1),
        new_workspace(),
        np.empty(patterns.NUM_BANDS, np.uint64),
        np.empty(patterns.NUM_BANDS, np.uint64),
        np.empty(patterns.NUM_WINDOWS, np.int32),
        np.empty(patterns.NUM_WINDOWS, np.int32),
        np.empty(patterns.NUM_WINDOWS, np.int32),
        np.empty(features.MAX_GAME_ROWS, np.int32),
        aligned_floats(QUILT_WIDTH),
        aligned_floats(QUILT_WIDTH),
        aligned_floats(HIDDEN),
    )


@kernel
def expand(states: States, i: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluates all successors of a game that goes on; returns how many there are.

    A successor in which the game is over has its true margin, and 1 or 0 as probability to win.
    """
    legal(states, i, expansion.anchors)
    count = write_actions(expansion.anchors, expansion.actions)
    player = states[i]["current_player"]
    _embed_quilts(states, i, player, weights, expansion)
    kind = -2
    for k in range(count):
        action = features.signed(expansion.actions[k])
        successor = expansion.successor
        successor[0] = states[i]
        apply(successor, 0, action)
        if is_over(successor, 0):
            expansion.margins[k] = score(successor, 0, player) - score(successor, 0, 1 - player)
            expansion.wins[k] = winner(successor, 0) == player
            continue
        role = int(successor[0]["current_player"] != player)
        if kind_of(action) != kind:
            kind = kind_of(action)
            _write_shared(weights, 1 - role, expansion)
        margin, win = _evaluate_successor(player, role, weights, expansion)
        expansion.margins[k] = margin if role == 0 else -margin
        expansion.wins[k] = win if role == 0 else 1 - win
    return count


@kernel
def kind_of(action: int) -> int:
    """-1 for advancing, the slot of a purchase, or ``NUM_OFFERED`` for a special patch."""
    return -1 if action < FIRST_BUY else min((action - FIRST_BUY) // _ACTIONS_PER_SLOT, NUM_OFFERED)


@kernel
def _embed_quilts(states: States, i: int, player: int, weights: Weights, expansion: Expansion) -> None:
    work = expansion.work
    embed_quilt(states, i, 1 - player, weights, work)
    expansion.other_quilt[:] = work.quilt
    embed_quilt(states, i, player, weights, work)
    expansion.own_quilt[:] = work.quilt
    expansion.before[:] = work.bands
    expansion.windows[:] = work.rows[: patterns.NUM_WINDOWS]


@kernel
def _write_shared(weights: Weights, role_of_other: int, expansion: Expansion) -> None:
    """The part of the first layer that all successors of one kind of action share."""
    write_hidden_of_game(expansion.successor, 0, weights, expansion.rows, expansion.shared)
    expansion.work.quilt[:] = expansion.other_quilt
    add_quilt(weights, role_of_other, expansion.work.quilt, expansion.shared)


@kernel(inline=True)
def _evaluate_successor(
    player: int, role: int, weights: Weights, expansion: Expansion
) -> tuple[float, float]:
    """Margin and probability to win of the player to move in ``expansion.successor``."""
    work, successor = expansion.work, expansion.successor
    words = successor[0]["quilt"]
    patterns.write_bands(words[player, 0], words[player, 1], expansion.after)
    changes = patterns.list_changes(
        expansion.before, expansion.after, expansion.windows, expansion.old, expansion.new
    )
    work.quilt[:] = expansion.own_quilt
    subtract_patterns(work.quilt, weights.patterns, expansion.old, changes)
    add_patterns(work.quilt, weights.patterns, expansion.new, changes)
    work.hidden[:] = expansion.shared
    add_quilt(weights, role, work.quilt, work.hidden)
    square_rows = features.list_square_rows(successor, 0, expansion.rows)
    add_features(work.hidden, weights.features, expansion.rows, square_rows)
    return values_of(weights, work.hidden, work.hidden_2)
