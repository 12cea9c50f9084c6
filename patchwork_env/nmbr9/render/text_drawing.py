"""A game as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase

from patchwork_env.core.names import counted
from patchwork_env.core.polyomino import Cell, normalize
from patchwork_env.drawing.pictures import player_names
from patchwork_env.nmbr9.actions import NUM_TURNS, ORIENTED, Move
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.notation import tile_text

_EMPTY = "·"
_LETTERS = ascii_uppercase + ascii_lowercase
_LEGEND = f"tiles: the uppermost ones, by letter and digit   levels: theirs, 0 is the table   {_EMPTY} empty"


def text(game: Game) -> str:
    """Draws a game as text: for each player the tiles in words, and where they lie.

    Rows and columns have the numbers that they have in moves, counted from the table's first tile:
    ``7/3@-2,5`` puts the top-left corner of tile 7 into row -2, column 5.
    """
    return "\n".join([_headline(game, player_names(game)), "", tables(game)]) + "\n"


def tables(game: Game, viewer: int | None = None) -> str:
    """The tables alone; with a ``viewer``, of the others' what this player knows."""
    known = game if viewer is None else game.public()
    tables = [(game if player == viewer else known).placements(player) for player in range(game.num_players)]
    blocks = [
        "\n".join([f"{name}: {counted(len(moves), 'tile')}, score {_score(moves)}", *_table(moves)])
        for name, moves in zip(player_names(game), tables, strict=True)
    ]
    return "\n\n".join([*blocks, _LEGEND] if any(tables) else blocks)


def _score(moves: Sequence[Move]) -> int:
    return sum(move.digit * (move.level or 0) for move in moves)


def _headline(game: Game, names: tuple[str, ...]) -> str:
    if game.is_over:
        winners = " and ".join(names[player] for player in game.winners())
        return f"NMBR 9: over, won by {winners}" if game.num_players > 1 else "NMBR 9: over"
    tile = f"places tile {game.digit}" if game.digit is not None else "chooses a tile"
    remaining = enumerate(game.remaining(game.current_player))
    to_come = " ".join(f"{digit}x{count}" for digit, count in remaining if count)
    left = f", to come {to_come}" if to_come else ""
    return f"NMBR 9, round {game.round + 1} of {game.num_rounds}: {names[game.current_player]} {tile}{left}"


def _table(moves: Sequence[Move]) -> Iterator[str]:
    """The tiles in words, by levels, and the rows that they cover: the uppermost ones and their levels."""
    if not moves:
        return
    lettered = list(zip(_LETTERS, moves, strict=False))
    for level in sorted({move.level or 0 for move in moves}, reverse=True):
        words = (f"{letter} {_word(move, moves[0])}" for letter, move in lettered if move.level == level)
        yield f"level {level}: {'  '.join(words)}"
    tiles: dict[Cell, str] = {}
    levels: dict[Cell, int] = {}
    for letter, move in lettered:
        for cell in move.cells:
            if levels.get(cell, -1) < (move.level or 0):
                tiles[cell], levels[cell] = f"{letter}{move.digit}", move.level or 0
    top, left = _corner(moves[0])
    rows = range(min(r for r, _ in levels), max(r for r, _ in levels) + 1)
    columns = range(min(c for _, c in levels), max(c for _, c in levels) + 1)
    ruler = "".join(f"{column - left:>4}" for column in columns)
    yield f"    {'  tiles':<{len(ruler)}}      levels"
    yield f"    {ruler}    {ruler}"
    for row in rows:
        parts = (
            "".join(f"{values.get((row, column), _EMPTY):>4}" for column in columns)
            for values in (tiles, levels)
        )
        yield f"{row - top:>4}" + "    ".join(parts)


def _word(move: Move, first: Move) -> str:
    """The word that placed a tile on the table with this first one."""
    (row, column), (top, left) = _corner(move), _corner(first)
    orientation = ORIENTED[move.digit].index(normalize(move.cells))
    return tile_text(NUM_TURNS * move.digit + orientation, row - top, column - left)


def _corner(move: Move) -> Cell:
    return min(row for row, _ in move.cells), min(column for _, column in move.cells)
