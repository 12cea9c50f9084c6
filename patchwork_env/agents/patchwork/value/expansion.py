"""Evaluates all successors of a position.

Successors differ little from each other. Those after purchases of the same patch differ in one quilt, and
there only in the windows around the patch, so only the rows of these windows are subtracted and added. In a
search, most quilts occur in many positions; see :mod:`.quilt_cache`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.compiled import aligned_records, draw_by_softmax
from patchwork_env.agents.patchwork import placements
from patchwork_env.agents.patchwork.value import features
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.agents.patchwork.value.network import (
    HIDDEN,
    OTHER_SCORE,
    OWN_SCORE,
    Buffer,
    Quantized,
    Record,
    add_features,
    add_game,
    add_patterns,
    add_product,
    embed_quilt,
    new_buffer,
    subtract_features,
    subtract_patterns,
    values_of,
    write_left,
    write_product,
)
from patchwork_env.agents.patchwork.value.quilt_cache import (
    KNOWN_QUILT,
    MOST_CHOICES,
    POSITION_CACHE_SIZE,
    UNKNOWN,
    QuiltCache,
    forget,
    knows,
    place_of,
)
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import CACHE_LINE, Floats, Rows, copy, copy_record, prefetch
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.components import NUM_PATCHES
from patchwork_env.patchwork.state import NOBODY, States, empty_states

LIKELY = 16
"""The number of likely placements of a patch. Values are learned from games in which only these placements
are played, and are unreliable for others."""


class Expansion(NamedTuple):
    """The successors of a position, and the buffers of one thread to evaluate them.

    The first four fields have ``MAX_LEGAL_ACTIONS`` entries; :func:`expand` returns the number of valid ones.
    """

    actions: npt.NDArray[np.int16]  # ascending
    owns: Floats  # the expected final score of the player who acts, after each action
    others: Floats  # the expected final score of the other player
    wins: Floats  # the probability that the player who acts wins
    quilts: QuiltCache
    legal_set: engine.LegalSet
    ranking: placements.Ranking
    sort_keys: npt.NDArray[np.int64]  # (LIKELY,), of placements
    successor: States  # one record, the position after an action
    buffer: Buffer


def new_expansion(quilts: int = POSITION_CACHE_SIZE) -> Expansion:
    """Return buffers for one thread, with a cache of ``quilts`` quilts, a power of two up to 2**20."""
    cache = QuiltCache(aligned_records(KNOWN_QUILT, quilts), np.ones(1, np.uint64), np.zeros(1, np.int64))
    return Expansion(
        np.empty(engine.MAX_LEGAL_ACTIONS, np.int16),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.float32),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.float32),
        np.empty(engine.MAX_LEGAL_ACTIONS, np.float32),
        cache,
        np.empty((2, engine.NUM_MAPS), np.uint64),
        placements.new_ranking(),
        np.empty(LIKELY, np.int64),
        empty_states(1),
        new_buffer(),
    )


@kernel
def expand(states: States, i: int, weights: Quantized, expansion: Expansion) -> int:
    """Evaluate all successors of a game that is not over; return their number.

    If the game is over in a successor, its scores are exact and its probability to win is 1 or 0.
    """
    forget(expansion.quilts)
    engine.legal(states, i, expansion.legal_set)
    count = engine.write_actions(expansion.legal_set, expansion.actions)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel
def expand_likely(states: States, i: int, width: int, weights: Quantized, expansion: Expansion) -> int:
    """Expand like :func:`expand`, but only the ``width`` most likely placements of each patch.

    They are the most compact ones of the ``max(width, LIKELY)`` placements that leave the most joints; see
    :mod:`~patchwork_env.agents.patchwork.placements`. The best action is rarely among those left out.
    """
    forget(expansion.quilts)
    return expand_further(states, i, width, weights, expansion)


@kernel
def expand_further(states: States, i: int, width: int, weights: Quantized, expansion: Expansion) -> int:
    """Expand like :func:`expand_likely`, but use cached quilts of other positions.

    All expansions since :func:`forget` must have the same weights, and if ``width`` is at most
    ``MOST_CHOICES``, the same width.
    """
    engine.legal(states, i, expansion.legal_set)
    count = _list_actions(states, i, width, weights[0], expansion)
    _evaluate_listed(states, i, count, weights, expansion)
    return count


@kernel(inline=True)
def _list_actions(states: States, i: int, width: int, weights: Record, expansion: Expansion) -> int:
    legal_set, actions = expansion.legal_set, expansion.actions
    if width > MOST_CHOICES:
        return _list_likely(states, i, width, expansion)
    player = signed(states[i]["current_player"])
    quilt = expansion.quilts.quilts[_remember(states, i, player, weights, expansion)]
    count = _recall_choices(states, i, quilt, legal_set, actions)
    if count == 0:
        count = _list_likely(states, i, width, expansion)
        _keep_choices(states, i, quilt, actions, count)
    return count


@kernel(inline=True)
def _list_likely(states: States, i: int, width: int, expansion: Expansion) -> int:
    shortlist = max(width, LIKELY)
    count = placements.list_likely(
        states, i, shortlist, expansion.legal_set, expansion.ranking, expansion.actions
    )
    return placements.keep_most_compact(states, i, width, expansion.actions, count, expansion.sort_keys)


@kernel
def _recall_choices(
    states: States, i: int, quilt: Record, legal_set: engine.LegalSet, actions: npt.NDArray[np.int16]
) -> int:
    """List the likely actions if all are cached, and return their number, otherwise 0."""
    first = engine.nth_legal(legal_set, 0)
    count = 0
    if first == ADVANCE:
        actions[0] = first
        count = 1
    for kind in range(1, placements.NUM_KINDS):
        if not placements.can_be_placed(legal_set, kind - 1):
            continue
        patch = _patch_of(states, i, kind)
        number = quilt["num_choices"][patch]
        if number == UNKNOWN:
            return 0
        for k in range(number):
            actions[count + k] = placements.first_of_kind(kind) + quilt["choices"][patch, k]
        count += number
    return count


@kernel
def _keep_choices(states: States, i: int, quilt: Record, actions: npt.NDArray[np.int16], count: int) -> None:
    """Cache the likely placements among the first ``count`` actions."""
    last = 0
    for k in range(count):
        kind = placements.kind_of(signed(actions[k]))
        if kind == 0:
            continue
        patch = _patch_of(states, i, kind)
        if kind != last:
            quilt["num_choices"][patch] = 0
            last = kind
        number = quilt["num_choices"][patch]
        quilt["choices"][patch, number] = signed(actions[k]) - placements.first_of_kind(kind)
        quilt["num_choices"][patch] = number + 1


@kernel(inline=True)
def _patch_of(states: States, i: int, kind: int) -> int:
    """Return the patch of a kind of placements, or ``NUM_PATCHES`` for special patches."""
    return NUM_PATCHES if kind == placements.NUM_KINDS - 1 else signed(states[i]["circle"][kind - 1])


@kernel(inline=True)
def _evaluate_listed(states: States, i: int, count: int, weights: Quantized, expansion: Expansion) -> None:
    buffer, successor = expansion.buffer[0], expansion.successor
    owns, others = expansion.owns, expansion.others
    player = signed(states[i]["current_player"])
    buffer["has_windows"][0] = 0
    write_left(buffer["left"], states, i, weights[0], buffer)
    quilt = expansion.quilts.quilts[_remember(states, i, player, weights[0], expansion)]
    copy(buffer["own_quilt"], quilt["sum"])
    kind = -1
    for k in range(count):
        action = signed(expansion.actions[k])
        is_first = placements.kind_of(action) != kind
        if is_first:
            kind = placements.kind_of(action)
            copy_record(successor, 0, states, i)
            engine.apply(successor, 0, action)
        else:
            _place_elsewhere(states, i, player, action, successor)
        if engine.is_over(successor, 0):
            owns[k], others[k] = engine.score(successor, 0, player), engine.score(successor, 0, 1 - player)
            expansion.wins[k] = engine.winner(successor, 0) == player
        else:
            role = int(successor[0]["current_player"] != player)
            if is_first:
                patch = NUM_PATCHES if kind == 0 else _patch_of(states, i, kind)
                _write_shared(patch, 1 - player, 1 - role, weights[0], expansion)
            if k + 1 < count and placements.kind_of(signed(expansion.actions[k + 1])) == kind:
                _prefetch_quilt(states, i, player, signed(expansion.actions[k + 1]), role, expansion)
            win = _evaluate_successor(states, i, player, role, weights[0], expansion)
            outputs = buffer["outputs"]
            owns[k], others[k] = outputs[OWN_SCORE + role], outputs[OTHER_SCORE - role]
            expansion.wins[k] = win if role == 0 else 1 - win


@kernel(inline=True)
def _prefetch_quilt(
    states: States, i: int, player: int, action: int, role: int, expansion: Expansion
) -> None:
    """Prefetch the cache entry of the quilt after the placement that is evaluated next."""
    word_0, word_1 = placements.cells_of(states, i, action)
    before, cache = states[i]["quilt"][player], expansion.quilts
    place = place_of(cache, before[0] | word_0, before[1] | word_1)
    prefetch(cache.quilts, place)
    products = cache.quilts[place]["products"]
    for k in range(role * HIDDEN, (role + 1) * HIDDEN, CACHE_LINE // products.itemsize):
        prefetch(products, k)


@kernel(inline=True)
def _place_elsewhere(states: States, i: int, player: int, action: int, successor: States) -> None:
    """Change the position after a placement into that after another placement of the same patch."""
    word_0, word_1 = placements.cells_of(states, i, action)
    before, after = states[i]["quilt"][player], successor[0]["quilt"][player]
    after[0], after[1] = before[0] | word_0, before[1] | word_1
    if states[i]["bonus_owner"] == NOBODY:
        successor[0]["bonus_owner"] = player if engine.has_square(successor, 0, player) else NOBODY


@kernel(inline=True)
def _remember(states: States, i: int, player: int, weights: Record, expansion: Expansion) -> int:
    """Return the index of a player's quilt in the cache, after computing its sum if needed."""
    words, buffer = states[i]["quilt"][player], expansion.buffer[0]
    place = place_of(expansion.quilts, words[0], words[1])
    if not knows(expansion.quilts, place, words[0], words[1]):
        embed_quilt(states, i, player, weights, buffer)
        copy(expansion.quilts.quilts[place]["sum"], buffer["quilt"])
    return place


