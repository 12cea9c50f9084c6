"""What every action of a position leads to, evaluated one by one.

Positions after one move differ little from each other: all purchases of one patch share everything but one
quilt, and that quilt differs from the one before in the windows around the patch. Only those are summed anew.
In a search most quilts come again, after other moves: what is known of them is remembered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled.records import copy
from patchwork_env.agents.compiled.vectors import Floats
from patchwork_env.agents.patchwork.heuristics import can_be_placed
from patchwork_env.agents.patchwork.value import features, patterns
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import (
    HIDDEN,
    OTHER_EMPTY,
    OTHER_SCORE,
    OWN_EMPTY,
    OWN_SCORE,
    Memory,
    Record,
    Weights,
    add_features,
    add_game,
    add_patterns,
    add_quilt,
    embed_quilt,
    new_memory,
    subtract_features,
    subtract_patterns,
    values_of,
    write_left,
)
from patchwork_env.agents.patchwork.value.placements import (
    Ranking,
    first_of_kind,
    keep_snuggest,
    kind_of,
    list_likely,
    new_ranking,
)
from patchwork_env.agents.patchwork.value.quilts import (
    MOST_CHOICES,
    OF_ONE_POSITION,
    UNKNOWN,
    QuiltMemory,
    forget,
    knows,
    new_quilt_memory,
    place_of,
)
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import NUM_OFFERED, NUM_PATCHES
from patchwork_env.patchwork.engine import (
    MAX_LEGAL_ACTIONS,
    NUM_MAPS,
    LegalSet,
    apply,
    empty_cells,
    is_over,
    legal,
    nth_legal,
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
        quilts: What is known of quilts.
    """

    actions: npt.NDArray[np.int16]
    owns: Floats
    others: Floats
    margins: Floats
    wins: Floats
    empties: Floats
    quilts: QuiltMemory
    anchors: LegalSet
    ranking: Ranking
    merits: npt.NDArray[np.int64]
    successor: States
    memory: Memory


def new_expansion(quilts: int = OF_ONE_POSITION) -> Expansion:
    """Memory for one thread, and so many quilts; a search has more of them than a position."""
    return Expansion(
        np.empty(MAX_LEGAL_ACTIONS, np.int16),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty(MAX_LEGAL_ACTIONS, np.float32),
        np.empty((MAX_LEGAL_ACTIONS, 2), np.float32),
        new_quilt_memory(quilts),
        np.empty((2, NUM_MAPS), np.uint64),
        new_ranking(),
        np.empty(LIKELY, np.int64),
        empty_states(1),
        new_memory(),
    )


@kernel
def expand(states: States, i: int, weights: Weights, expansion: Expansion) -> int:
    """Evaluates all successors of a game that goes on; returns how many there are.

    A successor in which the game is over has its true margin, and 1 or 0 as probability to win.
    """
    forget(expansion.quilts)
    legal(states, i, expansion.anchors)
    count = write_actions(expansion.anchors, expansion.actions)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel
