"""Exact values of endings: alpha-beta with a table of positions and bounds of what players may still gain.

Values are four times the margin of the scores, plus one for having reached the end first or minus one for
not: the greater margin always has the greater value, and its sign says who wins. They are seen by the player
to move, whose turn may not end with a move: the sign changes only where the player does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.dynamics import NO_ACTION
from patchwork_env.agents.patchwork.endgame_moves import (
    PROSPECTS,
    ChoiceBuffers,
    Prospects,
    list_choices,
    new_choice_buffers,
    write_prospects,
)
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import LAST_SPACE, NUM_PLAYERS
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS, apply, is_over, score
from patchwork_env.patchwork.state import NOBODY, States, empty_states

_POINT = 4
"""The difference that a point of the margin makes to a value."""
_MOST_PLIES = 64
"""The longest line, in turns; games are shorter."""
_TABLE_SIZE = 1 << 16


FRAME = np.dtype(
    [
        ("now", "<i8"),  # the value if the game ended now
        ("lower", "<i8"),  # bounds of the value that are known
        ("upper", "<i8"),
        ("alpha", "<i8"),  # the window in which the value has to be exact
        ("beta", "<i8"),
        ("best", "<i8"),  # the best value so far
        ("action", "<i8"),  # the action that leads to it
        ("count", "<i8"),  # the number of moves
        ("next", "<i8"),  # the move to look at next
        ("place", "<i8"),  # the place of the position in the table
    ]
)
"""What is known of one position of the line that is searched. Values are those for its player to move."""


class Solver(NamedTuple):
    """The workspace of the solver, for one ending after the other.

    Attributes:
        states: The positions of the line that is searched, ``(_MOST_PLIES,)``.
        frames: :data:`FRAME` records ``(_MOST_PLIES,)``, what is known of these positions.
        keys: uint64 ``(_MOST_PLIES, KEY_WORDS)``, the keys of these positions.
        actions: int64 ``(_MOST_PLIES, MAX_LEGAL_ACTIONS)``, the moves of these positions.
        estimates: float64 ``(MAX_LEGAL_ACTIONS,)``, the estimated gains of moves.
        prospects: The prospects of both players.
        buffers: The buffers in which moves are compared.
        table: The table of positions that are known already.
        budget: int64 ``(1,)``, the number of quilts that may be looked at.
        game: int64 ``(1,)``, the number of the ending, which tells entries of earlier ones apart.
    """

    states: States
    frames: npt.NDArray[np.void]
    keys: npt.NDArray[np.uint64]
    actions: npt.NDArray[np.int64]
    estimates: npt.NDArray[np.float64]
    prospects: Prospects
    buffers: ChoiceBuffers
    table: npt.NDArray[np.void]
    budget: npt.NDArray[np.int64]
    game: npt.NDArray[np.int64]


def new_solver() -> Solver:
    """A workspace for :func:`solve`, about 6 MB; two threads must not use it at once."""
    return Solver(
        empty_states(_MOST_PLIES),
        np.zeros(_MOST_PLIES, FRAME),
        np.zeros((_MOST_PLIES, KEY_WORDS), np.uint64),
        np.zeros((_MOST_PLIES, MAX_LEGAL_ACTIONS), np.int64),
        np.zeros(MAX_LEGAL_ACTIONS),
        np.zeros(NUM_PLAYERS, PROSPECTS),
        new_choice_buffers(),
        new_table(_TABLE_SIZE),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def solve(states: States, i: int, budget: int, solver: Solver, only_outcome: bool) -> tuple[bool, int, int]:
    """The value of an ending, which is not over, and a best action.

    The budget is in quilts to look at, about a microsecond each; the last position may take some more. With
    ``only_outcome`` it only finds out who wins, which is quicker: only the sign of the value is right then,
    and the action is one that leads to a win if there is any.

    Returns:
        Whether it was solved within the budget; the value for the player to move, who wins if it is above 0,
        and whose margin :func:`margin_of` gives; and the action, or ``NO_ACTION``. Both players play for the
        margin first, then for reaching the end first.
    """
    _start(solver, budget)
    solver.states[0] = states[i]
    if only_outcome:
        value = _search(solver, -1, 1)
        action = solver.frames[0]["action"]
    else:
        value, action = _mtdf(solver, _value_now(states, i) | 1)
    if not _can_go_on(solver):
        return False, 0, NO_ACTION
    return True, value, action


@kernel
def _mtdf(solver: Solver, guess: int) -> tuple[int, int]:
    """The value of the first position and its action, by searches with the smallest of windows: MTD(f).

    Plaat et al., "Best-first fixed-depth minimax algorithms" (1996). All values are odd, so are the limits.
    """
    lower, upper, action = -UNBOUNDED, UNBOUNDED, NO_ACTION
    while lower < upper and _can_go_on(solver):
        limit = max(guess, lower + 2)
        guess = _search(solver, limit - 2, limit)
        if guess >= limit:
            lower, action = guess, solver.frames[0]["action"]
        else:
            upper = guess
    return guess, action


@kernel
def margin_of(value: int) -> int:
    """The difference of the scores that a value stands for."""
    return (value + 1) // _POINT


@kernel
def _start(solver: Solver, budget: int) -> None:
    """Sets the budget and starts a new game, for which entries of earlier games do not count."""
    solver.budget[0], solver.buffers.effort[0] = budget, 0
    solver.game[0] += 1
    if solver.game[0] > MOST_NUMBERS:
        forget(solver.table)
        solver.game[0] = 1


@kernel
def _can_go_on(solver: Solver) -> bool:
    """Whether the budget has not been exceeded."""
    return bool(solver.buffers.effort[0] <= solver.budget[0])


@kernel
def _search(solver: Solver, alpha: int, beta: int) -> int:
    """The value of the first position of the line: exact between ``alpha`` and ``beta``, else a bound."""
    ply = 0
    solver.frames[0]["alpha"], solver.frames[0]["beta"] = alpha, beta
    is_known = _open(solver, ply)
    while _can_go_on(solver):
        frame = solver.frames[ply]
        if (
            not is_known
            and frame["next"] < frame["count"]
            and max(frame["alpha"], frame["best"]) < frame["beta"]
        ):
            _step_down(solver, ply)
            ply += 1
            is_known = _open(solver, ply)
            continue
        if not is_known:
            _close(solver, ply)
        if ply == 0:
            return int(solver.frames[0]["best"])
        ply -= 1
        _take_value(solver, ply)
        is_known = False
    return 0


@kernel
def _open(solver: Solver, ply: int) -> bool:
    """Starts on a position whose window is set; returns whether ``best`` is its value already."""
    states, frame = solver.states, solver.frames[ply]
    now = _value_now(states, ply)
    frame["best"] = now
    if is_over(states, ply):
        return True
    solver.buffers.effort[0] += NUM_PLAYERS
    for player in range(NUM_PLAYERS):
        write_prospects(states, ply, player, solver.prospects, player)
    write_key(states, ply, solver.prospects, solver.game[0], solver.keys[ply])
    lower, upper = _bounds(states, ply, solver.prospects, now)
    place = place_of(solver.keys[ply], len(solver.table))
    known = NO_ACTION
    if holds(solver.table, place, solver.keys[ply]):
        lower = max(lower, now + solver.table[place]["lower"])
        upper = min(upper, now + solver.table[place]["upper"])
        known = solver.table[place]["action"]
    if ply > 0 and (lower >= frame["beta"] or lower == upper):
        frame["best"] = lower
        return True
    if ply > 0 and upper <= frame["alpha"]:
        frame["best"] = upper
        return True
    frame["now"], frame["lower"], frame["upper"], frame["place"] = now, lower, upper, place
    frame["best"], frame["next"] = -UNBOUNDED, 0
    frame["count"] = list_choices(states, ply, solver.buffers, solver.actions[ply], solver.estimates)
    _bring_forward(solver.actions[ply], frame["count"], known)
    return False


@kernel
def _step_down(solver: Solver, ply: int) -> None:
    """Plays the next move of a position and sets the window of the position after it."""
    states, frame, following = solver.states, solver.frames[ply], solver.frames[ply + 1]
    states[ply + 1] = states[ply]
    apply(states, ply + 1, solver.actions[ply, frame["next"]])
    floor = max(frame["alpha"], frame["best"])
    if states[ply + 1]["current_player"] == states[ply]["current_player"]:
        following["alpha"], following["beta"] = floor, frame["beta"]
    else:
        following["alpha"], following["beta"] = -frame["beta"], -floor


@kernel
def _take_value(solver: Solver, ply: int) -> None:
    """Brings the value of the position after a move back to the position before it."""
    states, frame = solver.states, solver.frames[ply]
    value = solver.frames[ply + 1]["best"]
    if states[ply + 1]["current_player"] != states[ply]["current_player"]:
        value = -value
    if value > frame["best"]:
        frame["best"], frame["action"] = value, solver.actions[ply, frame["next"]]
    frame["next"] += 1


@kernel
def _close(solver: Solver, ply: int) -> None:
    """Enters the bounds that the moves of a position have shown in the table."""
    frame = solver.frames[ply]
    if frame["best"] > frame["alpha"]:
        frame["lower"] = max(frame["lower"], frame["best"])
    if frame["best"] < frame["beta"]:
        frame["upper"] = min(frame["upper"], frame["best"])
    lower, upper = frame["lower"] - frame["now"], frame["upper"] - frame["now"]
    enter(solver.table, frame["place"], solver.keys[ply], lower, upper, frame["action"])


@kernel
def _value_now(states: States, i: int) -> int:
    """The value of the present scores for the player to move; who reaches the end first may still be open."""
    player = int(np.int64(states[i]["current_player"]))
    finisher = states[i]["first_finisher"]
    first = 0 if finisher == NOBODY else (1 if finisher == player else -1)
    return int(_POINT * (score(states, i, player) - score(states, i, 1 - player)) + first)


@kernel
def _bounds(states: States, i: int, prospects: Prospects, now: int) -> tuple[int, int]:
    """Bounds of the value: a player who only advances gains the least, whatever the other one does."""
    player = states[i]["current_player"]
    own, other = prospects[player], prospects[1 - player]
    open_end = 1 if states[i]["first_finisher"] == NOBODY else 0
    lower = now + _POINT * (own["least"] - other["most"]) - open_end
    upper = now + _POINT * (own["most"] - other["least"]) + open_end
    return lower, upper


@kernel
def _bring_forward(actions: npt.NDArray[np.int64], count: int, action: int) -> None:
    """Moves an action, if it is in the list, to the front."""
    for k in range(count):
        if actions[k] == action:
            for back in range(k, 0, -1):
                actions[back] = actions[back - 1]
            actions[0] = action
            return


# --- the positions that are known already -------------------------------------------------------------------

KEY_WORDS = 7
ENTRY = np.dtype(
    [
        ("key", "<u8", KEY_WORDS),
        ("lower", "<i2"),  # bounds of the gain of the player to move
        ("upper", "<i2"),
        ("action", "<i2"),  # best known
        ("unused", "<i2"),
    ]
)
UNBOUNDED = 20_000
"""A bound beyond all values."""
MOST_NUMBERS = (1 << 16) - 1
"""The highest number of a game."""
_NUMBER_WORD = 4
"""The word of a key that holds the number of the game."""
_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)

Key = npt.NDArray[np.uint64]


def new_table(size: int) -> npt.NDArray[np.void]:
    """An empty table; ``size`` is a power of two."""
    return np.zeros(size, ENTRY)


@kernel
def write_key(states: States, i: int, prospects: Prospects, number: int, key: Key) -> None:
    """Writes the key of a position, uint64 ``(KEY_WORDS,)``, from the prospects of both players.

    It holds what matters for the rest of the game: of a quilt, its live cells, and how many dead ones
    special patches may come to cover; of the buttons, no more than there is to spend them on. From two
    positions that agree in this, players gain the same points, whatever their scores are: each quilt is at
    least as good as the other one, see :mod:`.endgame_moves`. As long as a player may complete a 7x7
    square, all empty cells of the quilt count. The order of the circle is that of the whole game: which
    patches are left, and which of them is next, says how they lie. Entries of other games have another
    ``number``, 1 ... ``MOST_NUMBERS``.
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
    facts = _U(0)
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
def place_of(key: Key, size: int) -> int:
    """The place of a key in a table of ``size`` entries."""
    word = _U(0)
    for k in range(KEY_WORDS):
        word = (word ^ key[k]) * _GOLDEN
        word ^= word >> _U(29)
    return int(word & _U(size - 1))


@kernel
def holds(table: npt.NDArray[np.void], place: int, key: Key) -> bool:
    """Whether the entry at a place is that of a key; keys are compared in full, so a hash cannot err."""
    k = 0
    while k < KEY_WORDS and table[place]["key"][k] == key[k]:
        k += 1
    return k == KEY_WORDS


@kernel
def enter(table: npt.NDArray[np.void], place: int, key: Key, lower: int, upper: int, action: int) -> None:
    """Replaces the entry at a place."""
    for k in range(KEY_WORDS):
        table[place]["key"][k] = key[k]
    table[place]["lower"], table[place]["upper"], table[place]["action"] = lower, upper, action


@kernel
def forget(table: npt.NDArray[np.void]) -> None:
    """Empties a table: no game has the number 0."""
    for place in range(len(table)):
        table[place]["key"][_NUMBER_WORD] = 0
