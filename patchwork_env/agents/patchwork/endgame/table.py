"""The positions of an ending that are known already.

The key of a position holds what matters for the rest of the game: of a quilt, its live cells, and how many
dead ones special patches may come to cover; of the buttons, no more than there is to spend them on. From two
positions that agree in this, players gain the same points, whatever their scores are: each quilt is at least
as good as the other one, see :mod:`~patchwork_env.agents.patchwork.endgame.choices`. As long as a player may
complete a 7x7 square, all empty cells of the quilt count.

Keys are compared in full, so a hash cannot err. The order of the circle is that of the whole game: which
patches are left, and which of them is next, says how they lie. Entries of other games have another number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.patchwork.endgame.prospects import Prospects
from patchwork_env.core.compile import kernel
from patchwork_env.patchwork.components import LAST_SPACE
from patchwork_env.patchwork.state import NOBODY, States

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

    ``number`` is that of the game, 1 ... ``MOST_NUMBERS``.
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
    """Whether the entry at a place is that of a key."""
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
