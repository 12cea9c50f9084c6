"""An agent of NMBR 9 for games whose tiles to come are known: it plans the whole game and plays the plan.

With a width, a plan is one search. With a time, searches follow each other: a narrow one to measure how long
they take, then wider ones, with some noise in the values that they compare; each takes a share of the time
left. The best plan counts.

Plans are made for a game of one player whose order is known. Where the order of the real game is free, the
next card is exchanged for whichever is to be placed.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.base import Agent, record_of
from patchwork_env.agents.nmbr9 import beam
from patchwork_env.agents.nmbr9.expansion import write_solo_game
from patchwork_env.agents.nmbr9.fits import Tile
from patchwork_env.agents.nmbr9.value import Weights, read_value
from patchwork_env.agents.specs import check_budget, check_checkpoint, checkpoint_path, spec_of
from patchwork_env.core.checks import check_seed, offset_seed
from patchwork_env.core.game import BaseGame
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
    if free_from is None:
        free_from = int(root[0]["num_rounds"] - root[0]["round"])
    if seconds is None:
        return search(root, width, weights, free_from, 0.0, seed)
    end, plans, width = perf_counter() + seconds, list[Plan](), _FIRST_WIDTH
    while True:
        began, noise = perf_counter(), _NOISE if plans else 0.0
        plans.append(search(root, width, weights, free_from, noise, offset_seed(seed, len(plans))))
        now = perf_counter()
        fitting = int(_SHARE * (end - now) / (now - began) * width)
        if fitting < _FIRST_WIDTH:
            return max(plans, key=lambda found: found.score)
        width = min(fitting, _MOST_WIDENING * width, MOST_WIDTH)


def search(
    root: States, width: int, weights: Weights, free_from: int, noise: float = 0.0, seed: int = 0
) -> Plan:
    """The plan of one search; see :func:`.beam.search`."""
    return plan_of(beam.search(root, width, weights, free_from=free_from, noise=noise, seed=seed))


def plan_of(table: States) -> Plan:
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
