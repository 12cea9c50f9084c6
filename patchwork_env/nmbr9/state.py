"""The state of a game as one small record of a NumPy structured array.

One game is an array of length 1 and a batch an array of length n; copying a record clones a game.

The table of each player is the list of its tiles, in the order of placing. Rows and columns are those of the
present actions, which shift when a table grows, since it stays in the middle; see
:mod:`~patchwork_env.nmbr9.actions`. Players act in turn. In each round every player places one tile; in free
order, every player chooses a tile before that.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.nmbr9.components import MAX_CARDS, MAX_PLAYERS, NUM_DIGITS

UNKNOWN, KNOWN, FREE = range(3)
"""The values of ``order``, as indices into ``ORDERS``."""
NO_DIGIT = NUM_DIGITS
"""The value of ``chosen`` before a digit is chosen."""

STATE = np.dtype(
    [
        ("piece", "u1", (MAX_PLAYERS, MAX_CARDS)),  # of each tile: 4 * digit + orientation
        ("level", "u1", (MAX_PLAYERS, MAX_CARDS)),
        ("row", "u1", (MAX_PLAYERS, MAX_CARDS)),  # top-left corner of its bounding box
        ("column", "u1", (MAX_PLAYERS, MAX_CARDS)),
        ("deck", "u1", MAX_CARDS),  # digits, the first card first; in free order the supply, ascending
        ("num_cards", "u1"),  # in the deck
        ("num_rounds", "u1"),  # tiles that each player places, at most num_cards
        ("round", "u1"),  # rounds that are complete
        ("num_players", "u1"),
        ("current_player", "u1"),
        ("order", "u1"),  # UNKNOWN, KNOWN or FREE
        ("chosen", "u1", MAX_PLAYERS),  # in free order: the digit that a player has chosen, or NO_DIGIT
    ]
)

States = npt.NDArray[np.void]
"""Array of :data:`STATE` records, shape ``(n,)``."""


def empty_states(n: int) -> States:
    """Return ``n`` records of zeros, to be set up by the engine."""
    return np.zeros(n, STATE)
