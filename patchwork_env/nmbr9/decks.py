"""Decks of NMBR 9, compiled: set-up, deal, and what players know of the cards to come.

Kernels take ``(states, i)``, an array of records and an index, and change record ``i`` in place, like those
of :mod:`~patchwork_env.nmbr9.engine`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from patchwork_env.core.compile import kernel
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.kernels import nth_legal
from patchwork_env.core.random import Streams, random_below
from patchwork_env.nmbr9.actions import FIRST_CHOICE, TABLE_SIZE
from patchwork_env.nmbr9.engine import NUM_MAPS, apply, center, is_over, legal
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, UNKNOWN, States

SHUFFLED = 1
"""The bit of ``flags`` with which ``deal`` shuffles the deck."""


# --- set-up -----------------------------------------------------------------------------------------------


@kernel
def new(
    states: States, i: int, num_players: int, order: int, max_digit: int, copies: int, num_rounds: int
) -> None:
    """Set up a game with a deck of ``copies`` of the digits up to ``max_digit``, in ascending order."""
    states[i]["piece"][:, :] = 0
    states[i]["level"][:, :] = 0
    states[i]["row"][:, :] = 0
    states[i]["column"][:, :] = 0
    states[i]["deck"][:] = 0
    num_cards = copies * (max_digit + 1)
    for k in range(num_cards):
        states[i]["deck"][k] = k // copies
    states[i]["num_cards"] = num_cards
    states[i]["num_rounds"] = num_rounds
    states[i]["num_players"] = num_players
    states[i]["order"] = order
    states[i]["round"] = 0
    states[i]["current_player"] = 0
    states[i]["chosen"][:] = NO_DIGIT


@kernel
def shuffle(states: States, i: int, streams: Streams, first: int) -> None:
    """Bring the cards of the deck from ``first`` on into a uniformly random order."""
    deck = states[i]["deck"]
    for k in range(states[i]["num_cards"] - 1, first, -1):
        other = first + random_below(streams, i, k - first + 1)
        deck[k], deck[other] = deck[other], deck[k]


@kernel
def deal(states: States, i: int, streams: Streams, initial_state: States, flags: int) -> None:
    """Begin a game; in free order there is nothing to shuffle."""
    copy_record(states, i, initial_state, 0)
    if flags & SHUFFLED and states[i]["order"] != FREE:
        shuffle(states, i, streams, 0)


# --- hidden information ------------------------------------------------------------------------------------


@kernel
def hide(states: States, i: int) -> None:
    """Reduce a game that is not over to the information of all players.

    Choices and placements of this round are undone. Upcoming cards of unknown order are in ascending order.
    """
    number = int(states[i]["round"])
    states[i]["current_player"] = 0
    states[i]["chosen"][:] = NO_DIGIT
    for player in range(states[i]["num_players"]):
        states[i]["piece"][player, number] = 0
        states[i]["level"][player, number] = 0
        states[i]["row"][player, number] = 0
        states[i]["column"][player, number] = 0
        if number:
            center(states, i, player)
    if states[i]["order"] == UNKNOWN:
        _sort(states[i]["deck"], number + 1, int(states[i]["num_cards"]))


@kernel
def _sort(deck: npt.NDArray[np.uint8], first: int, end: int) -> None:
    """Bring the cards ``first ... end - 1`` into ascending order."""
    for k in range(first + 1, end):
        card, place = deck[k], k
        while place > first and deck[place - 1] > card:
            deck[place] = deck[place - 1]
            place -= 1
        deck[place] = card


@kernel(allocates=True)
def determinize(states: States, i: int, streams: Streams) -> None:
    """Sample the information hidden from the current player anew.

    It is the order of upcoming cards, if unknown, and the moves of the others in this round.
    """
    if is_over(states, i):
        return
    player = int(states[i]["current_player"])
    chosen = int(states[i]["chosen"][player])
    hide(states, i)
    if states[i]["order"] == UNKNOWN:
        shuffle(states, i, streams, int(states[i]["round"]) + 1)
    maps = np.empty((NUM_MAPS, TABLE_SIZE), np.uint64)
    while states[i]["current_player"] != player or states[i]["chosen"][player] != chosen:
        action = FIRST_CHOICE + chosen
        if states[i]["current_player"] != player:
            action = nth_legal(maps, random_below(streams, i, legal(states, i, maps)))
        apply(states, i, action)


@kernel
def draw(states: States, i: int, streams: Streams) -> None:
    """Draw the next card at the start of a round, if the order is unknown, and sort the cards after it.

    Such draws are as likely as those of a deck shuffled at the start, but the record holds no order of the
    cards to come.
    """
    first, end = int(states[i]["round"]), int(states[i]["num_cards"])
    if states[i]["order"] != UNKNOWN or states[i]["current_player"] != 0 or is_over(states, i):
        return
    deck = states[i]["deck"]
    _sort(deck, first, end)
    other = first + random_below(streams, i, end - first)
    card = deck[other]
    for k in range(other, first, -1):
        deck[k] = deck[k - 1]
    deck[first] = card
