"""Pictures of a game: text, SVG, arrays of pixels, and files.

:func:`text` and :func:`svg` need nothing but NumPy. Pixels need Pillow, and windows need pygame-ce; both
belong to the optional extra ``render``. The tables are drawn side by side as reliefs, seen from the lower
right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor
from string import ascii_lowercase, ascii_uppercase

from patchwork_env.core.names import counted
from patchwork_env.core.polyomino import Cell, normalize
from patchwork_env.drawing import (
    Frame,
    Label,
    Lines,
    Pictures,
    Point,
    Polygon,
    Rectangle,
    Scene,
    Segment,
    player_names,
    save_gif,
    save_png,
)
from patchwork_env.errors import MissingExtraError
from patchwork_env.nmbr9.actions import NUM_TURNS, ORIENTED, Move
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.game import Game
from patchwork_env.nmbr9.notation import tile_text

__all__ = ["PICTURES", "Frame", "MissingExtraError", "rgb_array", "save_gif", "save_png", "svg", "text"]

# --- text -----------------------------------------------------------------------------------------------

_EMPTY = "·"
_LETTERS = ascii_uppercase + ascii_lowercase
_LEGEND = f"tiles: the uppermost ones, by letter and digit   levels: theirs, 0 is the table   {_EMPTY} empty"


def _text(game: Game) -> str:
    """Draw a game as text: for each player the list of tiles, and the table.

    Rows and columns are counted from the table's first tile, as in moves.
    """
    return "\n".join([_headline(game, player_names(game)), "", tables(game)]) + "\n"


def tables(game: Game, viewer: int | None = None) -> str:
    """Return the tables alone, for a ``viewer`` only what that player knows."""
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
    """Yield the tiles in words, by level, and the rows of the table with the uppermost tiles."""
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
    """Return the word of the move that placed a tile; ``first`` is the table's first tile."""
    (row, column), (top, left) = _corner(move), _corner(first)
    orientation = ORIENTED[move.digit].index(normalize(move.cells))
    return tile_text(NUM_TURNS * move.digit + orientation, row - top, column - left)


def _corner(move: Move) -> Cell:
    return min(row for row, _ in move.cells), min(column for _, column in move.cells)


# --- relief ---------------------------------------------------------------------------------------------

PANEL = 560.0
"""The side of the square in which a table is drawn."""
_MARGIN, _HEAD = 20.0, 70.0
_MIN_SPREAD = 10  # the number of rows and columns for which there is always room
_RISE = 0.22  # the distance by which each level is shifted up and to the left, in cells

_TABLE, _PAPER, _INK, _FADED = "#e7eaee", "#fafbfc", "#2b3138", "#78828d"

_TOPS = (
    *("#9aa5b1", "#e3a857", "#7fb069", "#d9705f", "#5b9bd5"),
    *("#b887c9", "#e6c84b", "#4fb3a5", "#e58fb0", "#8f7fd9"),
)
"""``_TOPS[digit]``: the color of a tile."""
_SIDES = (
    *("#66707b", "#a87328", "#4f7a3c", "#9c4335", "#2f6699"),
    *("#80538f", "#a58d1c", "#27796d", "#a9567a", "#5b4da6"),
)
"""``_SIDES[digit]``: the color of a tile's walls and edges."""
assert len(_TOPS) == len(_SIDES) == NUM_DIGITS


class View:
    """Converts cells of a table to points of its panel."""

    def __init__(self, moves: Sequence[Move], left: float, top: float) -> None:
        cells = [(*cell, (move.level or 0) + 1) for move in moves for cell in move.cells] or [(0, 0, 0)]
        rows, columns = [row for row, _, _ in cells], [column for _, column, _ in cells]
        middle = (max(rows) + min(rows) + 1) / 2, (max(columns) + min(columns) + 1) / 2
        reach = max(
            max(middle[0] - row, middle[1] - column) + _RISE * height for row, column, height in cells
        )
        extent = max(max(rows) - min(rows), max(columns) - min(columns))
        self.spread = max(_MIN_SPREAD, extent + 3, 2 * reach + 1)
        self.cell = PANEL / self.spread
        self._left = left + PANEL / 2 - self.cell * middle[1]
        self._top = top + PANEL / 2 - self.cell * middle[0]

    def point(self, row: float, column: float, height: float) -> Point:
        """Return the point in the picture of a corner of the grid ``height`` tiles above the table."""
        return (
            self._left + self.cell * (column - _RISE * height),
            self._top + self.cell * (row - _RISE * height),
        )


