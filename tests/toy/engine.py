"""The state of Row as a record, its actions, and the rules, compiled.

======================  =====================================
action                  meaning
======================  =====================================
``cell``, 0-11          cover that cell
``12 + cell``, 12-22    cover that cell and the one behind it
======================  =====================================
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.bits import lowest_bit, nth_bit, popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.random import Streams, random_below

NUM_CELLS, NUM_PLAYERS = 12, 2
NUM_ACTIONS = 2 * NUM_CELLS - 1
LEGAL_SHAPE = (1, 1)
"""The shape of a legal set: bit ``a`` of its only word says whether action ``a`` is legal."""

STATE = np.dtype([("free", "u2"), ("covered", "u2", NUM_PLAYERS), ("current_player", "u1")])
"""The cells as bits: those that are free, and those that each player has covered."""

States = npt.NDArray[np.void]
_U = np.uint64
_U1, _DOUBLES = _U(1), _U(NUM_CELLS)


@kernel
def deal(states: States, i: int, streams: Streams, beginning: States, chance: int) -> None:
    """Begins a game, in which ``chance`` random cells are blocked."""
    states[i] = beginning[0]
    for _ in range(chance):
        free = _U(states[i]["free"])
        states[i]["free"] ^= 1 << nth_bit(free, random_below(streams, i, popcount(free)))


@kernel
def is_over(states: States, i: int) -> bool:
    """Whether no cell is free."""
    return bool(states[i]["free"] == 0)


@kernel
def num_players(states: States, i: int) -> int:
    """The number of players, always 2."""
    return NUM_PLAYERS


@kernel
def _legal_bits(states: States, i: int) -> np.uint64:
    free = _U(states[i]["free"])
    return free | ((free & (free >> _U1)) << _DOUBLES)


@kernel
def legal(states: States, i: int, legal_set: npt.NDArray[np.uint64]) -> int:
    """Writes the legal actions and returns their number."""
    legal_set[0, 0] = _legal_bits(states, i)
    return popcount(legal_set[0, 0])


@kernel
def is_legal(states: States, i: int, action: int) -> bool:
    """Whether the current player may play an action, any integer."""
    return 0 <= action < NUM_ACTIONS and (_legal_bits(states, i) >> _U(action)) & _U1 != 0


@kernel
def nth_legal(legal_set: npt.NDArray[np.uint64], n: int) -> int:
    """The ``n``-th legal action in ascending order."""
    return nth_bit(legal_set[0, 0], n)


@kernel
def write_actions(legal_set: npt.NDArray[np.uint64], actions: npt.NDArray[np.int16]) -> int:
    """Lists the legal actions in ascending order and returns their number."""
    bits, count = legal_set[0, 0], 0
    while bits:
        actions[count] = lowest_bit(bits)
        count += 1
        bits &= bits - _U1
    return count


@kernel
def write_mask(
    states: States, i: int, legal_set: npt.NDArray[np.uint64], count: int, mask: npt.NDArray[np.int8]
) -> None:
    """Writes a legal set as an action mask."""
    for action in range(NUM_ACTIONS):
        mask[action] = (legal_set[0, 0] >> _U(action)) & _U1


@kernel
def legal_mask(states: States, i: int, mask: npt.NDArray[np.int8]) -> int:
    """Writes the mask of a state and returns the number of legal actions."""
    bits = _legal_bits(states, i)
    for action in range(NUM_ACTIONS):
        mask[action] = (bits >> _U(action)) & _U1
    return popcount(bits)


@kernel
def apply(states: States, i: int, action: int) -> None:
    """Plays a legal action."""
    player = states[i]["current_player"]
    cells = 1 << action if action < NUM_CELLS else 3 << (action - NUM_CELLS)
    states[i]["free"] ^= cells
    states[i]["covered"][player] |= cells
    states[i]["current_player"] = 1 - player


@kernel
def play(states: States, i: int, action: int) -> bool:
    """Plays an action, any integer, if it is legal; returns whether it was."""
    if not is_legal(states, i, action):
        return False
    apply(states, i, action)
    return True


@kernel
def score(states: States, i: int, player: int) -> int:
    """The number of cells that a player has covered."""
    return popcount(_U(states[i]["covered"][player]))


@kernel
def outcome(states: States, i: int, player: int) -> float:
    """1 for the winner of a game that is over, -1 for the other, 0 for both after a draw."""
    difference = score(states, i, player) - score(states, i, 1 - player)
    return float((difference > 0) - (difference < 0))
