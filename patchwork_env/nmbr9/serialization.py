"""How a state is stored, and how a record is recognized that no game can reach.

The check is complete: a state holds every move, and all of them are replayed.
"""

from __future__ import annotations

from typing import Any

from patchwork_env.core.storage import out_of_range
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_TURNS, TABLE_SIZE, choose_action, place_action
from patchwork_env.nmbr9.components import MAX_CARDS, MAX_PLAYERS, NUM_DIGITS, ORDERS
from patchwork_env.nmbr9.state import FREE, NO_DIGIT, STATE, States, empty_states
from patchwork_env.nmbr9.tables import middle


def find_contradiction(states: States) -> str | None:
    """Says why the first record cannot be a state of a game; None if it is one."""
    try:
        replayed = replay(states)
    except ValueError as error:
        return str(error)
    different = [name for name in STATE.names or () if (states[0][name] != replayed[0][name]).any()]
    return f"after its moves, {different[0]} would be other than stored" if different else None


def replay(states: States) -> States:
    """The state to which the moves of the first record lead, an array of one record.

    Its levels, rows and columns come from the moves. Of the record's own rows and columns, only the
    differences from those of each table's first tile matter.

    Raises:
        ValueError: The record holds no possible set-up, or one of its moves is impossible.
    """
    problem = _out_of_range(states) or _bad_deck(states[0])
    if problem:
        raise ValueError(problem)
    replayed = _first_state(states[0])
    _play_moves(states[0], replayed)
    return replayed


def find_out_of_range(states: States) -> str | None:
    """Says quickly which field of some records holds what no record does; None if none does."""
    on_table = {"level": (0, MAX_CARDS // 2 - 1), "row": (0, TABLE_SIZE - 1), "column": (0, TABLE_SIZE - 1)}
    return _out_of_range(states) or out_of_range(states, on_table)


def _out_of_range(states: States) -> str | None:
    limits: dict[str, tuple[int, Any]] = {"num_players": (1, MAX_PLAYERS), "num_cards": (1, MAX_CARDS)}
    limits |= {"order": (0, len(ORDERS) - 1), "num_rounds": (1, states["num_cards"])}
    limits |= {"round": (0, states["num_rounds"]), "current_player": (0, states["num_players"] - 1)}
    limits |= {"chosen": (0, NO_DIGIT), "deck": (0, NUM_DIGITS - 1), "piece": (0, NUM_TURNS * NUM_DIGITS - 1)}
    return out_of_range(states, limits)


def _bad_deck(record: Any) -> str | None:
    deck = record["deck"].tolist()
    if any(deck[record["num_cards"] :]):
        return f"there is more in the deck than its {record['num_cards']} cards: {deck}"
    if record["order"] == FREE and deck[: record["num_cards"]] != sorted(deck[: record["num_cards"]]):
        return f"the supply of a game in free order is not sorted: {deck}"
    return None


def _first_state(record: Any) -> States:
    """The state in which a game with the record's set-up begins."""
    states = empty_states(1)
    cards, rounds = int(record["num_cards"]), int(record["num_rounds"])
    engine.new(states, 0, int(record["num_players"]), int(record["order"]), 0, cards, rounds)
    states[0]["deck"] = record["deck"]
    return states


def _play_moves(record: Any, states: States) -> None:
    """Plays the record's moves in ``states``; ValueError if one of them is impossible."""
    players = int(record["num_players"])
    for step in range(_num_steps(record)):
        cycle, player = divmod(step, players)
        number, is_placing = divmod(cycle, 2) if record["order"] == FREE else (cycle, 1)
        if number >= record["num_rounds"]:
            raise ValueError(f"player {player} is to move after the last round")
        if not is_placing:
            action = choose_action(_stored_digit(record, player, number))
        elif engine.digit_to_place(states, 0) == record["piece"][player, number] // NUM_TURNS:
            action = _stored_placement(record, states, player, number)
        else:
            action = -1
        if not engine.is_legal(states, 0, action):
            done = "placed" if is_placing else "chosen"
            raise ValueError(f"player {player} cannot have {done} tile {number} as is stored")
        engine.apply(states, 0, action)


def _num_steps(record: Any) -> int:
    """The number of actions that lead to the record."""
    players, player, rounds = (int(record[name]) for name in ("num_players", "current_player", "round"))
    if record["order"] != FREE:
        return rounds * players + player
    has_chosen = record["chosen"][player] != NO_DIGIT
    return (2 * rounds + int(has_chosen)) * players + player


def _stored_digit(record: Any, player: int, number: int) -> int:
    """The digit of a stored tile, or of the tile that has been chosen to be the next one."""
    is_placed = number < record["round"] or record["chosen"][player] == NO_DIGIT
    return int(record["piece"][player, number]) // NUM_TURNS if is_placed else int(record["chosen"][player])


def _stored_placement(record: Any, states: States, player: int, number: int) -> int:
    """The action that placed a stored tile, found from its place relative to the first tile; -1 if none."""
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
