"""Stacks: one player's table as a game of one player, and as a list of tiles.

The order of such a game is known. Where the order of the real game is free, the next card is exchanged for
whichever is to be placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.nmbr9.beam.forward import draw
from patchwork_env.agents.nmbr9.beam.grids import SIDE
from patchwork_env.agents.nmbr9.beam.towers import Levels
from patchwork_env.core.polyomino import Cell
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.actions import NUM_TURNS, cells_at, place_action
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.state import FREE, KNOWN, NO_DIGIT, States
from patchwork_env.nmbr9.tables import middle


class Tile(NamedTuple):
    """A tile of a stack: piece, level, and the top-left corner of its bounding box, from any origin."""

    piece: int
    level: int
    row: int
    column: int

    @property
    def digit(self) -> int:
        """The digit of the tile."""
        return self.piece // NUM_TURNS

    @property
    def cells(self) -> frozenset[Cell]:
        """The cells that the tile covers."""
        return cells_at(self.digit, self.piece % NUM_TURNS, self.row, self.column)


Stack = tuple[Tile, ...]
"""Tiles in an order in which they can be placed."""


def alone(states: States, i: int) -> States:
    """The current player's table as a game of one player.

    Its deck begins with the tiles on the table. In free order those left follow, a chosen one first.
    """
    player = int(states[i]["current_player"])
    placed = engine.num_placed(states, i, player)
    root = states[i : i + 1].copy()
    for name in ("piece", "level", "row", "column"):
        root[0][name][0] = states[i][name][player]
    root[0]["num_players"], root[0]["current_player"] = 1, 0
    root[0]["round"], root[0]["order"] = placed, KNOWN
    root[0]["chosen"][0] = NO_DIGIT
    if states[i]["order"] == FREE:
        left = np.zeros(NUM_DIGITS, np.int64)
        engine.supply(states, i, player, left)
        on_table = root[0]["piece"][0, :placed] // NUM_TURNS
        root[0]["deck"][: root[0]["num_cards"]] = [*on_table, *np.repeat(np.arange(NUM_DIGITS), left)]
        if states[i]["chosen"][player] != NO_DIGIT:
            draw(root, 0, states[i]["chosen"][player])
    return root


def stack_of(states: States) -> Stack:
    """The tiles on the table of a game of one player, counted from the corner of the first."""
    record = states[0]
    number = int(record["round"])
    rows, columns = record["row"][0].astype(int), record["column"][0].astype(int)
    return tuple(
        Tile(
            int(record["piece"][0, t]),
            int(record["level"][0, t]),
            int(rows[t] - rows[0]),
            int(columns[t] - columns[0]),
        )
        for t in range(number)
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
        if states[0]["round"] == states[0]["num_rounds"] or not draw(states, 0, tile.digit):
            return False
        action = action_of(tile, states, first)
        if not engine.is_legal(states, 0, action) or engine.level_of(states, 0, action) != tile.level:
            return False
        if not engine.play(states, 0, action):
            return False
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


def without(stack: Sequence[Tile], removed: Iterable[int]) -> Stack:
    """The tiles that are left when some are removed, and with them all that rest on them."""
    kept: list[Tile] = []
    gone = set(removed)
    for t, tile in enumerate(stack):
        below = {cell for other in kept if other.level == tile.level - 1 for cell in other.cells}
        if t not in gone and (tile.level == 0 or tile.cells <= below):
            kept.append(tile)
    return tuple(kept)


def from_tower(levels: Levels) -> Stack:
    """The tiles of a tower; see :mod:`~patchwork_env.agents.nmbr9.beam.towers`."""
    return in_order(
        Tile(piece, level, *divmod(anchor, SIDE))
        for level, tiles in enumerate(levels)
        for piece, anchor in tiles
    )


def upper_levels(stack: Sequence[Tile], lowest: int) -> Levels:
    """The tiles of all levels from ``lowest`` on, in the middle of a grid.

    Raises:
        ValueError: The tiles do not fit on a grid.
    """
    tiles = [tile for tile in stack if tile.level >= lowest]
    rows, columns = zip(*(cell for tile in tiles for cell in tile.cells), strict=True)
    if max(max(rows) - min(rows), max(columns) - min(columns)) >= SIDE:
        raise ValueError(f"the tiles spread over more than {SIDE} rows or columns")
    down, right = ((SIDE - 1 - max(line) - min(line)) // 2 for line in (rows, columns))
    return tuple(
        tuple((t.piece, SIDE * (t.row + down) + t.column + right) for t in tiles if t.level == level)
        for level in range(lowest, max(tile.level for tile in tiles) + 1)
    )
