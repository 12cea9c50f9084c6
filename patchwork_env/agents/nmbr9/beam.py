"""The agent ``beam`` of NMBR 9, for known decks and free order: it plans the whole game and plays the plan.

With a width, a plan is one beam search. With a time, it is the best of several: a narrow search to measure
the time, then wider ones, with noise in the values that they compare. A plan is made for a game of one player
with a known deck. In free order, the search exchanges the next card for the one to place.

A search goes over the tiles to come. After every tile it keeps the best ``width`` tables. They are compared
by their points plus the points that a learned value expects of the tiles to come
(:mod:`patchwork_env.agents.nmbr9.value`). The value knows which tiles are left but not their order, which the
search adds. In free order, each table is continued with every digit that is left.

Pools, one for each step of a search, keep the tables with the highest values, each only once. Equal tables
have the same key, a hash. A hash table has room for one key per entry, so an equal table is sometimes kept
twice.
"""

from __future__ import annotations

from collections import OrderedDict
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.base import Agent, record_of
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.nmbr9.features import Tile, tile_of
from patchwork_env.agents.nmbr9.value import (
    LIKELY,
    Expansion,
    Weights,
    expand,
    new_expansion,
    read_value,
    write_solo_game,
)
from patchwork_env.agents.options import check_budget, spec_of
from patchwork_env.core.checks import check_seed, offset_seed
from patchwork_env.core.compile import kernel
from patchwork_env.core.game import BaseGame
from patchwork_env.core.intrinsics import copy_record
from patchwork_env.core.random import mix
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_ANCHORS, NUM_TURNS, TABLE_SIZE, choose_action, place_action
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.engine import apply, level_of, score
from patchwork_env.nmbr9.state import FREE, KNOWN, NO_DIGIT, UNKNOWN, States, empty_states
from patchwork_env.nmbr9.tables import middle

_U = np.uint64
_TABLE_FACTOR = 16  # the minimum number of hash table entries per slot of a pool


class _Front(NamedTuple):
    tables: States  # (width,)
    keys: npt.NDArray[np.uint64]  # (width,), their keys in the pools


class _Search(NamedTuple):
    """The settings of a search, see :func:`search`, and its buffers; arrays are ``(width,)``."""

    weights: Weights
    free_from: int
    noise: float
    seed: np.uint64
    pools: Pools  # one for each step
    parents: npt.NDArray[np.int64]  # the table before the step, by slot of the pool
    digits: npt.NDArray[np.int64]  # the digit that is placed, by slot
    actions: npt.NDArray[np.int64]  # the action that places it, by slot
    expansion: Expansion


def search(
    root: States, width: int, weights: Weights, free_from: int, noise: float = 0.0, seed: int = 0
) -> Plan:
    """Return the plan with the highest score that a search of a width finds.

    ``root`` is a game of one player that is not over, ``(1,)``, from :func:`as_solo_game`. The order of the
    first ``free_from`` tiles to come is fixed, that of the others free. ``noise`` is the maximum of the
    random points that are added to the value of a table.
    """
    pools = new_pools(int(root[0]["num_rounds"] - root[0]["round"]), width)
    parents, digits, actions = (np.empty(width, np.int64) for _ in range(3))
    settings = _Search(
        weights, free_from, noise, np.uint64(seed), pools, parents, digits, actions, new_expansion()
    )
    now, later = (_Front(empty_states(width), np.zeros(width, np.uint64)) for _ in range(2))
    now.tables[0] = root[0]
    end = empty_states(1)
    _run(settings, now, later, end)
    return plan_of(end)


@kernel
def _run(search: _Search, now: _Front, later: _Front, end: States) -> None:
    """Search from the first table of the front ``now``, and write the best complete table to ``end``."""
    kept = 1
    for step in range(len(search.pools.sizes)):
        for i in range(kept):
            _continue(search, step, now, i)
        kept = search.pools.sizes[step]
        for slot in range(kept):
            parent = search.parents[slot]
            copy_record(later.tables, slot, now.tables, parent)
            draw(later.tables, slot, search.digits[slot])
            later.keys[slot] = _key_after(later.tables, slot, now.keys[parent], search.actions[slot])
            apply(later.tables, slot, search.actions[slot])
        now, later = later, now
    best = 0
    for slot in range(kept):
        if score(now.tables, slot, 0) > score(now.tables, best, 0):
            best = slot
    end[0] = now.tables[best]


@kernel
def _continue(search: _Search, step: int, front: _Front, i: int) -> None:
    """Offer all tables with one more tile than table ``i`` to the pool of the step."""
    tables, expansion = front.tables, search.expansion
    next_card = tables[i]["round"]
    first, end = int(tables[i]["deck"][next_card]), int(tables[i]["deck"][next_card]) + 1
    if step >= search.free_from:
        first, end = 0, NUM_DIGITS
    for digit in range(first, end):
        if not draw(tables, i, digit):
            continue
        count = expand(tables, i, LIKELY, search.weights, expansion)
        points = score(tables, i, 0)
        for k in range(count):
            action = expansion.actions[k]
            if next_card == 0 and action >= NUM_ANCHORS:
                break  # by symmetry, the first tile needs no turns
            key = _key_after(tables, i, front.keys[i], action)
            chance = search.noise * float(mix(key ^ search.seed) >> _U(11)) / 2.0**53
            slot = admit(search.pools, step, key, points + expansion.values[k] + chance)
            if slot >= 0:
                search.parents[slot], search.digits[slot], search.actions[slot] = i, digit, action