@kernel(inline=True)
def _write_shared(patch: int, other: int, role_of_other: int, weights: Record, expansion: Expansion) -> None:
    """Write the part of the first layer that is the same for all successors by one kind of action."""
    buffer = expansion.buffer[0]
    shared = buffer["shared"]
    buffer["rows"][0] = features.left_row(patch)
    subtract_features(shared, buffer["left"], buffer["rows"], int(patch < NUM_PATCHES), weights)
    add_game(shared, shared, expansion.successor, 0, weights, buffer)
    quilt = expansion.quilts.quilts[_remember(expansion.successor, 0, other, weights, expansion)]
    count = _add_known_quilt(
        shared, shared, expansion.successor, other, role_of_other, quilt, weights, buffer
    )
    add_features(shared, shared, buffer["rows"], count, weights)
    buffer["missing_of_other"][0] = quilt["missing"][0]


@kernel(inline=True)
def _evaluate_successor(
    states: States, i: int, player: int, role: int, weights: Record, expansion: Expansion
) -> float:
    """Return the probability to win of the player to move in the successor; write all ``outputs``."""
    buffer, successor = expansion.buffer[0], expansion.successor
    words = successor[0]["quilt"][player]
    place = place_of(expansion.quilts, words[0], words[1])
    quilt = expansion.quilts.quilts[place]
    if not knows(expansion.quilts, place, words[0], words[1]):
        _sum_changes(states, i, player, quilt["sum"], weights, expansion)
    hidden = buffer["hidden"]
    count = _add_known_quilt(hidden, buffer["shared"], successor, player, role, quilt, weights, buffer)
    missing, other = signed(quilt["missing"][0]), signed(buffer["missing_of_other"][0])
    own, others = (missing, other) if role == 0 else (other, missing)
    count += features.list_known_square_rows(successor, 0, own, others, buffer["rows"][count:])
    add_features(hidden, hidden, buffer["rows"], count, weights)
    _, win = values_of(weights, buffer)
    return win


