"""The module of NMBR 9: rules, value and champion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from patchwork_env.agents.checkpoints import SHIPPED_FOLDER
from patchwork_env.agents.compiled.records import aligned_record
from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.champion import search
from patchwork_env.agents.nmbr9.champion.agent import DEFAULT_LEVEL, INSTANT, LEVELS
from patchwork_env.agents.nmbr9.champion.deepening import _SEED
from patchwork_env.agents.nmbr9.value.agent import read_value
from patchwork_env.agents.nmbr9.value.expansion import LIKELY, best_action, expand
from patchwork_env.agents.nmbr9.value.network import WEIGHTS, evaluate
from patchwork_env.core.random import Streams, random_below, start_streams
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_ACTIONS, NUM_TURNS, TABLE_SIZE
from patchwork_env.nmbr9.components import COPIES, MAX_CARDS, NUM_DIGITS
from patchwork_env.nmbr9.state import States, empty_states
from patchwork_env.nmbr9.tables import middle
from tools.site.agents import Call, Offer
from tools.site.rooms import Memory, entrance


class Room(NamedTuple):
    """The memory of the module.

    Attributes:
        states: The game.
        streams: The random stream of whoever draws.
        maps: The legal set.
        actions: int16, legal actions.
        supply: int64 ``(10,)``, how many tiles of each digit a player in free order may still choose.
        work: What searches need.
        weights: The weights of the value.
    """

    states: States
    streams: Streams
    maps: Any
    actions: Any
    supply: Any
    work: search.Workspace
    weights: Any


MEMORY = Memory(
    "nmbr9",
    Room(
        empty_states(1),
        np.zeros(1, np.uint64),
        np.zeros((engine.NUM_MAPS, TABLE_SIZE), np.uint64),
        np.zeros(NUM_ACTIONS, np.int16),
        np.zeros(NUM_DIGITS, np.int64),
        search.new_workspace(),
        aligned_record(WEIGHTS),
    ),
)
SHARED = ("states", "actions", "supply", "work.actions", "work.sums")
"""The arrays that JavaScript reads or writes."""
WEIGHTS_AT = "weights"
"""The array that it fills with the weights."""
room: Any = entrance(MEMORY)


def read_weights() -> Any:
    """The weights of the champion, one record."""
    return read_value(SHIPPED_FOLDER / "nmbr9_champion")[0]


# --- the rules --------------------------------------------------------------------------------------------


def new_game(players: int, order: int, max_digit: int, copies: int, rounds: int) -> int:
    """Sets up a game with an ascending deck."""
    engine.new(room().states, 0, players, order, max_digit, copies, rounds)
    return 0


def seed_stream(high: int, low: int) -> int:
    """Starts the random stream with a seed, given by its upper and lower 32 bits."""
    start_streams(room().streams, (np.uint64(high) << np.uint64(32)) | np.uint64(low))
    return 0


def shuffle() -> int:
    """Shuffles the deck of a new game."""
    engine.shuffle(room().states, 0, room().streams, 0)
    return 0


def legal_actions() -> int:
    """Lists the legal actions; returns their number."""
    here = room()
    count = engine.legal(here.states, 0, here.maps)
    return engine.write_actions(here.maps, here.actions) if count > 0 else 0


def is_legal(action: int) -> int:
    """Whether an action, any number, is legal."""
    return int(engine.is_legal(room().states, 0, action))


def play(action: int) -> int:
    """Plays an action if it is legal and does not meet the edge of the table; returns whether it did."""
    return int(engine.play(room().states, 0, action))


def is_over() -> int:
    """Whether the game has ended."""
    return int(engine.is_over(room().states, 0))


def score(player: int) -> int:
    """The score of a player as if the game ended now."""
    return engine.score(room().states, 0, player)


def digit_to_place() -> int:
    """The digit of the tile to be placed in a game that is not over; 10 if one is to be chosen."""
    return engine.digit_to_place(room().states, 0)


def num_placed(player: int) -> int:
    """The number of tiles on a player's table."""
    return engine.num_placed(room().states, 0, player)


def count_supply(player: int) -> int:
    """Counts the tiles of each digit that a player in free order may still choose."""
    engine.supply(room().states, 0, player, room().supply)
    return 0


