"""An agent of NMBR 9 for games whose tiles to come are known: it plans the whole game and plays the plan.

With a width, a plan is one search. With a time, searches follow each other: a narrow one to measure how long
they take, then wider ones, with some noise in the values that they compare; each takes a share of the time
left. The best plan counts.

In free order, an empty table is planned as a tower, from the top down; the tiles that it leaves are placed by
a search from the first tile to the last. That search also plans everything else.

Plans are made for a game of one player whose order is known. Where the order of the real game is free, the
next card is exchanged for whichever is to be placed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.base import Agent, record_of
from patchwork_env.agents.nmbr9 import beam, towers
from patchwork_env.agents.nmbr9.expansion import write_solo_game
from patchwork_env.agents.nmbr9.fits import Tile
from patchwork_env.agents.nmbr9.towers import SIDE, Levels, Rating
from patchwork_env.agents.nmbr9.value import Weights, read_value
from patchwork_env.agents.specs import check_budget, check_checkpoint, checkpoint_path, spec_of
from patchwork_env.core.checks import check_seed, later_seed
from patchwork_env.core.game import BaseGame
from patchwork_env.core.polyomino import Cell
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_TURNS, choose_action, place_action
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import FREE, KNOWN, NO_DIGIT, UNKNOWN, States, empty_states
from patchwork_env.nmbr9.tables import middle

DEFAULT_WIDTH, MOST_WIDTH = 1000, 999_999
MOST_PLANS = 4096
"""The number of plans that are remembered, those used last."""
_FIRST_WIDTH, _MOST_WIDENING = 16, 16
_SHARE = 0.6
"""The share of the time left that the next search takes."""
_NOISE = 4.0
_FINISHED, _FINISHING_WIDTH = 32, 32
"""The number of towers that are completed, and the width of the searches that complete them."""
_CHUNK = 16
"""The number of towers between two looks at the clock."""

Stack = tuple[Tile, ...]
"""Tiles in an order in which they can be placed, their corners counted from any origin."""


class Plan(NamedTuple):
    """A complete stack and its score."""

    score: int
    stack: Stack


class BeamAgent(Agent):
    """Plans the rest of a game when it first meets it, and plays the plan as long as the game follows it.

    Other players' tables do not matter: it maximizes its own points.

    Args:
        weights: The weights of the value of tables; see :mod:`patchwork_env.agents.nmbr9.value`.
        width: The width of the search of a plan, 1 to 999,999.
        seconds: Instead, the seconds of a plan; the moves that follow it take no time.
        seed: The seed of the noise of searches, ``0 ... 2**64 - 1``; None for 0.

    Raises:
        ValueError: Both budgets are set, or the seed is not allowed.
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
        """See :meth:`Agent.reseed`; plans are forgotten."""
        check_seed(seed)
        self.__dict__.update(_seed=seed or 0, _plans=OrderedDict())  # together, whatever interrupts the call

    def act(self, game: BaseGame) -> int:
        """See :meth:`Agent.act`.

        Raises:
            ValueError: The order of the deck is not known.
        """
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
        """The remembered plan of a game if it has been followed so far, or a new one."""
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


def load(
    seed: int | None = None,
    value: str = "nmbr9_champion",
    *,
    width: int | None = None,
    seconds: float | None = None,
) -> BeamAgent:
    """The agent of a spec; ``value`` names the checkpoint of its value, or is its path."""
    path = checkpoint_path(value)
    check_checkpoint(path)
    return BeamAgent(read_value(Path(path))[0], width=width, seconds=seconds, seed=seed)


# --- plans ------------------------------------------------------------------------------------------------


def plan(
    root: States,
    free_from: int | None,
    weights: Weights,
    width: int,
    seconds: float | None = None,
    seed: int = 0,
) -> Plan:
    """The best way to go on with a game of one player that is found within a budget.

    Args:
        root: The game, ``(1,)``, as :func:`as_solo_game` makes it.
        free_from: The number of tiles to come whose order is fixed: in free order 0, or 1 if the next one is
            chosen already; None for all.
        weights: The weights of the value of tables.
        width: The width of a single search.
        seconds: Instead, the seconds of several searches.
        seed: The seed of the noise.
    """
    end = None if seconds is None else perf_counter() + seconds
    tiles = int(root[0]["num_rounds"] - root[0]["round"])

    def search(width: int, number: int) -> Plan:
        own_seed = later_seed(seed, number)
        if free_from == 0 and root[0]["round"] == 0:
            return plan_tower(root, width, Rating(), weights, own_seed, end)
        noise = _NOISE if number else 0.0
        return plan_forward(root, width, weights, tiles if free_from is None else free_from, noise, own_seed)

    if end is None:
        return search(width, 0)
    plans: list[Plan] = []
    width = _FIRST_WIDTH
    while True:
        began = perf_counter()
        plans.append(search(width, len(plans)))
        now = perf_counter()
        fitting = int(_SHARE * (end - now) / (now - began) * width)
        if fitting < _FIRST_WIDTH:
            return max(plans, key=lambda found: found.score)
        width = min(fitting, _MOST_WIDENING * width, MOST_WIDTH)


def plan_forward(
    root: States, width: int, weights: Weights, free_from: int, noise: float = 0.0, seed: int = 0
) -> Plan:
    """The plan of one search from the next tile to the last; see :func:`.beam.search`."""
    return _plan_of(beam.search(root, width, weights, free_from=free_from, noise=noise, seed=seed))