@kernel(inline=True)
def _sum_changes(
    states: States, i: int, player: int, out: Rows, weights: Record, expansion: Expansion
) -> None:
    """Write the sum of the pattern rows of the acting player's quilt in the successor to ``out``."""
    buffer = expansion.buffer[0]
    if not buffer["has_windows"][0]:
        before = states[i]["quilt"][player]
        features.write_bands(before[0], before[1], buffer["own_bands"])
        features.list_rows(buffer["own_bands"], buffer["own_windows"])
        buffer["has_windows"][0] = 1
    after = expansion.successor[0]["quilt"][player]
    old, new = buffer["old"], buffer["new"]
    features.write_bands(after[0], after[1], buffer["bands"])
    changes = features.list_changes(buffer["own_bands"], buffer["bands"], buffer["own_windows"], old, new)
    subtract_patterns(out, buffer["own_quilt"], old, changes, weights)
    add_patterns(out, out, new, changes, weights)


@kernel(inline=True)
def _add_known_quilt(
    out: Rows,
    base: Rows,
    successor: States,
    player: int,
    role: int,
    quilt: Record,
    weights: Record,
    buffer: Record,
) -> int:
    """Write ``base``, a part of the first layer, plus a quilt's product to ``out``.

    Also list the rows of the fits of the next patches on the quilt, and return their number.
    """
    if not quilt["has_product"][role]:
        quilt["has_product"][role] = 1
        write_product(quilt["products"][role], quilt["sum"], role, weights, buffer)
    rows, fits, words = buffer["rows"], quilt["fits"], successor[0]["quilt"][player]
    add_product(out, base, quilt["products"], role)
    count = features.num_ahead(successor, 0)
    for k in range(count):
        patch = signed(successor[0]["circle"][k])
        if fits[patch] == UNKNOWN:
            fits[patch] = features.fit_class(words[0], words[1], patch)
        rows[k] = features.fit_row(role, patch, signed(fits[patch]))
    return count


