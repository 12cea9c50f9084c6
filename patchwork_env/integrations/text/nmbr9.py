"""NMBR 9 in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.integrations.text.view import Group, LegalMove, View, listed
from patchwork_env.nmbr9.actions import DISTINCT, MAX_SPREAD, NUM_TURNS, ORIENTED, Move
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.notation import move_text, parse_tile
from patchwork_env.nmbr9.render import tables

_FORMS = (
    "'7/3@-2,5' to place tile 7 in orientation 3 at row -2, column 5; in free order '=7' to choose tile 7"
)
_DETAILS = "'orientation 3', 'row -2', 'column 5', 'level 1' and 'page 2'"
_NUMBER = "(?:0|-?[1-9][0-9]?)"
_WORD = re.compile(f"[0-9]/[0-9]@{_NUMBER}, ?{_NUMBER}|=[0-9]")
_BESIDE = ((0, 1), (1, 0), (0, -1), (-1, 0))

Table = dict[Cell, list[int]]  # for each covered cell the numbers of the tiles on it, from the table up


_ORDERS = {
    "unknown": "The tiles come in the order of a shuffled deck that no player knows.",
    "known": "The tiles come in an order that all players know.",
    "free": "Every player chooses which of their remaining tiles to place next.",
}


def _rules(game: Game) -> str:
    return f"""\
NMBR 9, for one to four players, each on a table of their own. Each places {game.num_rounds} tiles, \
polyominoes in the shape of the digits 0-9. {_ORDERS[game.order]}
- A tile may be turned, not flipped. It lies on one level; level 0 is the table.
- On a level that has tiles already, a new one must share an edge of a cell with one of them.
- Above level 0 every cell must rest on a cell of the level below, and the tile on at least two different \
tiles.
- A tile scores its digit times its level, so those on the table score nothing. The highest total wins.
Moves: {_FORMS}.
Row and column are those of the top-left corner of the tile's bounding box. They are counted from that of \
the first tile, which is at 0,0; negative ones are above and to the left. The tiles below determine the \
level. Orientation 0 is upright; 1, 2 and 3 are 1, 2 and 3 quarter turns clockwise."""


def _situation(game: Game, player: int) -> Iterator[str]:
    if game.is_over:
        return
    what = "choose a tile" if game.digit is None else f"place tile {game.digit}"
    yield f"Round {game.round + 1} of {game.num_rounds}: {what}."
    left = listed(f"{digit}x{count}" for digit, count in enumerate(game.remaining(player)) if count)
    what = "Tiles left to choose from" if game.order == "free" else "Cards not yet turned, in unknown order"
    if game.upcoming:
        yield f"The cards to come, in this order: {listed(game.upcoming)}."
    else:
        yield f"{what}: {left}."


def _groups(game: Game) -> tuple[Group, ...]:
    actions = game.legal_actions().tolist()
    moves = game.decode_all(actions)
    corner = _corner(game.placements(game.current_player))
    digit = game.digit
    words = [move_text(action, digit, corner) for action in actions]
    if digit is None:
        return tuple(
            Group(
                f"choose {move.digit}",
                f"to place tile {move.digit} next",
                (LegalMove(action, word, f"choose {move.digit}"),),
            )
            for action, move, word in zip(actions, moves, words, strict=True)
        )
    name = f"tile {digit}"
    choices = tuple(
        _choice(action, move, word, name) for action, move, word in zip(actions, moves, words, strict=True)
    )
    levels = sorted({choice.level or 0 for choice in choices}, reverse=True)
    counts = (f"{sum(choice.level == level for choice in choices)} on level {level}" for level in levels)
    return (Group(name, listed(counts), choices),)


def _corner(moves: tuple[Move, ...]) -> Cell | None:
    """Return the top-left corner of the first tile's bounding box, the origin of words; or None."""
    if not moves:
        return None
    return min(row for row, _ in moves[0].cells), min(column for _, column in moves[0].cells)


def _choice(action: int, move: Move, word: str, group: str) -> LegalMove:
    piece, down, right = parse_tile(word)
    return LegalMove(action, word, group, piece % NUM_TURNS, str(down), str(right), move.level)


def _shapes(piece: str) -> tuple[Cells, ...]:
    return ORIENTED[int(piece[-1])] if re.fullmatch("tile [0-9]", piece) else ()


def _why_not(game: Game, word: str) -> str:
    if word.startswith("="):
        return (
            f"tile {game.digit} must be placed now"
            if game.digit is not None
            else f"no tile {word[1:]} is left"
        )
    digit, orientation = int(word[0]), int(word[2])
    if game.digit is None:
        return f"choose a tile first, such as '={digit}'"
    if digit != game.digit:
        return f"the tile to be placed is {game.digit}, not {digit}"
    if orientation not in DISTINCT[digit]:
        return f"there is no orientation {orientation}; orientations are {listed(DISTINCT[digit])}"
    moves = game.placements(game.current_player)
    if (corner := _corner(moves)) is None:
        return f"the first tile lies at 0,0, as '{digit}/{orientation}@0,0'"
    _, down, right = parse_tile(word)
    top, left = corner
    return _why_no_room(moves, {(top + down + r, left + right + c) for r, c in ORIENTED[digit][orientation]})


def _why_no_room(moves: tuple[Move, ...], cells: set[Cell]) -> str:
    table: Table = {}
    for number, move in enumerate(moves):
        for cell in move.cells:
            table.setdefault(cell, []).append(number)
    heights = {len(table.get(cell, ())) for cell in cells}
    if len(heights) > 1:
        found = listed(
            f"tiles of level {height - 1}" if height else "the table" for height in sorted(heights)
        )
        return f"below it would be {found}, which must be one level"
    (level,) = heights
    below = {table[cell][-1] for cell in cells} if level else set()
    if len(below) == 1:
        return f"on level {level} it would rest on one tile alone; it must rest on two or more"
    beside = ((row + down, column + right) for row, column in cells for down, right in _BESIDE)
    if not any(len(table.get(cell, ())) > level for cell in beside):
        return f"on level {level} it would touch no other tile of that level"
    return f"the tiles would spread over more than {MAX_SPREAD} rows or columns"


VIEW = View(
    *(_rules, _situation, tables, _groups, _shapes),
    *("tile", _DETAILS, _WORD, _why_not, _FORMS),
)
