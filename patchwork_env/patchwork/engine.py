"""The rules of Patchwork, compiled: ``deal``, ``legal``, ``is_legal``, ``apply``, ``score``.

Kernels take ``(states, i)``, an array of records and an index, and change record ``i`` in place. They trust
their arguments; :class:`~patchwork_env.patchwork.game.Game` and the environments check them.

Legal placements are found in bulk. All anchors (top-left corners) of one oriented patch are the AND over its
cells of ``empty >> (9 * row + column)``. Anchors in rows 0-1 come from word 0 of the quilt and anchors in
rows 2-8 from word 1; see :mod:`~patchwork_env.patchwork.state` for the two words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, nth_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import and_shifted, copy_record, unpack_bits
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.core.random import Streams, random_below
from patchwork_env.patchwork import tables
from patchwork_env.patchwork.actions import ADVANCE, FIRST_BUY, FIRST_SPECIAL, NUM_ACTIONS
from patchwork_env.patchwork.components import (
    BONUS_POINTS,
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    NUM_PATCHES,
    NUM_PLAYERS,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
    START_BUTTONS,
    START_PATCH,
)
from patchwork_env.patchwork.state import NOBODY, States

NUM_MAPS = NUM_OFFERED * NUM_ORIENTATIONS + 1
"""The number of maps of anchors in a legal set: one per slot and orientation, and one for special patches."""
SPECIAL_MAP = NUM_MAPS - 1
MAX_LEGAL_ACTIONS = 1345
"""The highest number of legal actions in any state."""
MAX_TURNS = 2 * LAST_SPACE + 5
"""An upper bound on the turns of a game: all but the 5 with special patches move one of the two tokens."""

RANDOM_FIRST_PLAYER, GIVEN_CIRCLE = 1, 2
"""The bits of ``flags``: draw the first player; keep the circle of the set-up."""

FIRST_LOWER = tables.SECOND_WORD_ROW * QUILT_SIZE
"""The first anchor in the second word of a map."""
_U = np.uint64
_U1 = _U(1)
_SPLIT = _U(FIRST_LOWER)  # bits of rows 0-1
_FIRST_ROWS = _U((1 << (FIRST_LOWER)) - 1)
_LAST_ROWS = _U(tables.WORD_ROWS * QUILT_SIZE - FIRST_LOWER)  # where rows 7-8 start in word 1

LegalSet = npt.NDArray[np.uint64]
"""Shape ``(2, NUM_MAPS)``, two words per map: the anchors in rows 0-1 (18 bits) and in rows 2-8 (63 bits)."""


# --- set-up -----------------------------------------------------------------------------------------------


@kernel
def new(states: States, i: int, variant: int, first_player: int) -> None:
    """Set up a game with the patches in the order of their indices, the 1x2 patch last."""
    state = states[i]
    state["variant"] = variant
    state["current_player"] = first_player
    state["pending_special"] = 0
    state["bonus_owner"] = NOBODY
    state["first_finisher"] = NOBODY
    state["num_patches"] = NUM_PATCHES
    for player in range(2):
        state["quilt"][player, 0] = _U(0)
        state["quilt"][player, 1] = _U(0)
        state["buttons"][player] = START_BUTTONS
        state["position"][player] = 0
        state["income"][player] = 0
    for k in range(NUM_PATCHES - 1):
        state["circle"][k] = k + (k >= START_PATCH)
    state["circle"][NUM_PATCHES - 1] = START_PATCH


@kernel
def shuffle(states: States, i: int, streams: Streams) -> None:
    """Bring the circle of a new game into a uniformly random order; the 1x2 patch stays last."""
    circle = states[i]["circle"]
    for k in range(NUM_PATCHES - 2, 0, -1):
        other = random_below(streams, i, k + 1)
        circle[k], circle[other] = circle[other], circle[k]


@kernel
def deal(states: States, i: int, streams: Streams, initial_state: States, flags: int) -> None:
    """Begin a game; a given circle uses as many random numbers as a random one."""
    copy_record(states, i, initial_state, 0)
    if flags & RANDOM_FIRST_PLAYER:
        states[i]["current_player"] = random_below(streams, i, NUM_PLAYERS)
    shuffle(states, i, streams)
    if flags & GIVEN_CIRCLE:
        for k in range(NUM_PATCHES):
            states[i]["circle"][k] = initial_state[0]["circle"][k]


# --- legal actions ----------------------------------------------------------------------------------------


@kernel
def is_over(states: States, i: int) -> bool:
    """Whether both tokens are on the last space and no special patch is left to place."""
    position = states[i]["position"]
    return bool(position[0] == LAST_SPACE and position[1] == LAST_SPACE and states[i]["pending_special"] == 0)


@kernel
def legal(states: States, i: int, legal_set: LegalSet) -> int:
    """Write the legal placements of the current player and return the number of legal actions.

    Advancing is legal exactly if the game is not over and no special patch is pending.
    """
    state = states[i]
    _clear(legal_set, SPECIAL_MAP, NUM_MAPS)
    if is_over(states, i):
        _clear(legal_set, 0, SPECIAL_MAP)
        return 0
    player = state["current_player"]
    empty_0 = state["quilt"][player, 0] ^ tables.FULL_WORD
    empty_1 = state["quilt"][player, 1] ^ tables.FULL_WORD
    if state["pending_special"]:
        _clear(legal_set, 0, SPECIAL_MAP)
        legal_set[0, SPECIAL_MAP] = empty_0 & _FIRST_ROWS
        legal_set[1, SPECIAL_MAP] = empty_1
        return popcount(empty_0 & _FIRST_ROWS) + popcount(empty_1)
    count = 1
    for slot in range(NUM_OFFERED):
        patch, first = int(state["circle"][slot]), slot * NUM_ORIENTATIONS
        if slot >= state["num_patches"] or tables.PRICES[patch] > state["buttons"][player]:
            _clear(legal_set, first, first + NUM_ORIENTATIONS)
        else:
            count += _place(legal_set[0], first, empty_0, patch, 0)
            count += _place(legal_set[1], first, empty_1, patch, 1)
    return count


@kernel(inline=True)
def _clear(legal_set: LegalSet, first: int, end: int) -> None:
    """Remove all placements of the maps ``first ... end - 1``."""
    for k in range(first, end):
        legal_set[0, k] = legal_set[1, k] = _U(0)


@kernel(inline=True)
def _place(anchors: LegalSet | None, first: int, empty: np.uint64, patch: int, word: int) -> int:
    """Write one word of all maps of a patch, from map ``first`` on; return the number of anchors."""
    return and_shifted(anchors, first, empty, tables.FITS[patch, word], tables.SHIFTS[patch])


@kernel(inline=True)
def count_placements(covered_0: np.uint64, covered_1: np.uint64, patch: int) -> int:
    """Return the number of distinct placements of a patch on a quilt, given as its two words."""
    return _place(None, 0, covered_0 ^ tables.FULL_WORD, patch, 0) + _place(
        None, 0, covered_1 ^ tables.FULL_WORD, patch, 1
    )


@kernel
def is_legal(states: States, i: int, action: int) -> bool:
    """Whether the current player may play ``action``, any integer."""
    state = states[i]
    if action < 0 or action >= NUM_ACTIONS or is_over(states, i):
        return False
    player = state["current_player"]
    if state["pending_special"] or action >= FIRST_SPECIAL:
        cell = action - FIRST_SPECIAL
        return state["pending_special"] == 1 and cell >= 0 and not _overlaps(states, i, player, _U1, cell)
    if action == ADVANCE:
        return True
    slot = (action - FIRST_BUY) // (NUM_ORIENTATIONS * NUM_CELLS)
    orientation = (action - FIRST_BUY) // NUM_CELLS % NUM_ORIENTATIONS
    anchor = (action - FIRST_BUY) % NUM_CELLS
    if slot >= state["num_patches"]:
        return False
    patch = state["circle"][slot]
    if tables.PRICES[patch] > state["buttons"][player] or not _fits(patch, orientation, anchor):
        return False
    return not _overlaps(states, i, player, tables.FOOTPRINTS[patch, orientation], anchor)


@kernel
def _fits(patch: int, orientation: int, anchor: int) -> bool:
    if anchor < FIRST_LOWER:
        return bool((tables.FITS[patch, 0, orientation] >> _U(anchor)) & _U1 != 0)
    return bool((tables.FITS[patch, 1, orientation] >> _U(anchor - FIRST_LOWER)) & _U1 != 0)


@kernel
def placed_words(footprint: np.uint64, anchor: int) -> tuple[np.uint64, np.uint64]:
    """Return the two quilt words that a footprint covers when its bounding box starts at cell ``anchor``."""
    if anchor < FIRST_LOWER:
        word_0 = footprint << _U(anchor)
        return word_0, word_0 >> _SPLIT
    word_1 = footprint << _U(anchor - FIRST_LOWER)
    return (word_1 << _SPLIT) & tables.FULL_WORD, word_1


@kernel
def _overlaps(states: States, i: int, player: int, footprint: np.uint64, anchor: int) -> bool:
    word_0, word_1 = placed_words(footprint, anchor)
    quilt = states[i]["quilt"]
    return bool((quilt[player, 0] & word_0) != 0 or (quilt[player, 1] & word_1) != 0)


@kernel
def nth_legal(legal_set: LegalSet, n: int) -> int:
    """Return the ``n``-th legal action in ascending order, of the set of a state that is not over."""
    if legal_set[0, SPECIAL_MAP] == 0 and legal_set[1, SPECIAL_MAP] == 0:
        if n == 0:
            return ADVANCE
        n -= 1
    for k in range(NUM_MAPS):
        upper = popcount(legal_set[0, k])
        if n < upper:
            return FIRST_BUY + k * NUM_CELLS + nth_bit(legal_set[0, k], n)
        n -= upper
        lower = popcount(legal_set[1, k])
        if n < lower:
            return FIRST_BUY + k * NUM_CELLS + FIRST_LOWER + nth_bit(legal_set[1, k], n)
        n -= lower
    return -1


@kernel
def write_actions(legal_set: LegalSet, actions: npt.NDArray[np.int16]) -> int:
    """List the legal actions of a state that is not over, ascending, and return their number."""
    count = 0
    if legal_set[0, SPECIAL_MAP] == 0 and legal_set[1, SPECIAL_MAP] == 0:
        actions[0] = ADVANCE
        count = 1
    for k in range(NUM_MAPS):
        for word in range(2):
            bits = legal_set[word, k]
            first = FIRST_BUY + k * NUM_CELLS + word * FIRST_LOWER
            while bits:
                actions[count] = first + lowest_bit(bits)
                count += 1
                bits &= bits - _U1
    return count


@kernel
def allows(legal_set: LegalSet, action: int) -> bool:
    """Whether the legal set of a game that is not over has an action, any integer."""
    if action <= ADVANCE or action >= NUM_ACTIONS:
        return action == ADVANCE and legal_set[0, SPECIAL_MAP] == 0 and legal_set[1, SPECIAL_MAP] == 0
    k, anchor = (action - FIRST_BUY) // NUM_CELLS, (action - FIRST_BUY) % NUM_CELLS
    if anchor < FIRST_LOWER:
        return bool((legal_set[0, k] >> _U(anchor)) & _U1 != 0)
    return bool((legal_set[1, k] >> _U(anchor - FIRST_LOWER)) & _U1 != 0)


@kernel
def update_mask(
    states: States,
    i: int,
    legal_set: LegalSet,
    count: int,
    mask: npt.NDArray[np.int8],
    used: npt.NDArray[np.uint64],
) -> None:
    """Write the maps that hold anchors, or held them: 81 bits as two overlapping runs of 64."""
    overlap = _U(NUM_CELLS - 64)
    mask[ADVANCE] = count > 0 and not states[i]["pending_special"]
    holding = _U(0)
    number = legal_set.shape[1]  # not a constant: the loop would be unrolled before it became vectors
    for k in range(number):
        holding |= _U((legal_set[0, k] | legal_set[1, k]) != 0) << _U(k)
    written = used[0] | holding
    used[0] = holding
    while written:
        k = lowest_bit(written)
        written &= written - _U1
        first = FIRST_BUY + k * NUM_CELLS
        upper, lower = legal_set[0, k], legal_set[1, k]
        unpack_bits(mask, first, upper | (lower << _SPLIT))
        unpack_bits(mask, first + NUM_CELLS - 64, (upper >> overlap) | (lower << (_SPLIT - overlap)))


# --- playing ----------------------------------------------------------------------------------------------


@kernel
def apply(states: States, i: int, action: int) -> None:
    """Play a legal action of the current player."""
    state = states[i]
    player = state["current_player"]
    if state["pending_special"]:
        state["pending_special"] = 0
        _cover(states, i, player, _U1, action - FIRST_SPECIAL)
    elif action == ADVANCE:
        old = state["position"][player]
        _move_token(states, i, player, state["position"][1 - player] + 1)
        state["buttons"][player] += state["position"][player] - old
        _trigger_marks(states, i, player, old)
    else:
        _buy(states, i, player, action - FIRST_BUY)
    if not state["pending_special"] and state["position"][player] > state["position"][1 - player]:
        state["current_player"] = 1 - player


@kernel
def _buy(states: States, i: int, player: int, placement: int) -> None:
    state = states[i]
    slot = placement // (NUM_ORIENTATIONS * NUM_CELLS)
    orientation = placement // NUM_CELLS % NUM_ORIENTATIONS
    patch = state["circle"][slot]
    state["buttons"][player] -= tables.PRICES[patch]
    state["income"][player] += tables.INCOMES[patch]
    _take_from_circle(states, i, slot)
    _cover(states, i, player, tables.FOOTPRINTS[patch, orientation], placement % NUM_CELLS)
    old = state["position"][player]
    _move_token(states, i, player, old + tables.TIMES[patch])
    _trigger_marks(states, i, player, old)


@kernel
def _take_from_circle(states: States, i: int, slot: int) -> None:
    """Remove a patch and rotate the circle so that it starts at the gap, the neutral token's new place."""
    state = states[i]
    circle = state["circle"]
    last = state["num_patches"] - 1
    first, second = circle[0], circle[1]
    for k in range(last - slot):
        circle[k] = circle[k + slot + 1]
    if slot >= 1:
        circle[last - slot] = first
    if slot == 2:
        circle[last - 1] = second
    circle[last] = 0
    state["num_patches"] = last