def plan_tower(
    root: States, width: int, rating: Rating, weights: Weights, seed: int, end: float | None = None
) -> Plan:
    """The plan of one search of towers for an empty table, the best of which are completed.

    It stops when all is done, or at the time ``end`` of :func:`time.perf_counter`.
    """
    deck = root[0]["deck"][: root[0]["num_cards"]]
    supply = np.bincount(deck, minlength=NUM_DIGITS).astype(np.int64)
    search = towers.start(supply, int(root[0]["num_rounds"]), width, rating, seed)
    run(search, end)
    return best_completion(root, search, weights)


def run(search: towers.Search, end: float | None = None) -> None:
    """Expands the towers of a search, from those of the fewest tiles to those of the most."""
    for tiles in range(1, len(search.nodes) - 1):
        for first in range(0, int(search.pools.sizes[tiles]), _CHUNK):
            if end is not None and perf_counter() > end:
                return
            towers.expand(search, tiles, first, first + _CHUNK)


def best_completion(root: States, search: towers.Search, weights: Weights) -> Plan:
    """The best plan that comes of completing the towers with the most points."""
    found = [
        (int(search.nodes[tiles, slot]["score"]), tiles, slot)
        for tiles in range(1, len(search.nodes))
        for slot in range(int(search.pools.sizes[tiles]))
    ]
    found.sort(reverse=True)
    plans = (
        complete(root, from_tower(towers.levels_of(search, *at)), weights) for _, *at in found[:_FINISHED]
    )
    return max(filter(None, plans), key=lambda plan: plan.score)


def complete(root: States, stack: Stack, weights: Weights, width: int = _FINISHING_WIDTH) -> Plan | None:
    """The plan that builds a stack, then places the tiles left; None if the stack cannot be built."""
    table = root.copy()
    if not put(table, stack):
        return None
    return _plan_of(table) if engine.is_over(table, 0) else plan_forward(table, width, weights, free_from=0)


def _plan_of(table: States) -> Plan:
    """The plan that ends with a complete table."""
    return Plan(int(engine.score(table, 0, 0)), stack_of(table))


# --- stacks -----------------------------------------------------------------------------------------------


def as_solo_game(states: States) -> States:
    """The current player's table of a game, ``(1,)``, as a game of one player whose order is known.

    Its deck begins with the tiles on the table. In free order those left follow, a chosen one first.
    """
    root, player = empty_states(1), int(states[0]["current_player"])
    placed = write_solo_game(states, 0, KNOWN, root)
    if states[0]["order"] == FREE:
        left = np.zeros(NUM_DIGITS, np.int64)
        engine.supply(states, 0, player, left)
        on_table = root[0]["piece"][0, :placed] // NUM_TURNS
        root[0]["deck"][: root[0]["num_cards"]] = [*on_table, *np.repeat(np.arange(NUM_DIGITS), left)]
        if states[0]["chosen"][player] != NO_DIGIT:
            beam.draw(root, 0, states[0]["chosen"][player])
    return root


def stack_of(states: States) -> Stack:
    """The tiles on the table of a game of one player, counted from the corner of the first."""
    record = states[0]
    tiles = [
        [int(record[name][0, t]) for name in ("piece", "level", "row", "column")]
        for t in range(int(record["round"]))
    ]
    return tuple(
        Tile(piece, level, row - tiles[0][2], column - tiles[0][3]) for piece, level, row, column in tiles
    )


def action_of(tile: Tile, states: States, first: Tile) -> int:
    """The action that places a tile in a game of one player, ``(1,)``.

    ``first``, with the same origin, is the first tile on the table, or the first to be placed.
    """
    if states[0]["round"] == 0:
        row, column = middle(tile.piece)
    else:
        row = int(states[0]["row"][0, 0]) + tile.row - first.row
        column = int(states[0]["column"][0, 0]) + tile.column - first.column
    return place_action(tile.piece % NUM_TURNS, row, column)


def put(states: States, tiles: Iterable[Tile]) -> bool:
    """Places tiles in a new game of one player, rearranging its deck; returns whether the rules allow it."""
    first = None
    for tile in tiles:
        first = first or tile
        if states[0]["round"] == states[0]["num_rounds"] or not beam.draw(states, 0, tile.digit):
            return False
        action = action_of(tile, states, first)
        if not engine.is_legal(states, 0, action) or engine.level_of(states, 0, action) != tile.level:
            return False
        engine.apply(states, 0, action)
    return True


def in_order(tiles: Iterable[Tile]) -> Stack:
    """Brings tiles into an order in which they can be placed: level by level, each next to one before.

    Tiles of a level that are not connected to the others come last on it.
    """
    ordered: list[Tile] = []
    waiting = sorted(tiles, key=lambda tile: tile.level)
    while waiting:
        level = [tile for tile in waiting if tile.level == waiting[0].level]
        near = {cell for tile in ordered if tile.level == level[0].level for cell in _neighbors(tile)}
        tile = next((tile for tile in level if tile.cells & near), level[0])
        ordered.append(tile)
        waiting.remove(tile)
    return tuple(ordered)


def _neighbors(tile: Tile) -> set[Cell]:
    return {(r + dr, c + dc) for r, c in tile.cells for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))}


def from_tower(levels: Levels) -> Stack:
    """The tiles of a tower; see :mod:`~patchwork_env.agents.nmbr9.towers`."""
    return in_order(
        Tile(piece, level, *divmod(anchor, SIDE))
        for level, tiles in enumerate(levels)
        for piece, anchor in tiles
    )