def expand_likely(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """As :func:`expand`, but of each patch only the ``width`` most likely placements.

    These are the snuggest of those ``LIKELY`` ones, or more, that leave the most joints; see
    :mod:`.placements`. The best action is rarely among the others, which are most of all.
    """
    forget(expansion.quilts)
    return expand_further(states, i, width, weights, expansion)


@kernel
def expand_further(states: States, i: int, width: int, weights: Weights, expansion: Expansion) -> int:
    """As :func:`expand_likely`, with what is known of quilts from other positions.

    The weights have to be those of all expansions since :func:`~.quilts.forget`, and widths up to
    ``MOST_CHOICES`` the same.
    """
    legal(states, i, expansion.anchors)
    count = _list_actions(states, i, width, weights[0], expansion)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel(inline=True)
def _list_actions(states: States, i: int, width: int, weights: Record, expansion: Expansion) -> int:
    """Lists advancing, if it is legal, and the likely placements; returns their number."""
    anchors, actions = expansion.anchors, expansion.actions
    if width > MOST_CHOICES:
        return _list_likely(states, i, width, expansion)
    player = signed(states[i]["current_player"])
    quilt = expansion.quilts.quilts[_remember(states, i, player, weights, expansion)]
    count = _recall_choices(states, i, quilt, anchors, actions)
    if count == 0:
        count = _list_likely(states, i, width, expansion)
        _keep_choices(states, i, quilt, actions, count)
    return count


@kernel(inline=True)
def _list_likely(states: States, i: int, width: int, expansion: Expansion) -> int:
    """Lists advancing, if it is legal, and likely placements that are not remembered."""
    shortlist = max(width, LIKELY)
    count = list_likely(states, i, shortlist, expansion.anchors, expansion.ranking, expansion.actions)
    return keep_snuggest(states, i, width, expansion.actions, count, expansion.merits)


@kernel
def _recall_choices(
    states: States, i: int, quilt: Record, anchors: LegalSet, actions: npt.NDArray[np.int16]
) -> int:
    """Lists the likely actions if all are known; returns their number, or else 0."""
    first = nth_legal(anchors, 0)
    count = 0
    if kind_of(first) < 0:
        actions[0] = first
        count = 1
    for kind in range(NUM_OFFERED + 1):
        if not can_be_placed(anchors, kind):
            continue
        patch = _patch_of(states, i, kind)
        number = quilt["num_choices"][patch]
        if number == UNKNOWN:
            return 0
        for k in range(number):
            actions[count + k] = first_of_kind(kind) + quilt["choices"][patch, k]
        count += number
    return count


@kernel
def _keep_choices(states: States, i: int, quilt: Record, actions: npt.NDArray[np.int16], count: int) -> None:
    """Remembers the likely placements among the first ``count`` actions."""
    last = -1
    for k in range(count):
        kind = kind_of(signed(actions[k]))
        if kind < 0:
            continue
        patch = _patch_of(states, i, kind)
        if kind != last:
            quilt["num_choices"][patch] = 0
            last = kind
        number = quilt["num_choices"][patch]
        quilt["choices"][patch, number] = signed(actions[k]) - first_of_kind(kind)
        quilt["num_choices"][patch] = number + 1


@kernel(inline=True)
def _patch_of(states: States, i: int, kind: int) -> int:
    """The patch of a kind of placements; one more than there are for a special one."""
    return NUM_PATCHES if kind == NUM_OFFERED else signed(states[i]["circle"][kind])


@kernel(inline=True)
def _evaluate_listed(states: States, i: int, count: int, weights: Weights, expansion: Expansion) -> None:
    """Evaluates the successors of the first ``count`` actions."""
    memory, successor = expansion.memory[0], expansion.successor
    owns, others = expansion.owns, expansion.others
    player = signed(states[i]["current_player"])
    memory["has_windows"][0] = 0
    write_left(memory["left"], states, i, weights[0], memory)
    copy(
        memory["own_quilt"],
        expansion.quilts.quilts[_remember(states, i, player, weights[0], expansion)]["sum"],
    )
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
                patch = NUM_PATCHES if kind < 0 else _patch_of(states, i, kind)
                _write_shared(patch, 1 - player, 1 - role, weights[0], expansion)
            win = _evaluate_successor(states, i, player, role, weights[0], expansion)
            outputs = memory["outputs"]
            owns[k], others[k] = outputs[OWN_SCORE + role], outputs[OTHER_SCORE - role]
            expansion.wins[k] = win if role == 0 else 1 - win
            expansion.empties[k, role] = outputs[OWN_EMPTY]
            expansion.empties[k, 1 - role] = outputs[OTHER_EMPTY]
        expansion.margins[k] = owns[k] - others[k]


@kernel(inline=True)
def _remember(states: States, i: int, player: int, weights: Record, expansion: Expansion) -> int:
    """The place of a player's quilt among those that are known, where its sum is."""
    words, memory = states[i]["quilt"][player], expansion.memory[0]
    place = place_of(expansion.quilts, words[0], words[1])
    if not knows(expansion.quilts, place, words[0], words[1]):
        embed_quilt(states, i, player, weights, memory)
        copy(expansion.quilts.quilts[place]["sum"], memory["quilt"])
    return place


@kernel(inline=True)
def _write_shared(patch: int, other: int, role_of_other: int, weights: Record, expansion: Expansion) -> None:
    """The part of the first layer that all successors of one kind of action share."""
    memory = expansion.memory[0]
    copy(memory["hidden"], memory["left"])
    if patch < NUM_PATCHES:
        memory["rows"][0] = features.left_row(patch)
        subtract_features(memory["hidden"], weights["features"], memory["rows"], 1)
    add_game(expansion.successor, 0, weights, memory)
    quilt = expansion.quilts.quilts[_remember(expansion.successor, 0, other, weights, expansion)]
    _add_known_quilt(expansion.successor, other, role_of_other, quilt, weights, memory)
    memory["missing_of_other"][0] = quilt["missing"][0]
    copy(memory["shared"], memory["hidden"])


@kernel(inline=True)
def _evaluate_successor(
    states: States, i: int, player: int, role: int, weights: Record, expansion: Expansion
) -> float:
    """The probability to win of the player to move in the successor; ``outputs`` has the rest."""
    memory, successor = expansion.memory[0], expansion.successor
    words = successor[0]["quilt"][player]
    place = place_of(expansion.quilts, words[0], words[1])
    quilt = expansion.quilts.quilts[place]
    if not knows(expansion.quilts, place, words[0], words[1]):
        _sum_changes(states, i, player, quilt["sum"], weights, expansion)
    copy(memory["hidden"], memory["shared"])
    _add_known_quilt(successor, player, role, quilt, weights, memory)
    _add_known_squares(successor, role, signed(quilt["missing"][0]), weights, memory)
    _, win = values_of(weights, memory)
    return win


@kernel(inline=True)
def _sum_changes(
    states: States, i: int, player: int, out: Floats, weights: Record, expansion: Expansion
) -> None:
    """Writes the sum of the pattern rows of the acting player's quilt in the successor."""
    memory = expansion.memory[0]
    if not memory["has_windows"][0]:
        before = states[i]["quilt"][player]
        patterns.write_bands(before[0], before[1], memory["own_bands"])
        patterns.list_rows(memory["own_bands"], memory["own_windows"])
        memory["has_windows"][0] = 1
    after = expansion.successor[0]["quilt"][player]
    old, new = memory["old"], memory["new"]
    patterns.write_bands(after[0], after[1], memory["bands"])
    changes = patterns.list_changes(memory["own_bands"], memory["bands"], memory["own_windows"], old, new)
    copy(out, memory["own_quilt"])
    subtract_patterns(out, weights["patterns"], old, changes)
    add_patterns(out, weights["patterns"], new, changes)


@kernel(inline=True)
def _add_known_quilt(
    successor: States, player: int, role: int, quilt: Record, weights: Record, memory: Record
) -> None:
    """Adds to the first layer what a player's quilt does to it, with the fits of the next patches."""
    product = quilt["products"][role]
    if not quilt["has_product"][role]:
        quilt["has_product"][role] = 1
        for k in range(HIDDEN):
            product[k] = 0
        copy(memory["quilt"], quilt["sum"])
        add_quilt(product, role, weights, memory)
    hidden = memory["hidden"]
    for k in range(HIDDEN):
        hidden[k] += product[k]
    rows, fits, words = memory["rows"], quilt["fits"], successor[0]["quilt"][player]
    count = features.num_ahead(successor, 0)
    for k in range(count):
        patch = signed(successor[0]["circle"][k])
        if fits[patch] == UNKNOWN:
            fits[patch] = features.fit_class(words[0], words[1], patch)
        rows[k] = features.fit_row(role, patch, signed(fits[patch]))
    add_features(memory["hidden"], weights["features"], rows, count)


@kernel(inline=True)
def _add_known_squares(successor: States, role: int, missing: int, weights: Record, memory: Record) -> None:
    """Adds to the first layer what the 7x7 squares and the bonus tile say."""
    other = signed(memory["missing_of_other"][0])
    own, others = (missing, other) if role == 0 else (other, missing)
    count = features.list_known_square_rows(successor, 0, own, others, memory["rows"])
    add_features(memory["hidden"], weights["features"], memory["rows"], count)