@kernel
def draw(tables: States, i: int, digit: int) -> bool:
    """Exchange the next card for one with ``digit``; return whether there is one."""
    deck, place = tables[i]["deck"], tables[i]["round"]
    for k in range(place, tables[i]["num_cards"]):
        if deck[k] == digit:
            deck[k], deck[place] = deck[place], deck[k]
            return True
    return False


@kernel
def _key_after(tables: States, i: int, key: np.uint64, action: int) -> np.uint64:
    """Return the table's key after an action, the same at any place and in any order after the first tile."""
    placed = tables[i]["round"]
    level = level_of(tables, i, action)
    piece, _, row, column = tile_of(action, int(tables[i]["deck"][placed]), level)
    if placed > 0:
        row -= int(tables[i]["row"][0, 0])
        column -= int(tables[i]["column"][0, 0])
    else:
        row = column = 0
    code = ((piece * 32 + level) * 4 * TABLE_SIZE + row + TABLE_SIZE) * 4 * TABLE_SIZE + column + TABLE_SIZE
    return np.uint64(key + mix(_U(code)))


# --- pools ------------------------------------------------------------------------------------------------


class Pools(NamedTuple):
    """Pool ``k`` holds the slots ``0 ... sizes[k] - 1``."""

    sizes: npt.NDArray[np.int64]  # (pools,)
    values: npt.NDArray[np.float64]  # (pools, width), the values by slot
    heaps: npt.NDArray[np.int64]  # (pools, width), the slots as a heap, the lowest value first
    keys: npt.NDArray[np.uint64]  # the hash table of keys that were offered; its size is a power of two
    offers: npt.NDArray[np.float64]  # the value that was offered with each key


def new_pools(number: int, width: int) -> Pools:
    """Return empty pools of ``width`` slots each."""
    entries = 1 << (_TABLE_FACTOR * width).bit_length()
    return Pools(
        np.zeros(number, np.int64),
        np.zeros((number, width), np.float64),
        np.zeros((number, width), np.int64),
        np.zeros(entries, np.uint64),
        np.zeros(entries, np.float64),
    )