# --- choosing ---------------------------------------------------------------------------------------------


class Payoffs(NamedTuple):
    """The weights of winning and of points in a player's utility."""

    outcome: float  # the utility of a win; a loss has the negative of it
    margin: float  # the utility of a point of the player
    rival_weight: float = 1.0
    """The loss of utility per point of the other player, in units of ``margin``: 1 if only the difference of
    the scores counts, below 0 if points of the other player are good, too."""


TO_WIN = Payoffs(1.0, 1 / 300)
"""To win; the margin matters if the outcome is nearly certain."""
TO_WIN_RICHLY = Payoffs(1.0, 1 / 90, -1.0)
"""To win with many points for both players; a win instead of a loss counts as much as 180 points."""
FOR_MARGIN = Payoffs(0.0, 1 / 40)
"""To maximize the difference of the scores alone."""
FOR_SCORE = Payoffs(0.0, 1 / 40, 0.1)
"""To maximize the player's own points; each counts ten times as much as one less for the other player."""


@kernel(inline=True)
def utility(payoffs: Payoffs, own: float, other: float, win: float) -> float:
    """Return the utility of the expected scores of both players and of a probability to win."""
    return payoffs.outcome * (2 * win - 1) + payoffs.margin * (own - payoffs.rival_weight * other)


@kernel(inline=True)
def margin_of(expansion: Expansion, k: int) -> float:
    """Return the expected score difference after the ``k``-th action, for the player who acts."""
    return float(expansion.owns[k] - expansion.others[k])


@kernel(inline=True)
def action_utility(payoffs: Payoffs, expansion: Expansion, k: int) -> float:
    """Return the utility of the ``k``-th action for the player who acts."""
    return utility(payoffs, expansion.owns[k], expansion.others[k], expansion.wins[k])


@kernel
def best_action(expansion: Expansion, count: int, payoffs: Payoffs) -> int:
    """Return the index of the first action with the highest utility among ``count``."""
    best, most = 0, -math.inf
    for k in range(count):
        value = action_utility(payoffs, expansion, k)
        if value > most:
            best, most = k, value
    return best


@kernel(allocates=True)
def draw_action(
    expansion: Expansion,
    count: int,
    payoffs: Payoffs,
    temperature: float,
    streams: npt.NDArray[np.uint64],
    i: int,
) -> int:
    """Draw the index of an action; probabilities are proportional to ``exp(utility / temperature)``."""
    utilities = np.empty(count)
    for k in range(count):
        utilities[k] = action_utility(payoffs, expansion, k)
    return int(draw_by_softmax(utilities, temperature, streams, i))
