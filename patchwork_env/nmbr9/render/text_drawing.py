"""A game as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from patchwork_env.core.names import counted
from patchwork_env.core.polyomino import Cell
from patchwork_env.drawing.pictures import player_names
from patchwork_env.nmbr9.actions import Move
from patchwork_env.nmbr9.game import Game

_EMPTY = "·"


def text(game: Game) -> str:
    """Draws a game as text: for each player the uppermost digits and, beside them, the heights in tiles.

    Rows and columns have the numbers that they have in moves, counted from the table's first tile:
    ``7/3@-2,5`` puts the top-left corner of tile 7 into row -2, column 5.
    """
    return "\n".join([_headline(game, player_names(game)), "", tables(game)]) + "\n"


def tables(game: Game) -> str:
    """The tables alone, without a line about the game."""
    blocks = []
    for player, (name, score) in enumerate(zip(player_names(game), game.scores(), strict=True)):
        moves = game.placements(player)
        blocks.append("\n".join([f"{name}: {counted(len(moves), 'tile')}, score {score}", *_table(moves)]))
    return "\n\n".join(blocks)


def _headline(game: Game, names: tuple[str, ...]) -> str:
    if game.is_over:
        winners = " and ".join(names[player] for player in game.winners())
        return f"NMBR 9: over, won by {winners}" if game.num_players > 1 else "NMBR 9: over"
    tile = f"places tile {game.digit}" if game.digit is not None else "chooses a tile"
    remaining = enumerate(game.remaining(game.current_player))
    to_come = " ".join(f"{digit}x{count}" for digit, count in remaining if count)
    left = f", to come {to_come}" if to_come else ""
    return f"NMBR 9, round {game.round + 1} of {game.num_rounds}: {names[game.current_player]} {tile}{left}"


def _table(moves: tuple[Move, ...]) -> Iterator[str]:
    """The rows that the tiles cover, as digits and as heights."""
    digits: dict[Cell, int] = {}
    heights: dict[Cell, int] = {}
    for move in moves:
        for cell in move.cells:
            heights[cell] = heights.get(cell, 0) + 1
            if heights[cell] == (move.level or 0) + 1:
                digits[cell] = move.digit
    if not heights:
        return
    top, left = min(r for r, _ in moves[0].cells), min(c for _, c in moves[0].cells)
    rows = range(min(r for r, _ in heights), max(r for r, _ in heights) + 1)
    columns = range(min(c for _, c in heights), max(c for _, c in heights) + 1)
    ruler = "".join(f"{column - left:>4}" for column in columns)
    yield f"    {ruler}    {ruler}"
    for row in rows:
        parts = (
            "".join(f"{values.get((row, column), _EMPTY):>4}" for column in columns)
            for values in (digits, heights)
        )
        yield f"{row - top:>4}" + "    ".join(parts)
