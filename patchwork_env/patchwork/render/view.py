"""What both the text and the picture of a game say."""

from __future__ import annotations

import numpy as np

from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.patchwork.components import QUILT_SIZE
from patchwork_env.patchwork.game import EMPTY, SPECIAL_PATCH, UNKNOWN_PIECE, Game


def top_player(game: Game) -> int | None:
    """The player whose token lies on top if both share a space, else None."""
    if game.positions[0] != game.positions[1]:
        return None
    if game.is_over and game.first_finisher is not None:
        return 1 - game.first_finisher
    return game.current_player


def empty_cells(game: Game, player: int) -> int:
    """The number of cells of a quilt that are not covered."""
    return int(np.count_nonzero(~game.quilt(player)))


def pieces(game: Game, player: int) -> list[tuple[int, Cells]]:
    """The pieces of a quilt with their cells; every special patch and every unknown cell is a piece."""
    layout = game.layout(player)
    patches: dict[int, list[Cell]] = {}
    singles: list[tuple[int, Cells]] = []
    for row in range(QUILT_SIZE):
        for column in range(QUILT_SIZE):
            piece = int(layout[row, column])
            if piece in (SPECIAL_PATCH, UNKNOWN_PIECE):
                singles.append((piece, ((row, column),)))
            elif piece != EMPTY:
                patches.setdefault(piece, []).append((row, column))
    return [*((piece, tuple(cells)) for piece, cells in patches.items()), *singles]


def status(game: Game, names: tuple[str, ...]) -> str:
    """A phrase that says who is to do what, or who has won."""
    winner = game.winner()
    if winner is not None:
        return f"{names[winner]} wins {game.scores()[winner]} to {game.scores()[1 - winner]}"
    if game.pending_special:
        return f"{names[game.current_player]} places a special patch"
    return f"{names[game.current_player]} to move"