def _relief(game: Game, names: tuple[str, ...]) -> Scene:
    width = game.num_players * (PANEL + _MARGIN) + _MARGIN
    scene = Scene(width, PANEL + _HEAD + _MARGIN, _PAPER)
    for player, score in enumerate(game.scores()):
        left, moves = _MARGIN + player * (PANEL + _MARGIN), game.placements(player)
        scene.add(Label(left, 30, names[player], 22, _INK, bold=True))
        scene.add(Label(left, 56, _status(game, player), 16, _FADED))
        scene.add(Label(left + PANEL, 30, counted(score, "point"), 22, _INK, "end", bold=True))
        scene.add(Rectangle(left, _HEAD, PANEL, PANEL, _TABLE, 8))
        add_table(scene, moves, View(moves, left, _HEAD))
    return scene


def _status(game: Game, player: int) -> str:
    placed = f"{len(game.placements(player))} of {game.num_rounds} tiles"
    if game.is_over:
        won = player in game.winners() and game.num_players > 1
        return f"{placed}, winner" if won else placed
    if player != game.current_player:
        return placed
    return f"{placed}, {'chooses a tile' if game.digit is None else f'places a {game.digit}'}"


def add_table(scene: Scene, moves: tuple[Move, ...], view: View) -> None:
    """Add the tiles from the lowest level up, and the digit of every tile that can be seen."""
    heights: dict[Cell, int] = {}
    for move in moves:
        for cell in move.cells:
            heights[cell] = max(heights.get(cell, 0), (move.level or 0) + 1)
    for move in sorted(moves, key=lambda move: (move.level or 0, min(move.cells))):
        _add_tile(scene, move, view)
    for move in moves:
        visible = sorted(cell for cell in move.cells if _is_seen(heights, cell, (move.level or 0) + 1))
        if visible:
            row, column = visible[len(visible) // 2]
            x, y = view.point(row + 0.5, column + 0.5, (move.level or 0) + 1)
            size = 0.62 * view.cell
            scene.add(Label(x, y + 0.35 * size, str(move.digit), size, _INK, "middle", bold=True))


def _is_seen(heights: dict[Cell, int], cell: Cell, height: int) -> bool:
    """Whether no higher tile hides the middle of a cell at a height."""
    for more in range(1, max(heights.values()) - height + 1):
        row, column = (floor(index + 0.5 + _RISE * more) for index in cell)
        if heights.get((row, column), 0) >= height + more:
            return False
    return True


def _add_tile(scene: Scene, move: Move, view: View) -> None:
    """Add a tile: its walls below and to the right, its cells, and a line around it."""
    level = move.level or 0
    top, side = _TOPS[move.digit], _SIDES[move.digit]
    for row, column in sorted(move.cells):
        for (r0, c0), (r1, c1), beyond in (
            ((row + 1, column), (row + 1, column + 1), (row + 1, column)),
            ((row, column + 1), (row + 1, column + 1), (row, column + 1)),
        ):
            if beyond not in move.cells:
                foot = view.point(r0, c0, level), view.point(r1, c1, level)
                head = view.point(r1, c1, level + 1), view.point(r0, c0, level + 1)
                scene.add(Polygon((*foot, *head), side))
    edges: list[Segment] = []
    for row, column in sorted(move.cells):
        x, y = view.point(row, column, level + 1)
        scene.add(Rectangle(x, y, view.cell, view.cell, top))
        for start, end, beyond in (
            ((row, column), (row, column + 1), (row - 1, column)),
            ((row + 1, column), (row + 1, column + 1), (row + 1, column)),
            ((row, column), (row + 1, column), (row, column - 1)),
            ((row, column + 1), (row + 1, column + 1), (row, column + 1)),
        ):
            if beyond not in move.cells:
                edges.append((view.point(*start, level + 1), view.point(*end, level + 1)))
    scene.add(Lines(tuple(edges), side, max(1.0, 0.05 * view.cell)))


PICTURES: Pictures[Game] = Pictures("NMBR 9", Game, _text, _relief)
text, svg, rgb_array = PICTURES.text, PICTURES.svg, PICTURES.rgb_array