@kernel
def _cover(states: States, i: int, player: int, footprint: np.uint64, anchor: int) -> None:
    """Cover cells of a quilt; the player gets the bonus tile for completing the first square."""
    state = states[i]
    word_0, word_1 = placed_words(footprint, anchor)
    quilt = state["quilt"]
    quilt[player, 0] |= word_0
    quilt[player, 1] |= word_1
    if state["bonus_owner"] == NOBODY and has_square(states, i, player):
        state["bonus_owner"] = player


@kernel
def has_square(states: States, i: int, player: int) -> bool:
    """Whether a 7x7 square of the player's quilt is covered completely."""
    covered_0, covered_1 = states[i]["quilt"][player, 0], states[i]["quilt"][player, 1]
    for k in range(len(tables.SQUARES)):
        square_0, square_1 = tables.SQUARES[k, 0], tables.SQUARES[k, 1]
        if covered_0 & square_0 == square_0 and covered_1 & square_1 == square_1:
            return True
    return False


@kernel
def _move_token(states: States, i: int, player: int, space: int) -> None:
    state = states[i]
    space = min(space, LAST_SPACE)
    state["position"][player] = space
    if space == LAST_SPACE and state["first_finisher"] == NOBODY:
        state["first_finisher"] = player


@kernel
def _trigger_marks(states: States, i: int, player: int, old: int) -> None:
    """Give the income and the special patch of the marks passed since the space ``old``."""
    state = states[i]
    variant, space = state["variant"], state["position"][player]
    incomes = tables.INCOMES_UP_TO[space] - tables.INCOMES_UP_TO[old]
    state["buttons"][player] += incomes * state["income"][player]
    furthest = max(old, state["position"][1 - player])
    if tables.SPECIALS_UP_TO[variant, space] > tables.SPECIALS_UP_TO[variant, furthest]:
        state["pending_special"] = empty_cells(states, i, player) > 0


# --- counting up ------------------------------------------------------------------------------------------


@kernel
def empty_cells(states: States, i: int, player: int) -> int:
    """Return the number of empty cells of a quilt, 0-81."""
    quilt = states[i]["quilt"]
    return NUM_CELLS - popcount(quilt[player, 0]) - popcount(quilt[player, 1] >> _LAST_ROWS)


@kernel
def score(states: States, i: int, player: int) -> int:
    """Return the buttons, plus 7 for the bonus tile, minus 2 per empty cell; at any time of the game."""
    bonus = BONUS_POINTS * int(states[i]["bonus_owner"] == player)
    penalty = PENALTY_PER_EMPTY_CELL * empty_cells(states, i, player)
    return int(states[i]["buttons"][player]) + bonus - penalty


@kernel
def winner(states: States, i: int) -> int:
    """Return the winner of a game that is over: the higher score, then the first to reach the end."""
    score_0, score_1 = score(states, i, 0), score(states, i, 1)
    if score_0 == score_1:
        return int(states[i]["first_finisher"])
    return int(score_1 > score_0)


@kernel
def outcome(states: States, i: int, player: int) -> float:
    """Return 1 for the winner of a game that is over, -1 for the other player."""
    return 1.0 if winner(states, i) == player else -1.0
