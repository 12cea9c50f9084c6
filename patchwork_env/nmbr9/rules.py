"""The rules of NMBR 9 in the form that code without knowledge of the game uses, and their options.

Checks of options raise ValueError with the offending value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from patchwork_env.core.checks import as_integers, check_between, check_one_of
from patchwork_env.core.game import Rules, SetUp
from patchwork_env.core.names import short_repr
from patchwork_env.nmbr9 import engine, observation, validity
from patchwork_env.nmbr9.actions import NUM_ACTIONS, TABLE_SIZE
from patchwork_env.nmbr9.components import COPIES, MAX_CARDS, MAX_PLAYERS, NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.state import FREE, STATE, empty_states


def set_up(options: Mapping[str, Any], reset_options: Mapping[str, Any]) -> SetUp:
    """How games begin; a deck of one ``reset`` replaces that of the environment.

    Without either, the deck has ``copies`` of each digit up to ``max_digit``, in ascending order.
    """
    players = check_between(options["players"], 1, MAX_PLAYERS, "players")
    order = ORDERS.index(check_one_of(options["order"], ORDERS, "order"))
    max_digit, copies, deck = options["max_digit"], options["copies"], options["deck"]
    if reset_options.get("deck") is not None:
        deck = reset_options["deck"]
    elif deck is not None and (max_digit, copies) != (NUM_DIGITS - 1, COPIES):
        raise ValueError("give a deck, or max_digit and copies, not both")
    digits = None if deck is None else check_deck(deck)
    highest, number = check_supply(max_digit, copies) if digits is None else (0, len(digits))
    num_cards, rounds = number * (highest + 1), options["deck_size"]
    rounds = num_cards if rounds is None else check_between(rounds, 1, num_cards, "deck_size")
    states = empty_states(1)
    engine.new(states, 0, players, order, highest, number, rounds)
    if digits is not None:
        states["deck"][0, :num_cards] = sorted(digits) if order == FREE else digits
    return SetUp(states, engine.SHUFFLED if digits is None else 0, players)


def check_supply(max_digit: Any, copies: Any) -> tuple[int, int]:
    """The highest digit and the number of cards of each digit in a deck."""
    highest = check_between(max_digit, 0, NUM_DIGITS - 1, "max_digit")
    number = check_between(copies, 1, MAX_CARDS, "copies")
    if number * (highest + 1) > MAX_CARDS:
        supply = f"{number} copies of the digits 0 to {highest} make {number * (highest + 1)} cards"
        raise ValueError(f"{supply}; a deck has at most {MAX_CARDS}")
    return highest, number


def check_deck(deck: Iterable[Any]) -> list[int]:
    """The digits of a deck of 1-40 cards."""
    digits = as_integers(deck, "deck", "a card of the deck")
    if not 1 <= len(digits) <= MAX_CARDS:
        raise ValueError(f"the deck has {len(digits)} cards; allowed are 1 to {MAX_CARDS}")
    wrong = sorted(set(digits) - set(range(NUM_DIGITS)))
    if wrong:
        raise ValueError(f"the deck holds {short_repr(wrong)}; digits are 0 to {NUM_DIGITS - 1}")
    return digits


RULES = Rules(
    name="nmbr9",
    title="NMBR 9",
    module="patchwork_env.nmbr9",
    engine=(engine, observation),
    dtype=STATE,
    max_players=MAX_PLAYERS,
    num_actions=NUM_ACTIONS,
    max_legal_actions=engine.MAX_LEGAL_ACTIONS,
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
    is_simultaneous=True,
    magic=b"NMB9",
    find_contradiction=validity.find_contradiction,
    limits=validity.limits,
)
