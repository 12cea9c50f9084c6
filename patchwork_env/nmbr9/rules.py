"""The rules of NMBR 9 in the form that code without knowledge of the game uses, and their options.

Checks of options raise ValueError with the offending value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from patchwork_env.core.checks import as_integers, check_between, check_one_of
from patchwork_env.core.game import Rules, SetUp
from patchwork_env.core.names import short_repr
from patchwork_env.nmbr9 import engine, observation
from patchwork_env.nmbr9.actions import NUM_ACTIONS, TABLE_SIZE
from patchwork_env.nmbr9.components import COPIES, MAX_CARDS, MAX_PLAYERS, NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.serialization import find_contradiction, find_out_of_range
from patchwork_env.nmbr9.state import FREE, STATE, States, empty_states


class Variant(NamedTuple):
    """What is played: the standard game and, after arXiv 2001.04238, its generalizations.

    Attributes:
        order: The order of the tiles, one of ``ORDERS``.
        max_digit: The highest digit in the deck, 0-9.
        copies: The number of cards of each digit in the deck.
        deck_size: The number of tiles that each player places; None for as many as there are cards.
    """

    order: str = "unknown"
    max_digit: int = NUM_DIGITS - 1
    copies: int = COPIES
    deck_size: int | None = None


STANDARD = Variant()


def beginning(variant: Variant, players: Any = 1, deck: Iterable[Any] | None = None) -> States:
    """The state in which a game begins, shape ``(1,)``.

    Args:
        variant: The variant that is played.
        players: The number of players, 1-4.
        deck: The digits in the order in which they come; None for ``copies`` of each up to ``max_digit``, in
            ascending order.

    Raises:
        ValueError: An argument has a value that is not allowed, or there are too many cards or too few.
    """
    number = check_between(players, 1, MAX_PLAYERS, "players")
    order = ORDERS.index(check_one_of(variant.order, ORDERS, "order"))
    if deck is None:
        max_digit, copies = check_supply(variant.max_digit, variant.copies)
    elif (variant.max_digit, variant.copies) != (STANDARD.max_digit, STANDARD.copies):
        raise ValueError("give a deck, or max_digit and copies, not both")
    else:
        digits = check_deck(deck)
        max_digit, copies = 0, len(digits)
    num_cards = copies * (max_digit + 1)
    states = empty_states(1)
    engine.new(states, 0, number, order, max_digit, copies, check_size(variant.deck_size, num_cards))
    if deck is not None:
        states["deck"][0, :num_cards] = sorted(digits) if order == FREE else digits
    return states


def check_supply(max_digit: Any, copies: Any) -> tuple[int, int]:
    """The highest digit and the number of cards of each digit in a deck."""
    highest = check_between(max_digit, 0, NUM_DIGITS - 1, "max_digit")
    number = check_between(copies, 1, MAX_CARDS, "copies")
    if number * (highest + 1) > MAX_CARDS:
        raise ValueError(
            f"{number} copies of the digits 0 to {highest} make {number * (highest + 1)} cards; "
            f"a deck has at most {MAX_CARDS}"
        )
    return highest, number


def check_size(deck_size: Any, num_cards: int) -> int:
    """The number of tiles that each player places; ``num_cards`` for None."""
    return num_cards if deck_size is None else check_between(deck_size, 1, num_cards, "deck_size")


def check_deck(deck: Iterable[Any]) -> list[int]:
    """The digits of a deck of 1-40 cards."""
    digits = as_integers(deck, "deck", "a card of the deck")
    if not 1 <= len(digits) <= MAX_CARDS:
        raise ValueError(f"the deck has {len(digits)} cards; allowed are 1 to {MAX_CARDS}")
    wrong = sorted(set(digits) - set(range(NUM_DIGITS)))
    if wrong:
        raise ValueError(f"the deck holds {short_repr(wrong)}; digits are 0 to {NUM_DIGITS - 1}")
    return digits


def set_up(options: Mapping[str, Any], given: Mapping[str, Any]) -> SetUp:
    """How games begin with given options; a deck given to one ``reset`` replaces that of the environment."""
    order, deck_size, players = options["order"], options["deck_size"], options["players"]
    deck = given.get("deck")
    if deck is not None:
        variant = Variant(order, deck_size=deck_size)
    else:
        deck = options["deck"]
        variant = Variant(order, options["max_digit"], options["copies"], deck_size)
    states = beginning(variant, players, deck)
    return SetUp(states, engine.SHUFFLED if deck is None else 0, int(states[0]["num_players"]))


RULES = Rules(
    name="nmbr9",
    title="NMBR 9",
    module="patchwork_env.nmbr9",
    engine=(engine, observation),
    dtype=STATE,
    max_players=MAX_PLAYERS,
    num_actions=NUM_ACTIONS,
    max_legal_actions=NUM_ACTIONS,
    legal_shape=(engine.NUM_MAPS, TABLE_SIZE),
    layout=observation.LAYOUT,
    set_up=set_up,
    options={
        "players": 1,
        "order": "unknown",
        "max_digit": NUM_DIGITS - 1,
        "copies": COPIES,
        "deck_size": None,
        "deck": None,
    },
    reset_options=("deck",),
    turn_options={"players": 2},
    is_simultaneous=True,
    magic=b"NMB9",
    find_contradiction=find_contradiction,
    find_out_of_range=find_out_of_range,
)
