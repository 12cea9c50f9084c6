"""Towers: stacks of freely chosen tiles, planned from the top down by a beam search.

A tower is built upside down: first the highest level, of one tile or two, then below every level another one
that supports it. Support is what makes stacks hard, and in this order it is there by construction. An
exhaustive search finds the new levels: all sets of tiles, so many as are wanted, that cover the cells of the
level above with few to spare. No tile may rest on a single one. Each carries a cell of a level that is
connected, so its own level is connected, too.

With every new level, all tiles above gain their digit in points. Towers are compared with others of the same
number of levels, by their points plus an estimate of those that the tiles left will add: as a liquid, these
fill levels, the highest digits first, and each level needs a few cells more than the one above. A ragged
outline costs points, as it is harder to cover. What lies on the table itself scores nothing, so any tiles
left may lie there: :func:`ground` finds out whether they can carry a tower.

Levels lie on grids of 16x16 cells, four 64-bit words each: cell ``16 * row + column`` is bit ``cell % 64`` of
word ``cell // 64``. The upper levels of good stacks fit in, as each is made of few tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from patchwork_env.agents.nmbr9.beam import Pools, admit, new_pools
from patchwork_env.core.bits import popcount
from patchwork_env.core.compile import kernel
from patchwork_env.core.polyomino import extent
from patchwork_env.core.random import mix
from patchwork_env.nmbr9.actions import NUM_TURNS
from patchwork_env.nmbr9.components import NUM_DIGITS
from patchwork_env.nmbr9.tables import CELL_COLUMNS, CELL_ROWS, IS_DISTINCT, NUM_PIECES, SHAPES, SIZES

SIDE = 16
NUM_CELLS = SIDE * SIDE
NUM_WORDS = NUM_CELLS // 64

Grid = npt.NDArray[np.uint64]
"""A set of cells as bits, ``(NUM_WORDS,)``."""

_U = np.uint64
_U1 = _U(1)
_ROW, _LAST = _U(SIDE), _U(64 - SIDE)
_NOT_LAST_COLUMN = _U(0x7FFF7FFF7FFF7FFF)
_NOT_FIRST_COLUMN = _U(0xFFFEFFFEFFFEFFFE)


def _places() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    grids = np.zeros((NUM_PIECES, NUM_CELLS, NUM_WORDS), np.uint64)
    fits = np.zeros((NUM_PIECES, NUM_CELLS), np.bool_)
    for piece, shape in enumerate(SHAPES):
        height, width = extent(shape)
        for row in range(SIDE - height + 1):
            for column in range(SIDE - width + 1):
                anchor = SIDE * row + column
                fits[piece, anchor] = True
                for down, right in shape:
                    cell = anchor + SIDE * down + right
                    grids[piece, anchor, cell // 64] |= _U(1 << cell % 64)
    return grids, fits


PLACES, FITS = _places()
"""By piece and anchor, the first cell of its bounding box: the cells that it covers, and whether it fits."""
MOST_TILES = 8
"""The most tiles of a level."""
LARGEST = int(SIZES.max())

NODE = np.dtype(
    [
        ("cover", "u8", NUM_WORDS),  # cells of the lowest level
        ("left", "i8", NUM_DIGITS),  # tiles left of each digit
        ("digits", "i8"),  # sum over the tiles used
        ("score", "i8"),
        ("parent", "i8"),  # the slot of the tower above the lowest level, -1 for the highest level
        ("number", "i8"),  # tiles of the lowest level, and what they are:
        ("piece", "i8", MOST_TILES),
        ("anchor", "i8", MOST_TILES),
    ]
)
"""A tower: its lowest level, and where to find the levels above."""

Levels = tuple[tuple[tuple[int, int], ...], ...]
"""The tiles of each level, pieces and anchors, the lowest level first."""

_MOST_PLACES = NUM_PIECES * LARGEST
_FIRST_ANCHOR = SIDE * (SIDE // 2 - 2) + SIDE // 2 - 2


class Rating(NamedTuple):
    """The weights by which towers are compared, and the most cells to spare."""

    growth: float = 6.0  # cells that the estimate adds from each level to the one below
    factor: float = 1.0  # by which it multiplies the cells of a level before
    zero: float = 2.0  # cells that it counts for a 0, the hole of which carries nothing
    partial: float = 0.5  # its share of the points of a last level that is not full
    roughness: float = 0.3  # points for each unit edge of the outline of the lowest level
    noise: float = 0.0  # the most points at random, depending on the tower and the seed of the search
    waste: int = 10  # cells by which a level may be larger than the one above


class Search(NamedTuple):
    """The towers so far, by their number of levels."""

    rating: Rating
    seed: np.uint64
    numbers: npt.NDArray[np.int64]  # of the tiles of each level, from the top
    pools: Pools  # one for each level, which is the lowest of its towers
    nodes: npt.NDArray[np.void]  # NODE records (levels, width), by level and slot
    draft: npt.NDArray[np.void]  # one NODE record, the tower to be offered


class _Covers(NamedTuple):
    """The cells to be covered, and the places that cover each of them."""

    cells: npt.NDArray[np.int64]  # those with the fewest places first
    starts: npt.NDArray[np.int64]  # by cell, where its places begin and end in the lists below
    ends: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]  # pieces and anchors
    gains: npt.NDArray[np.int64]  # the number of cells of the level that lie on each place
    grids: npt.NDArray[np.uint64]  # the cells of each place


def start(
    supply: npt.NDArray[np.int64], numbers: Sequence[int], width: int, rating: Rating, seed: int
) -> Search:
    """A search that has found the highest levels.

    Args:
        supply: The number of tiles of each digit, ``(10,)``.
        numbers: The number of tiles of each level, from the top; one or two on the first.
        width: The number of towers kept of each number of levels.
        rating: How they are compared.
        seed: The seed of what is random.
    """
    levels = len(numbers)
    nodes, draft = np.zeros((levels, width), NODE), np.zeros(1, NODE)
    pools = new_pools(levels, width)
    search = Search(rating, np.uint64(seed), np.array(numbers, np.int64), pools, nodes, draft)
    _offer_tops(search, supply)
    return search


def levels_of(search: Search, level: int, node: np.void) -> Levels:
    """The tiles of a tower whose lowest level is number ``level`` from the top, 0 for the highest."""
    levels = []
    while True:
        number = int(node["number"])
        levels.append(tuple((int(node["piece"][t]), int(node["anchor"][t])) for t in range(number)))
        if level == 0:
            return tuple(levels)
        level -= 1
        node = search.nodes[level, node["parent"]]


# --- the towers kept --------------------------------------------------------------------------------------


@kernel
def _key(search: Search, node: np.void) -> np.uint64:
    """The key of the cells of the lowest level and the tiles left, on which all further levels depend."""
    key = search.seed
    for k in range(NUM_WORDS):
        key = mix(key ^ node["cover"][k])
    for digit in range(NUM_DIGITS):
        key = mix(key ^ _U(node["left"][digit]))
    return key


@kernel
def _potential(node: np.void, rating: Rating) -> float:
    """The estimate of the points that the tiles left will add.

    Every full level lifts all tiles above it, and the last one does so in part.
    """
    need = rating.factor * count(node["cover"]) + rating.growth
    total, above, here, filled = 0.0, float(node["digits"]), 0.0, 0.0
    for digit in range(NUM_DIGITS - 1, -1, -1):
        cells = node["left"][digit] * (SIZES[digit] if digit > 0 else rating.zero)
        while cells > 0:
            part = min(cells, need - filled)
            filled += part
            cells -= part
            here += part * digit / SIZES[digit]
            if filled >= need - 1e-9:
                total += above
                above += here
                here, filled = 0.0, 0.0
                need = rating.factor * need + rating.growth
    return total + rating.partial * above * filled / need


@kernel
def offer(search: Search, level: int) -> None:
    """Keeps the draft, whose lowest level is number ``level`` from the top, if it is among the best."""
    node, rating = search.draft[0], search.rating
    key = _key(search, node)
    value = node["score"] + _potential(node, rating) - rating.roughness * perimeter(node["cover"])
    value += rating.noise * float(key >> _U(11)) / 2.0**53
    slot = admit(search.pools, level, key, value)
    if slot >= 0:
        search.nodes[level, slot] = node


# --- highest levels ---------------------------------------------------------------------------------------


@kernel(allocates=True)
def _offer_tops(search: Search, supply: npt.NDArray[np.int64]) -> None:
    """Offers all highest levels of one tile, or of two; the first of them lies upright in the middle."""
    node, near = search.draft[0], np.empty(NUM_WORDS, np.uint64)
    for digit in range(NUM_DIGITS):
        if supply[digit] > 0:
            first = PLACES[NUM_TURNS * digit, _FIRST_ANCHOR]
            node["left"][:] = supply
            node["left"][digit] -= 1
            node["digits"], node["number"] = digit, 1
            node["score"], node["parent"] = 0, -1
            node["piece"][0], node["anchor"][0] = NUM_TURNS * digit, _FIRST_ANCHOR
            node["cover"][:] = first
            if search.numbers[0] == 1:
                offer(search, 0)
            else:
                write_neighbors(first, near)
                _offer_pairs(search, first, near)


@kernel
def _offer_pairs(search: Search, first: Grid, near: Grid) -> None:
    """Offers all highest levels of two tiles whose first tile is given."""
    node = search.draft[0]
    digits = node["digits"]
    node["number"] = 2
    for piece in range(NUM_PIECES):
        digit = piece // NUM_TURNS
        if node["left"][digit] == 0 or not IS_DISTINCT[piece]:
            continue
        node["left"][digit] -= 1
        node["digits"] = digits + digit
        node["piece"][1] = piece
        for anchor in range(NUM_CELLS):
            place = PLACES[piece, anchor]
            if overlap(place, near) and not overlap(place, first):
                node["anchor"][1] = anchor
                write_union(first, place, node["cover"])
                offer(search, 0)
        node["left"][digit] += 1


# --- another level ----------------------------------------------------------------------------------------


@kernel
def expand(search: Search, level: int, first: int, end: int) -> None:
    """Adds a level to the towers in slots ``first ... end - 1`` of a pool and offers the results."""
    for parent in range(first, min(end, search.pools.sizes[level])):
        _search_covers(search, level, parent, search.numbers[level + 1], search.rating.waste, False)


@kernel
def ground(search: Search, level: int, parent: int) -> bool:
    """Whether the tiles left can carry a tower of a pool; those that do so are then in the draft."""
    return _search_covers(search, level, parent, MOST_TILES, NUM_CELLS, True)


@kernel(allocates=True)
def _new_covers(size: int) -> _Covers:
    """Empty lists for a level of ``size`` cells."""
    most = size * _MOST_PLACES
    starts, ends = np.empty(NUM_CELLS, np.int64), np.empty(NUM_CELLS, np.int64)
    places, grids = np.empty((most, 2), np.int64), np.empty((most, NUM_WORDS), np.uint64)
    return _Covers(np.empty(size, np.int64), starts, ends, places, np.empty(most, np.int64), grids)


@kernel(allocates=True)
def _list_places(node: np.void, covers: _Covers) -> bool:
    """Lists, for each cell of a level, the places below that cover it; returns whether every cell has one.

    The places are those of tiles left that carry no tile alone.
    """
    above = np.empty((node["number"], NUM_WORDS), np.uint64)
    for t in range(node["number"]):
        above[t] = PLACES[node["piece"][t], node["anchor"][t]]
    cover = node["cover"].copy()
    n, found = 0, 0
    for cell in range(NUM_CELLS):
        if not has(cover, cell):
            continue
        covers.cells[found] = cell
        covers.starts[cell] = n
        found += 1
        for piece in range(NUM_PIECES):
            if IS_DISTINCT[piece] and node["left"][piece // NUM_TURNS] > 0:
                n = _list_places_of(piece, cell, cover, above, covers, n)
        covers.ends[cell] = n
        if covers.starts[cell] == n:
            return False
    return True


@kernel(allocates=True)
def _list_places_of(
    piece: int, cell: int, cover: Grid, above: npt.NDArray[np.uint64], covers: _Covers, n: int
) -> int:
    """Lists the places of one piece that cover a cell; returns the new length of the list."""
    for k in range(SIZES[piece // NUM_TURNS]):
        row, column = cell // SIDE - CELL_ROWS[piece, k], cell % SIDE - CELL_COLUMNS[piece, k]
        anchor = SIDE * row + column
        if row < 0 or column < 0 or not FITS[piece, anchor]:
            continue
        grid = PLACES[piece, anchor]
        carries_alone = False
        for t in range(len(above)):
            carries_alone = carries_alone or contains(grid, above[t])
        if not carries_alone:
            covers.places[n, 0], covers.places[n, 1] = piece, anchor
            covers.gains[n] = common(grid, cover)
            covers.grids[n] = grid
            n += 1
    return n


@kernel(allocates=True)
def _sort_cells(covers: _Covers) -> None:
    """Sorts the cells by the number of their places."""
    cells, numbers = covers.cells, covers.ends - covers.starts
    for i in range(1, len(cells)):
        cell, k = cells[i], i
        while k > 0 and numbers[cells[k - 1]] > numbers[cell]:
            cells[k] = cells[k - 1]
            k -= 1
        cells[k] = cell


@kernel(allocates=True)
def _search_covers(search: Search, level: int, parent: int, number: int, waste: int, is_ground: bool) -> bool:
    """Offers all levels of ``number`` tiles that cover a tower's cells, or finds a ground of no more tiles.

    At most ``waste`` cells of them are to spare. The search goes depth first; each step covers the first cell
    that is not covered yet, and leaves no more cells than the tiles to come can cover. It returns whether it
    has found a ground, at which it stops.
    """
    above = search.nodes[level, parent]
    covers = _new_covers(count(above["cover"]))
    if not _list_places(above, covers):
        return False
    _sort_cells(covers)
    node, starts, ends = search.draft[0], covers.starts, covers.ends
    unions = np.zeros((MOST_TILES + 1, NUM_WORDS), np.uint64)
    uncovered, room = np.empty(MOST_TILES + 1, np.int64), np.empty(MOST_TILES + 1, np.int64)
    here, end = np.empty(MOST_TILES + 1, np.int64), np.empty(MOST_TILES + 1, np.int64)
    node["left"][:] = above["left"]
    node["digits"], node["score"] = above["digits"], above["score"] + above["digits"]
    node["parent"] = parent
    depth, uncovered[0], room[0] = 0, len(covers.cells), 0
    for digit in range(NUM_DIGITS):
        room[0] += node["left"][digit] * SIZES[digit]
    here[0], end[0] = starts[covers.cells[0]], ends[covers.cells[0]]
    while depth >= 0:
        n = here[depth]
        if n == end[depth] or depth == number:
            depth -= 1
            if depth >= 0:
                _take_back(node, depth)
            continue
        here[depth] += 1
        digit = covers.places[n, 0] // NUM_TURNS
        uncovered[depth + 1] = uncovered[depth] - covers.gains[n]
        room[depth + 1] = room[depth] - SIZES[digit]
        too_many = uncovered[depth + 1] > min(LARGEST * (number - depth - 1), room[depth + 1])
        covered = len(covers.cells) - uncovered[depth + 1]
        too_many = too_many or room[0] - room[depth + 1] - covered > waste
        if too_many or node["left"][digit] == 0 or overlap(covers.grids[n], unions[depth]):
            continue
        node["piece"][depth], node["anchor"][depth] = covers.places[n, 0], covers.places[n, 1]
        node["left"][digit] -= 1
        node["digits"] += digit
        write_union(unions[depth], covers.grids[n], unions[depth + 1])
        depth += 1
        if uncovered[depth] > 0:
            k = 0
            while has(unions[depth], covers.cells[k]):
                k += 1
            here[depth], end[depth] = starts[covers.cells[k]], ends[covers.cells[k]]
            continue
        node["number"] = depth
        node["cover"][:] = unions[depth]
        if is_ground:
            return True
        if depth == number:
            offer(search, level + 1)
        depth -= 1
        _take_back(node, depth)
    return False


@kernel
def _take_back(node: np.void, t: int) -> None:
    """Returns tile ``t`` of the lowest level to the tiles that are left."""
    digit = node["piece"][t] // NUM_TURNS
    node["left"][digit] += 1
    node["digits"] -= digit


# --- grids ------------------------------------------------------------------------------------------------


@kernel(inline=True)
def count(grid: Grid) -> int:
    """The number of cells of a grid."""
    return common(grid, grid)


@kernel(inline=True)
def common(a: Grid, b: Grid) -> int:
    """The number of cells in both grids."""
    return popcount(a[0] & b[0]) + popcount(a[1] & b[1]) + popcount(a[2] & b[2]) + popcount(a[3] & b[3])


@kernel(inline=True)
def overlap(a: Grid, b: Grid) -> bool:
    """Whether any cell is in both grids."""
    return bool((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3]))


@kernel(inline=True)
def contains(a: Grid, b: Grid) -> bool:
    """Whether all cells of ``b`` are in ``a``."""
    return not bool((b[0] & ~a[0]) | (b[1] & ~a[1]) | (b[2] & ~a[2]) | (b[3] & ~a[3]))


@kernel(inline=True)
def has(grid: Grid, cell: int) -> bool:
    """Whether a cell is in the grid."""
    return bool((grid[cell >> 6] >> _U(cell & 63)) & _U1)


@kernel
def write_union(a: Grid, b: Grid, out: Grid) -> None:
    """Writes the cells that are in at least one of two grids."""
    for k in range(NUM_WORDS):
        out[k] = a[k] | b[k]


@kernel
def write_neighbors(grid: Grid, out: Grid) -> None:
    """Writes the cells that share an edge with a cell of the grid."""
    for k in range(NUM_WORDS):
        word = grid[k]
        near = (word << _ROW) | (word >> _ROW)
        near |= ((word >> _U1) & _NOT_LAST_COLUMN) | ((word << _U1) & _NOT_FIRST_COLUMN)
        if k > 0:
            near |= grid[k - 1] >> _LAST
        if k < NUM_WORDS - 1:
            near |= grid[k + 1] << _LAST
        out[k] = near


@kernel
def perimeter(grid: Grid) -> int:
    """The number of unit edges between cells in the grid and cells that are not."""
    joints = 0
    for k in range(NUM_WORDS):
        word = grid[k]
        above = word >> _ROW
        if k < NUM_WORDS - 1:
            above |= grid[k + 1] << _LAST
        joints += popcount(word & (word >> _U1) & _NOT_LAST_COLUMN) + popcount(word & above)
    return 4 * count(grid) - 2 * joints
