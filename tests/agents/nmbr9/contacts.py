"""How closely tiles lie, counted cell by cell."""

from __future__ import annotations

from patchwork_env.nmbr9 import Game

BESIDE = ((0, 1), (1, 0), (0, -1), (-1, 0))


def contact_of(game: Game, action: int) -> tuple[int, int]:
    """The level of a placement, and the edges of cells that it shares with tiles of this level."""
    move = game.decode(action)
    near = set().union(*(tile.cells for tile in game.placements(0) if tile.level == move.level))
    return move.level, sum((r + down, c + right) in near for r, c in move.cells for down, right in BESIDE)