# --- agents -----------------------------------------------------------------------------------------------


def choose_at_random() -> int:
    """The action of the agent ``random``."""
    here = room()
    count = engine.legal(here.states, 0, here.maps)
    return engine.nth_legal(here.maps, random_below(here.streams, 0, count))


def choose_greedily() -> int:
    """The action of the agent ``greedy``."""
    return greedy.choose_action(room().states, 0)


def choose_by_value() -> int:
    """The action with the best value, which is what the champion plays at the level ``instant``."""
    here = room()
    count = expand(here.states, 0, LIKELY, here.weights, here.work.expansion)
    return here.work.expansion.actions[best_action(here.work.expansion, count)]


def choose(effort: int) -> int:
    """The champion's action with a budget, as :class:`ChampionAgent` chooses it."""
    here = room()
    work = here.work
    considered = search.begin(here.states, 0, search.SETTINGS, here.weights, work)
    if work.root[0]["round"] + 1 == work.root[0]["num_rounds"]:
        return work.actions[0]
    rounds = 0
    while 1 << rounds < considered:
        rounds += 1
    for done in range(1, rounds + 1):
        before = work.rollouts[0]
        while work.rollouts[0] == before or work.effort[0] / effort < done / rounds:
            search.roll_out(considered, search.SETTINGS, here.weights, work, here.streams)
        search.keep_best(considered, (considered + 1) // 2, work)
        considered = (considered + 1) // 2
    return work.actions[0]


# --- analysis ---------------------------------------------------------------------------------------------


def begin_search() -> int:
    """Begins a search: lists the candidates; returns their number."""
    here = room()
    return search.begin(here.states, 0, search.SETTINGS, here.weights, here.work)


def roll_out(considered: int, effort: int) -> int:
    """Plays rollouts of the first candidates until an effort in all is spent, but at least one of each."""
    here = room()
    before = here.work.rollouts[0]
    while here.work.rollouts[0] == before or here.work.effort[0] < effort:
        search.roll_out(considered, search.SETTINGS, here.weights, here.work, here.streams)
    return here.work.rollouts[0]


def keep_best(considered: int, number: int) -> int:
    """Moves the best of the first candidates to the front."""
    search.keep_best(considered, number, room().work)
    return 0


def expected_points(player: int) -> float:
    """The points that a player may still expect, by the value of the table alone."""
    here = room()
    return evaluate(here.states, 0, player, here.weights, here.work.expansion.buffer)


EXPORTS: tuple[Callable[..., float], ...] = (
    *(new_game, seed_stream, shuffle, legal_actions, is_legal, play, is_over, score),
    *(digit_to_place, num_placed, count_supply),
    *(choose_at_random, choose_greedily, choose_by_value, choose),
    *(begin_search, roll_out, keep_best, expected_points),
)


def _champion(level: str) -> Offer:
    if level == INSTANT:
        return Offer(f"nmbr9_champion:{level}", "champion", Call("choose_by_value"), level)
    call = Call("choose", (LEVELS[level],), draws=True)
    aliases = ("nmbr9_champion",) if level == DEFAULT_LEVEL else ()
    return Offer(f"nmbr9_champion:{level}", "champion", call, level, _search(LEVELS[level]), aliases)


def _search(effort: int) -> dict[str, int]:
    """The budget of an analysis, and how it is spent; see ``champion/deepening.py``."""
    return {"effort": effort, "results": _RESULTS, "seed": _SEED}


_RESULTS = 40
"""About how many results an analysis has, one after the other."""
ANALYSIS = _search(LEVELS["analysis"])
"""The analysis of a position, unless an agent is named."""
AGENTS = (
    *(_champion(level) for level in (INSTANT, "fast", "strong")),
    Offer("greedy", "other", Call("choose_greedily")),
    Offer("random", "other", Call("choose_at_random", draws=True)),
)
NUMBERS: dict[str, Any] = {
    "max_cards": MAX_CARDS,
    "max_digit": NUM_DIGITS - 1,
    "copies": COPIES,
    "middles": [list(middle(piece)) for piece in range(NUM_DIGITS * NUM_TURNS)],
}
"""What else the page must know."""
