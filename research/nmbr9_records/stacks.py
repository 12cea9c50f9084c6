"""Stacks of a game in free order: built by the rules, put in order, and completed from towers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter

import numpy as np

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.beam import Plan, Stack, action_of, as_solo_game, plan_of
from patchwork_env.agents.nmbr9.features import Tile
from patchwork_env.core.polyomino import Cell
from patchwork_env.errors import IllegalActionError
from patchwork_env.nmbr9.actions import choose_action
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from research.nmbr9_records import towers
from research.nmbr9_records.towers import SIDE, Levels, Rating

_CHUNK = 16
"""The number of towers between two looks at the clock."""


def better_stacks(
    game: Game,
    numbers: Sequence[int],
    width: int,
    rating: Rating,
    seed: int,
    least: int,
    end: float = math.inf,
) -> Iterator[Stack]:
    """Stacks of more than ``least`` points that a search of towers finds, each better than those before.

    Args:
        game: The game that they are for. Some of its tiles may be left.
        numbers: The number of tiles of each level above the table, from the top.
        width: The number of towers kept of each number of levels.
        rating: How they are compared.
        seed: The seed of the noise of the rating.
        least: The points that stacks must exceed.
        end: When to stop, by :func:`time.perf_counter`.
    """
    state = game.state[0]
    supply = np.bincount(state["deck"][: state["num_cards"]], minlength=NUM_DIGITS).astype(np.int64)
    search = towers.start(supply, numbers, width, rating, seed)
    for level, kept in enumerate(search.pools.sizes):
        nodes = search.nodes[level, :kept]
        scores = nodes["score"] + nodes["digits"]
        for slot in np.argsort(-scores, kind="stable"):
            if perf_counter() > end or scores[slot] <= least:
                break
            if towers.ground(search, level, slot):
                least = int(scores[slot])
                yield from_tower(towers.levels_of(search, level + 1, search.draft[0]))
        for first in range(0, kept if level + 1 < len(numbers) else 0, _CHUNK):
            if perf_counter() > end:
                return
            towers.expand(search, level, first, first + _CHUNK)


def complete(game: Game, stack: Stack) -> Plan:
    """The plan that builds a stack in a new game; the other tiles follow, as high as possible.

    Raises:
        ValueError: The rules do not allow the stack.
    """
    build(game, stack)
    while not game.is_over:
        game.play(greedy.choose_action(game.state, 0))
    return plan_of(as_solo_game(game.state))


def build(game: Game, stack: Stack) -> None:
    """Plays the tiles of a stack in a game in free order that begins.

    Raises:
        ValueError: A placement is not allowed by the rules, or a level is not as stated.
    """
    for number, tile in enumerate(stack, 1):
        try:
            game.play(choose_action(tile.digit))
            action = action_of(tile, as_solo_game(game.state), stack[0])
            level = game.decode(action).level
            game.play(action)
        except IllegalActionError as error:
            raise ValueError(f"placement {number}, {tile}: {error}") from None
        if level != tile.level:
            raise ValueError(f"placement {number}, {tile}: it lies on level {level}")


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
    """The tiles of a tower; see :mod:`research.nmbr9_records.towers`."""
    return in_order(
        Tile(piece, level, *divmod(anchor, SIDE))
        for level, tiles in enumerate(levels)
        for piece, anchor in tiles
    )
