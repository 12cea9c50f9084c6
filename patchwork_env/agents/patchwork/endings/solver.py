"""Exact values of endings: alpha-beta with a table of positions and bounds of the points still to gain.

A value is four times the difference of the scores, plus one if the player was first at the end, else minus
one. So a greater margin always has a greater value, and the sign of the value tells who wins. Values are from
the view of the player to move. A player may move several times in a row; the sign changes only when the
player changes.

The winner is proved in several attempts, for one player after the other. The *prover* considers only the most
promising placements of each patch. In every position, a win against the loose quilt of the opponent
(:mod:`~patchwork_env.agents.patchwork.endings.loose`) is tried first and is a proof, too. A proof is valid
although moves were left out. Only if all attempts fail, the whole ending is searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.endings.loose import MOST_EMPTY, list_loose_choices, loosen
from patchwork_env.agents.patchwork.endings.loose import play as play_loosely
from patchwork_env.agents.patchwork.endings.moves import (
    MOST_PLACEMENTS,
    PROSPECTS,
    ChoiceBuffers,
    Prospects,
    list_choices,
    most_gain,
    new_choice_buffers,
    write_prospects,
)
from patchwork_env.agents.patchwork.placements import NO_ACTION
from patchwork_env.agents.patchwork.value.features import signed
from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.patchwork.components import LAST_SPACE, NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS, empty_cells, is_over, score
from patchwork_env.patchwork.state import NOBODY, States, empty_states

_U = np.uint64
_POINT = 4  # a point of the margin in units of a value
_MOST_SPACES = 24  # the maximum number of spaces that both players together have left in an ending
_MOST_PLIES = 64  # the maximum number of turns of an ending; all are shorter
_TABLE_SIZE = 1 << 16  # a power of two
UNBOUNDED = 20_000  # a bound above all values
_WIDTHS = (1, 4)  # the number of placements of each patch that the prover considers, by attempt
_SHARES = (4, 2)  # the remaining budget, divided by this, is the budget of an attempt
_GOLDEN = _U(0x9E3779B97F4A7C15)
KEY_WORDS = 7
_NUMBER_WORD = 4  # the word of a key that holds the number of the ending
_MOST_NUMBERS = (1 << 16) - 1
ENTRY = np.dtype(
    [
        ("key", "<u8", KEY_WORDS),
        ("lower", "<i2"),  # bounds of the gain of the player to move
        ("upper", "<i2"),
        ("action", "<i2"),  # best known
        ("unused", "<i2"),
    ]
)


class Solver(NamedTuple):
    """The memory of the solver for one ending at a time; each thread needs its own."""

    states: States  # the positions of the line being searched
    keys: npt.NDArray[np.uint64]  # their keys, (_MOST_PLIES, KEY_WORDS)
    actions: npt.NDArray[np.int64]  # their moves, (_MOST_PLIES, MAX_LEGAL_ACTIONS)
    estimates: npt.NDArray[np.float64]  # the estimated gains of the moves of one position
    prospects: Prospects  # of both players
    buffers: ChoiceBuffers
    table: npt.NDArray[np.void]  # (_TABLE_SIZE,), ENTRY records of positions that have been searched
    budget: npt.NDArray[np.int64]  # (1,), the maximum number of quilts to evaluate
    game: npt.NDArray[np.int64]  # (1,), the number of the ending; entries with other numbers are not used


def new_solver() -> Solver:
    """Return the memory of :func:`solve`, about 6 MB."""
    return Solver(
        empty_states(_MOST_PLIES),
        np.zeros((_MOST_PLIES, KEY_WORDS), np.uint64),
        np.zeros((_MOST_PLIES, MAX_LEGAL_ACTIONS), np.int64),
        np.zeros(MAX_LEGAL_ACTIONS),
        np.zeros(NUM_PLAYERS, PROSPECTS),
        new_choice_buffers(),
        np.zeros(_TABLE_SIZE, ENTRY),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def is_ending(states: States, i: int) -> bool:
    """Whether a position has few enough spaces left for the solver."""
    position = states[i]["position"]
    return bool(2 * LAST_SPACE - signed(position[0]) - signed(position[1]) <= _MOST_SPACES)


@kernel
def solve(states: States, i: int, budget: int, solver: Solver, only_outcome: bool) -> tuple[bool, int, int]:
    """Return whether an ending, which is not over, was solved within a budget; its value; and a best action.

    The budget is the number of quilts to evaluate, about a third of a microsecond each; the last position may
    exceed it. The value is for the player to move, who wins if it is above 0; :func:`margin_of` gives the
    margin. Both players maximize the margin, and among equal margins prefer to be first at the end. With
    ``only_outcome``, which is quicker, only the sign of the value is exact, and the action is a winning one
    or ``NO_ACTION``.
    """
    solver.budget[0], solver.buffers.evaluations[0] = budget, 0
    if only_outcome:
        value, action = prove(solver, states, i, 1)
    else:
        _start(solver, states, i)
        value, action = _mtdf(solver, _value_now(states, i) | 1)
    if not _can_go_on(solver):
        return False, 0, NO_ACTION
    return True, value, action


@kernel
def margin_of(value: int) -> int:
    """Return the difference of the scores of a value."""
    return (value + 1) // _POINT


@kernel
def _start(solver: Solver, states: States, i: int) -> None:
    """Begin an ending or another attempt, which does not use table entries of earlier ones."""
    copy_record(solver.states, 0, states, i)
    solver.game[0] += 1
    if solver.game[0] > _MOST_NUMBERS:
        for place in range(len(solver.table)):
            solver.table[place]["key"][_NUMBER_WORD] = 0
        solver.game[0] = 1


@kernel
def _can_go_on(solver: Solver) -> bool:
    return bool(solver.buffers.evaluations[0] <= solver.budget[0])


@kernel
def _mtdf(solver: Solver, guess: int) -> tuple[int, int]:
    """Return the value of the first position and its action by MTD(f): searches with minimal windows.

    Plaat et al., "Best-first fixed-depth minimax algorithms" (1996). All values and limits are odd.
    """
    lower, upper, best = -UNBOUNDED, UNBOUNDED, NO_ACTION
    while lower < upper and _can_go_on(solver):
        limit = max(guess, lower + 2)
        guess, action = _search(solver, 0, limit - 2, limit, NOBODY, 0, NOBODY)
        if guess >= limit:
            lower, best = guess, action
        else:
            upper = guess
    return guess, best


@kernel
def prove(solver: Solver, states: States, i: int, limit: int) -> tuple[int, int]:
    """Return a bound of the value: a lower one if it is at least ``limit``, else an upper one; both are odd.

    Also return an action that reaches the limit, or ``NO_ACTION`` if there is none.
    """
    budget, mover = solver.budget[0], signed(states[i]["current_player"])
    most_empty = max(empty_cells(states, i, 0), empty_cells(states, i, 1))
    for k in range(len(_WIDTHS) if most_empty <= MOST_EMPTY else 0):
        for prover in (mover, 1 - mover):
            _start(solver, states, i)
            seen = solver.buffers.evaluations[0]
            solver.budget[0] = seen + max(budget - seen, 0) // _SHARES[k]
            value, action = _search(solver, 0, limit - 2, limit, prover, _WIDTHS[k], NOBODY)
            is_proof = _can_go_on(solver) and (value >= limit) == (prover == mover)
            solver.budget[0] = budget
            if is_proof:
                return value, action if value >= limit else NO_ACTION
    _start(solver, states, i)
    value, action = _search(solver, 0, limit - 2, limit, NOBODY, 0, NOBODY)
    return value, action if value >= limit else NO_ACTION


@kernel
def _search(
    solver: Solver, ply: int, alpha: int, beta: int, prover: int, width: int, loose: int
) -> tuple[int, int]:
    """Return the value of a position of the line, and its best action; both are undefined beyond the budget.

    The value is exact between ``alpha`` and ``beta``, else a bound. The ``prover``, or ``NOBODY``, considers
    only ``width`` placements of each patch; then only bounds in favor of the prover are valid. ``loose`` is
    the player with a loose quilt, or ``NOBODY``.
    """
    states, actions, mover = solver.states, solver.actions[ply], signed(solver.states[ply]["current_player"])
    now = _value_now(states, ply)
    if is_over(states, ply):
        return now, NO_ACTION
    lower, upper, known = _read_bounds(solver, ply, now, loose)
    if ply > 0 and (lower >= beta or lower == upper):
        return lower, NO_ACTION
    if ply > 0 and upper <= alpha:
        return upper, NO_ACTION
    if prover != NOBODY and loose == NOBODY:
        more = _loosen_next(solver, ply, 1 - prover)
        bound, action = _search(solver, ply + 1, alpha - more, beta - more, prover, width, 1 - prover)
        bound += more
        if mover == prover and bound >= beta and (ply > 0 or action != NO_ACTION):
            _enter(solver, solver.keys[ply], bound - now, upper - now, action)
            return bound, action
        if mover != prover and bound <= alpha:
            _enter(solver, solver.keys[ply], lower - now, bound - now, NO_ACTION)
            return bound, NO_ACTION
    count = _list_choices(solver, ply, width if mover == prover else MOST_PLACEMENTS, loose)
    _bring_forward(actions, count, known)
    best, action, k = -UNBOUNDED, NO_ACTION, 0
    while k < count and best < beta and _can_go_on(solver):
        copy_record(states, ply + 1, states, ply)
        play_loosely(states, ply + 1, actions[k], loose)
        floor = max(alpha, best)
        if states[ply + 1]["current_player"] == mover:
            value, _ = _search(solver, ply + 1, floor, beta, prover, width, loose)
        else:
            value, _ = _search(solver, ply + 1, -beta, -floor, prover, width, loose)
            value = -value
        if value > best:
            best, action = value, actions[k]
        k += 1
    lower = max(lower, best) if best > alpha else lower
    upper = min(upper, best) if best < beta else upper
    _enter(solver, solver.keys[ply], lower - now, upper - now, action)
    return best, action


@kernel
def _loosen_next(solver: Solver, ply: int, player: int) -> int:
    """Write the position with a loose quilt of a player as the next one of the line.

    Return the number to add to its value. The prospects of the present position must have been written.
    """
    states = solver.states
    copy_record(states, ply + 1, states, ply)
    points = loosen(states, ply + 1, player, solver.prospects[player])
    return _POINT * (points if states[ply]["current_player"] != player else -points)


@kernel
def _list_choices(solver: Solver, ply: int, width: int, loose: int) -> int:
    buffers, actions = solver.buffers, solver.actions[ply]
    if solver.states[ply]["current_player"] == loose:
        return list_loose_choices(solver.states, ply, buffers, actions, solver.estimates)
    return list_choices(solver.states, ply, buffers, actions, solver.estimates, width)


@kernel
def _read_bounds(solver: Solver, ply: int, now: int, loose: int) -> tuple[int, int, int]:
    """Return bounds of the value, from the table and the prospects, and the best known action."""
    states, key = solver.states, solver.keys[ply]
    solver.buffers.evaluations[0] += NUM_PLAYERS
    for player in range(NUM_PLAYERS):
        write_prospects(states, ply, player, player == loose, solver.prospects, player)
    write_key(states, ply, solver.prospects, loose, solver.game[0], key)
    lower, upper = _bounds(states, ply, solver.prospects, now)
    entry = solver.table[_place_of(key)]
    for k in range(KEY_WORDS):  # the whole key, so that hash collisions are harmless
        if entry["key"][k] != key[k]:
            return lower, upper, NO_ACTION
    return max(lower, now + entry["lower"]), min(upper, now + entry["upper"]), int(entry["action"])


@kernel
def _enter(solver: Solver, key: npt.NDArray[np.uint64], lower: int, upper: int, action: int) -> None:
    entry = solver.table[_place_of(key)]
    for k in range(KEY_WORDS):
        entry["key"][k] = key[k]
    entry["lower"], entry["upper"], entry["action"] = lower, upper, action


@kernel
def _value_now(states: States, i: int) -> int:
    """Return the value of the present scores for the player to move, even if no player is at the end."""
    player = signed(states[i]["current_player"])
    finisher = states[i]["first_finisher"]
    first = 0 if finisher == NOBODY else (1 if finisher == player else -1)
    return int(_POINT * (score(states, i, player) - score(states, i, 1 - player)) + first)


@kernel
def _bounds(states: States, i: int, prospects: Prospects, now: int) -> tuple[int, int]:
    """Return bounds of the value, from the lowest gain that each player can enforce and the highest."""
    player = states[i]["current_player"]
    own, other = prospects[player], prospects[1 - player]
    open_end = 1 if states[i]["first_finisher"] == NOBODY else 0
    most = most_gain(states, i, player, own)
    most_of_other = most_gain(states, i, 1 - player, other)
    lower = now + _POINT * (own["least"] - most_of_other) - open_end
    upper = now + _POINT * (most - other["least"]) + open_end
    return lower, upper


@kernel
def _bring_forward(actions: npt.NDArray[np.int64], count: int, action: int) -> None:
    """Move an action to the front of the list, if it is there."""
    for k in range(count):
        if actions[k] == action:
            for back in range(k, 0, -1):
                actions[back] = actions[back - 1]
            actions[0] = action
            return


@kernel
def write_key(
    states: States,
    i: int,
    prospects: Prospects,
    loose: int,
    number: int,
    key: npt.NDArray[np.uint64],
) -> None:
    """Write the key of a position, from the prospects of both players.

    It has what matters for the rest of the game. Of a quilt these are the live cells and the number of dead
    cells that special patches may cover, or all empty cells if the player may still complete a 7x7 square.
    Buttons count up to the sum that can still be spent. From positions with equal keys, players gain the same
    points, whatever their scores are. The patches left in the circle and the next one give their order.
    Endings differ by ``number``, and positions with a loose quilt by ``loose``.
    """
    facts = _U(0)
    for player in range(2):
        quilt, own = 2 * player, prospects[player]
        whole = own["squares"] != 0
        key[quilt] = own["empty"][0] if whole else own["live"][0]
        key[quilt + 1] = own["empty"][1] if whole else own["live"][1]
        coverable_dead = 0 if whole else min(own["num_dead"], own["specials"])
        buttons = min(np.int64(states[i]["buttons"][player]), own["spending"])
        facts = (facts << _U(24)) | (_U(whole) << _U(23)) | (_U(coverable_dead) << _U(20)) | _U(buttons)
    key[_NUMBER_WORD] = (facts << _U(16)) | _U(number)
    facts = _U(loose)
    for player in range(2):
        position = states[i]["position"][player]
        facts = (facts << _U(6)) | _U(position)
        facts = (facts << _U(8)) | _U(states[i]["income"][player] if position < LAST_SPACE else 0)
    facts = (facts << _U(1)) | _U(states[i]["current_player"])
    facts = (facts << _U(1)) | _U(states[i]["pending_special"])
    facts = (facts << _U(1)) | _U(states[i]["first_finisher"] == NOBODY)
    facts = (facts << _U(6)) | _U(states[i]["circle"][0])
    key[5] = facts
    patches = _U(0)
    for k in range(states[i]["num_patches"]):
        patches |= _U(1) << _U(states[i]["circle"][k])
    key[6] = patches


@kernel
def _place_of(key: npt.NDArray[np.uint64]) -> int:
    word = _U(0)
    for k in range(KEY_WORDS):
        word = (word ^ key[k]) * _GOLDEN
        word ^= word >> _U(29)
    return int(word & _U(_TABLE_SIZE - 1))
