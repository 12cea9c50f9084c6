"""A second, deliberately naive implementation of NMBR 9, with which the compiled engine is compared.

It is written from the rules alone and shares nothing with `patchwork_env`: a table is a list of tiles, each a
set of (row, column) cells on a level, and tiles are drawings that are turned as text. Cells are counted from
the first tile's top-left corner and never move.
"""

from __future__ import annotations

from typing import NamedTuple

TILES = (
    "### / #.# / #.# / ###",
    "## / .# / .# / .#",
    ".## / .## / ##. / ###",
    "### / ..# / .## / ###",
    ".## / .#. / ### / .##",
    "### / ### / ..# / ###",
    "##. / #.. / ### / ###",
    "### / .#. / ##. / #..",
    ".## / .## / ##. / ##.",
    "### / ### / ##. / ##.",
)

MAX_SPREAD = 63
"""The rows, and the columns, over which the tiles of a table may spread."""

Cell = tuple[int, int]


class Tile(NamedTuple):
    digit: int
    level: int
    cells: frozenset[Cell]


class NaiveMove(NamedTuple):
    """Orientation, and row and column of the top-left corner, counted from that of the first tile."""

    orientation: int
    row: int
    column: int


def turned(drawing):
    """The drawing after one clockwise quarter turn."""
    return ["".join(column) for column in zip(*drawing[::-1], strict=True)]


def distinct_orientations(digit):
    """The distinct drawings by orientation, the lowest one of equal drawings."""
    drawing, found = TILES[digit].split(" / "), {}
    for orientation in range(4):
        if drawing not in found.values():
            found[orientation] = drawing
        drawing = turned(drawing)
    return found


def covered(drawing, row, column):
    return frozenset(
        (row + r, column + c) for r, line in enumerate(drawing) for c, mark in enumerate(line) if mark == "#"
    )


def neighbors(cell):
    row, column = cell
    return {(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)}


def spread(cells):
    """The numbers of rows and of columns from the first to the last of some cells."""
    rows, columns = zip(*cells, strict=True)
    return max(rows) - min(rows) + 1, max(columns) - min(columns) + 1


class Level:
    """The cells of a level and of the one below it."""

    def __init__(self, tiles, level):
        self.taken = {cell for tile in tiles if tile.level == level for cell in tile.cells}
        self.near = {neighbor for cell in self.taken for neighbor in neighbors(cell)}
        self.below = [tile for tile in tiles if tile.level == level - 1]
        self.support = {cell for tile in self.below for cell in tile.cells}
        self.is_table = level == 0

    def takes(self, cells):
        """Whether a tile may be placed on these cells."""
        if not cells.isdisjoint(self.taken):
            return False
        if self.taken and cells.isdisjoint(self.near):
            return False
        if self.is_table:
            return True
        if not cells <= self.support:
            return False
        return sum(bool(cells & tile.cells) for tile in self.below) >= 2


class NaiveTable:
    """One player's table."""

    def __init__(self):
        self.tiles: list[Tile] = []

    def legal_moves(self, digit):
        """All placements of a tile on all levels; for the first tile only the orientation can be chosen."""
        found: dict[NaiveMove, Tile] = {}
        rows, columns = self._around()
        number = max((tile.level for tile in self.tiles), default=-1) + 2
        levels = [Level(self.tiles, level) for level in range(number)]
        covered_before = [cell for tile in self.tiles for cell in tile.cells]
        for orientation, drawing in distinct_orientations(digit).items():
            for row in rows:
                for column in columns:
                    cells = covered(drawing, row, column)
                    fitting = [level for level in range(number) if levels[level].takes(cells)]
                    assert len(fitting) <= 1, "a placement has one level at most"
                    if fitting and max(spread([*covered_before, *cells])) <= MAX_SPREAD:
                        found[NaiveMove(orientation, row, column)] = Tile(digit, fitting[0], cells)
        return found

    def _around(self):
        """Rows and columns of all corners from which a tile could touch the table."""
        cells = [cell for tile in self.tiles for cell in tile.cells]
        if not cells:
            return range(1), range(1)
        rows, columns = [row for row, _ in cells], [column for _, column in cells]
        return range(min(rows) - 4, max(rows) + 2), range(min(columns) - 4, max(columns) + 2)

    def score(self):
        return sum(tile.digit * tile.level for tile in self.tiles)
