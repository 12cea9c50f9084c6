"""``RULES`` of NMBR 9: its options, its facts for general code, and the validation of records.

A record holds every move, and validation replays all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from patchwork_env.core.checks import as_integers, check_between, check_one_of
from patchwork_env.core.names import short_repr
from patchwork_env.core.rules import Rules, SetUp
from patchwork_env.core.storage import Limits
from patchwork_env.nmbr9 import decks, engine, observation
from patchwork_env.nmbr9.actions import NUM_ACTIONS, NUM_TURNS, TABLE_SIZE, choose_action, place_action
from patchwork_env.nmbr9.components import COPIES, MAX_CARDS, MAX_PLAYERS, NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, STATE, States, empty_states
from patchwork_env.nmbr9.tables import middle


def set_up(options: Mapping[str, Any], reset_options: Mapping[str, Any]) -> SetUp:
    """Return the set-up of games; the deck of a ``reset`` replaces that of the environment."""
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
    decks.new(states, 0, players, order, highest, number, rounds)
    if digits is not None:
        states["deck"][0, :num_cards] = sorted(digits) if order == FREE else digits
    return SetUp(states, decks.SHUFFLED if digits is None else 0, players)


def check_supply(max_digit: Any, copies: Any) -> tuple[int, int]:
    """Return the highest digit and the number of cards of each digit in a deck."""
    highest = check_between(max_digit, 0, NUM_DIGITS - 1, "max_digit")
    number = check_between(copies, 1, MAX_CARDS, "copies")
    if number * (highest + 1) > MAX_CARDS:
        supply = f"{number} copies of the digits 0 to {highest} make {number * (highest + 1)} cards"
        raise ValueError(f"{supply}; a deck has at most {MAX_CARDS}")
    return highest, number


def check_deck(deck: Iterable[Any]) -> list[int]:
    """Return the digits of a deck of 1-40 cards."""
    digits = as_integers(deck, "deck", "a card of the deck")
    if not 1 <= len(digits) <= MAX_CARDS:
        raise ValueError(f"the deck has {len(digits)} cards; allowed are 1 to {MAX_CARDS}")
    wrong = sorted(set(digits) - set(range(NUM_DIGITS)))
    if wrong:
        raise ValueError(f"the deck holds {short_repr(wrong)}; digits are 0 to {NUM_DIGITS - 1}")
    return digits


# --- validation of records ----------------------------------------------------------------------------------


def limits(states: States) -> Limits:
    """Return the lowest and the highest value of each field."""
    return {
        "num_players": (1, MAX_PLAYERS),
        "num_cards": (1, MAX_CARDS),
        "order": (0, len(ORDERS) - 1),
        "num_rounds": (1, states["num_cards"]),
        "round": (0, states["num_rounds"]),
        "current_player": (0, states["num_players"] - 1),
        "chosen": (0, NO_DIGIT),
        "deck": (0, NUM_DIGITS - 1),
        "piece": (0, NUM_TURNS * NUM_DIGITS - 1),
        "level": (0, engine.MAX_LEVELS - 1),
        "row": (0, TABLE_SIZE - 1),
        "column": (0, TABLE_SIZE - 1),
    }


def find_contradiction(states: States) -> str | None:
    """Return the reason why the first record is not a state of a game; None if it is one."""
    try:
        replayed = replay(states)
    except ValueError as error:
        return str(error)
    different = [name for name in STATE.names or () if (states[0][name] != replayed[0][name]).any()]
    return f"the stored {different[0]} differs from that after its moves" if different else None


def replay(states: States) -> States:
    """Return the state after the moves of the first record; ValueError if one of them is impossible.

    Rows and columns of the record are read relative to those of the first tile on each table.
    """
    record, replayed = states[0], empty_states(1)
    players, cards = int(record["num_players"]), int(record["num_cards"])
    deck = record["deck"].tolist()
    if any(deck[cards:]):
        raise ValueError(f"the deck holds more than its {cards} cards: {deck}")
    if record["order"] == FREE and deck[:cards] != sorted(deck[:cards]):
        raise ValueError(f"the supply of a game in free order is not sorted: {deck}")
    decks.new(replayed, 0, players, int(record["order"]), 0, cards, int(record["num_rounds"]))
    replayed["deck"] = record["deck"]
    for step in range(_num_steps(record)):
        cycle, player = divmod(step, players)
        number, is_placing = divmod(cycle, 2) if record["order"] == FREE else (cycle, 1)
        if number >= record["num_rounds"]:
            raise ValueError(f"player {player} is to move after the last round")
        if not is_placing:
            is_placed = number < record["round"] or record["chosen"][player] == NO_DIGIT
            digit = record["piece"][player, number] // NUM_TURNS if is_placed else record["chosen"][player]
            action = choose_action(int(digit))
        elif engine.digit_to_place(replayed, 0) == record["piece"][player, number] // NUM_TURNS:
            action = _stored_placement(record, replayed, player, number)
        else:
            action = -1
        if not engine.is_legal(replayed, 0, action):
            done = "placed" if is_placing else "chosen"
            raise ValueError(f"player {player} cannot have {done} the stored tile {number}")
        engine.apply(replayed, 0, action)
    return replayed


def _num_steps(record: Any) -> int:
    """Return the number of actions that lead to the record."""
    players, player, rounds = (int(record[name]) for name in ("num_players", "current_player", "round"))
    if record["order"] != FREE:
        return rounds * players + player
    has_chosen = record["chosen"][player] != NO_DIGIT
    return (2 * rounds + int(has_chosen)) * players + player


def _stored_placement(record: Any, states: States, player: int, number: int) -> int:
    """Return the action that placed a stored tile, by its place relative to the first, or -1."""
    piece = int(record["piece"][player, number])
    if number == 0:
        row, column = middle(piece)
    else:
        row, column = (
            int(states[0][axis][player, 0]) + int(record[axis][player, number]) - int(record[axis][player, 0])
            for axis in ("row", "column")
        )
    on_table = 0 <= row < TABLE_SIZE and 0 <= column < TABLE_SIZE
    return place_action(piece % NUM_TURNS, row, column) if on_table else -1


RULES = Rules(
    name="nmbr9",
    title="NMBR 9",
    module="patchwork_env.nmbr9",
    engine=(engine, decks, observation),
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
    find_contradiction=find_contradiction,
    limits=limits,
)