@kernel
def admit(pools: Pools, k: int, key: np.uint64, value: float) -> int:
    """Add an offer to pool ``k`` if it is among the best; return its slot, or -1 if it is not."""
    heap, values, size = pools.heaps[k], pools.values[k], pools.sizes[k]
    if size == len(heap) and value <= values[heap[0]]:
        return -1
    entry = np.int64(key & _U(len(pools.keys) - 1))
    if pools.keys[entry] == key and pools.offers[entry] >= value:
        return -1
    pools.keys[entry], pools.offers[entry] = key, value
    if size == len(heap):
        slot = int(heap[0])
        values[slot] = value
        _sink(heap, values)
        return slot
    heap[size], values[size] = size, value
    pools.sizes[k] += 1
    i = size
    while i > 0 and values[heap[i]] < values[heap[(i - 1) // 2]]:
        above = (i - 1) // 2
        heap[i], heap[above] = heap[above], heap[i]
        i = above
    return int(size)


@kernel
def _sink(heap: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> None:
    i, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and values[heap[child + 1]] < values[heap[child]]:
            child += 1
        if values[heap[i]] <= values[heap[child]]:
            return
        heap[i], heap[child] = heap[child], heap[i]
        i, child = child, 2 * child + 1


# --- the agent ----------------------------------------------------------------------------------------------


DEFAULT_WIDTH, MOST_WIDTH = 1000, 999_999
MOST_PLANS = 4096  # the maximum number of plans in the cache; the least recently used are dropped
_FIRST_WIDTH, _MOST_WIDENING = 16, 16
_SHARE = 0.6  # the share of the remaining time for the next search
_NOISE = 4.0

Stack = tuple[Tile, ...]
"""Tiles in an order in which they can be placed; the origin of their corners is arbitrary."""


class Plan(NamedTuple):
    """A complete stack and its score."""

    score: int
    stack: Stack


class BeamAgent(Agent):
    """Plans the rest of a game at its first move, and plays the plan as long as the game follows it.

    It maximizes its own points. A plan is a search of a ``width``, 1 to 999,999, or takes ``seconds``; later
    moves take no time. ``seed`` is for the noise of searches; None for 0.
    """

    games = (NMBR9,)

    _seed: int
    _plans: OrderedDict[tuple[object, ...], Stack]

    def __init__(
        self,
        weights: Weights,
        *,
        width: int | None = None,
        seconds: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.name = spec_of("beam", **check_budget(width=width, seconds=seconds))
        self._weights, self._width, self._seconds = weights, width or DEFAULT_WIDTH, seconds
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> None:
        check_seed(seed)
        self.__dict__.update(_seed=seed or 0, _plans=OrderedDict())  # in one step, in case of an interrupt

    def act(self, game: BaseGame) -> int:
        """See :meth:`Agent.act`; ValueError also if the deck is unknown."""
        states = record_of(game)
        self.check_states(states)
        if states[0]["order"] == UNKNOWN:
            raise ValueError(
                f"agent {self.name!r} needs to know the tiles to come: the order must be 'known' or 'free'; "
                "'nmbr9_champion' plays unknown decks"
            )
        root = as_solo_game(states)
        is_chosen = bool(states[0]["chosen"][states[0]["current_player"]] != NO_DIGIT)
        stack = self._stack(states, root, is_chosen)
        tile = stack[int(root[0]["round"])]
        if states[0]["order"] == FREE and not is_chosen:
            return choose_action(tile.digit)
        return action_of(tile, root, stack[0])

    def _stack(self, states: States, root: States, is_chosen: bool) -> Stack:
        """Return the cached plan of a game if it has been followed so far, otherwise a new one."""
        is_free, placed = bool(states[0]["order"] == FREE), int(root[0]["round"])
        deck = states[0]["deck"][: states[0]["num_cards"]].tobytes()
        key = (is_free, int(states[0]["num_rounds"]), deck)
        stack = self._plans.get(key, ())
        followed = bool(stack) and stack[:placed] == stack_of(root)
        if not followed or (is_chosen and stack[placed].digit != root[0]["deck"][placed]):
            free_from = int(is_chosen) if is_free else None
            stack = plan(root, free_from, self._weights, self._width, self._seconds, self._seed).stack
        self._plans[key] = stack
        self._plans.move_to_end(key)
        while len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)
        return stack


def load(seed: int | None = None, *, width: int | None = None, seconds: float | None = None) -> BeamAgent:
    """Return the agent of a spec, with the champion's value."""
    weights = read_value(read_checkpoint(SHIPPED_FOLDER / "nmbr9_champion"))
    return BeamAgent(weights, width=width, seconds=seconds, seed=seed)


# --- plans ------------------------------------------------------------------------------------------------


def plan(
    root: States,
    free_from: int | None,
    weights: Weights,
    width: int,
    seconds: float | None = None,
    seed: int = 0,
) -> Plan:
    """Plan the rest of a game of one player; for ``free_from`` see :func:`search`, None for no free tile."""
    if free_from is None:
        free_from = int(root[0]["num_rounds"])
    if seconds is None:
        return search(root, width, weights, free_from)
    search(root, 1, weights, free_from)  # compiles before the time begins
    end, plans, width = perf_counter() + seconds, list[Plan](), _FIRST_WIDTH
    while True:
        began, noise = perf_counter(), _NOISE if plans else 0.0
        plans.append(search(root, width, weights, free_from, noise, offset_seed(seed, len(plans))))
        now = perf_counter()
        fitting = int(_SHARE * (end - now) / (now - began) * width)
        if fitting < _FIRST_WIDTH:
            return max(plans, key=lambda found: found.score)
        width = min(fitting, _MOST_WIDENING * width, MOST_WIDTH)


def plan_of(table: States) -> Plan:
    """Return the plan that leads to a complete table."""
    return Plan(int(engine.score(table, 0, 0)), stack_of(table))


# --- stacks -----------------------------------------------------------------------------------------------


def as_solo_game(states: States) -> States:
    """Return the current player's table of a game, ``(1,)``, as a game of one player with a known deck.

    In free order, its deck is the tiles on the table, then a chosen tile, then the tiles left.
    """
    root, player = empty_states(1), int(states[0]["current_player"])
    placed = write_solo_game(states, 0, KNOWN, root)
    if states[0]["order"] == FREE:
        left = np.zeros(NUM_DIGITS, np.int64)
        engine.supply(states, 0, player, left)
        on_table = root[0]["piece"][0, :placed] // NUM_TURNS
        root[0]["deck"][: root[0]["num_cards"]] = [*on_table, *np.repeat(np.arange(NUM_DIGITS), left)]
        if states[0]["chosen"][player] != NO_DIGIT:
            draw(root, 0, states[0]["chosen"][player])
    return root


def stack_of(states: States) -> Stack:
    """Return the tiles on the table of a game of one player, relative to the first tile's corner."""
    record = states[0]
    tiles = [
        [int(record[name][0, t]) for name in ("piece", "level", "row", "column")]
        for t in range(int(record["round"]))
    ]
    return tuple(
        Tile(piece, level, row - tiles[0][2], column - tiles[0][3]) for piece, level, row, column in tiles
    )


def action_of(tile: Tile, states: States, first: Tile) -> int:
    """Return the action that places a tile of a stack in a game of one player, ``(1,)``.

    ``first`` is the first tile of the stack.
    """
    if states[0]["round"] == 0:
        row, column = middle(tile.piece)
    else:
        row = int(states[0]["row"][0, 0]) + tile.row - first.row
        column = int(states[0]["column"][0, 0]) + tile.column - first.column
    return place_action(tile.piece % NUM_TURNS, row, column)
