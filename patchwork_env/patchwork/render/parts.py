"""The parts of the picture that occur in several places: patches, buttons, clocks, tokens."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache

from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.drawing.scene import (
    Circle,
    Label,
    Lines,
    Point,
    Polygon,
    Rectangle,
    Scene,
    Segment,
    Shape,
)
from patchwork_env.patchwork.render import theme
from patchwork_env.patchwork.render.theme import Fabric, Weave

_CORNER = 0.16
_STITCH_INSET = 0.12
_STITCHES_PER_CELL = 4
_CORNER_STEPS = 4
_SIDES = (
    ((0, 0), (0, 1), (-1, 0)),
    ((0, 1), (1, 1), (0, 1)),
    ((1, 1), (1, 0), (1, 0)),
    ((1, 0), (0, 0), (0, -1)),
)
"""The sides of a cell, clockwise: where each starts and ends, and the cell beyond it."""
_WEAVE_LINES: dict[Weave, tuple[float, tuple[Segment, ...]]] = {
    "stripes": (0.11, (((0, 0.5), (0.5, 0)), ((0, 1), (1, 0)), ((0.5, 1), (1, 0.5)))),
    "pins": (0.13, (((0.25, 0), (0.25, 1)), ((0.75, 0), (0.75, 1)))),
    "crosses": (0.08, (((0.36, 0.36), (0.64, 0.64)), ((0.36, 0.64), (0.64, 0.36)))),
}
"""The width of the lines of a weave, and the lines within one cell; lengths are in cells."""


def outline(cells: Collection[Cell]) -> list[Cell]:
    """The corners (row, column) of the outline of a piece, clockwise on the screen.

    The piece must be connected, have no hole and nowhere touch itself at a corner only, as all patches do.
    """
    covered = set(cells)
    follows = {
        (row + start[0], column + start[1]): (row + end[0], column + end[1])
        for row, column in covered
        for start, end, neighbor in _SIDES
        if (row + neighbor[0], column + neighbor[1]) not in covered
    }
    loop = [min(follows)]
    while follows[loop[-1]] != loop[0]:
        loop.append(follows[loop[-1]])
    return _without_straight(loop)


def _without_straight(loop: list[Cell]) -> list[Cell]:
    turns = []
    for i, (row, column) in enumerate(loop):
        (row_before, column_before), (row_after, column_after) = loop[i - 1], loop[(i + 1) % len(loop)]
        if row_before != row_after and column_before != column_after:
            turns.append((row, column))
    return turns


@lru_cache(maxsize=1024)
def patch(
    cells: Cells, fabric: Fabric, origin: Point, cell: float, *, fine: bool = True
) -> tuple[Shape, ...]:
    """A piece of cloth with its edge and, if ``fine``, with weave and stitches.

    Results are cached, since most pieces stay from one picture of a game to the next.

    Args:
        cells: The cells (row, column) of the piece.
        fabric: The fabric of which it is made.
        origin: The point at which the top-left corner of cell (0, 0) lies.
        cell: The length of a cell's side.
        fine: Whether weave and stitches are drawn; on very small cells they would only blur.
    """
    corners = [(origin[0] + column * cell, origin[1] + row * cell) for row, column in outline(cells)]
    soft = tuple(_rounded(corners, _CORNER * cell))
    cloth, edge = Polygon(soft, fabric.cloth), Polygon(soft, None, fabric.edge, max(1.0, 0.055 * cell))
    if not fine:
        return cloth, edge
    stitches = Lines(tuple(_stitches(corners, cell)), fabric.stitches, max(0.8, 0.035 * cell))
    return cloth, *_weave(cells, fabric, origin, cell), edge, stitches


def contour(cells: Cells, color: str, origin: Point, cell: float, inset: float) -> tuple[Shape, ...]:
    """A line ``inset`` within the edge of a piece, seen on any fabric; for the others see :func:`patch`."""
    corners = [(origin[0] + column * cell, origin[1] + row * cell) for row, column in outline(cells)]
    line = tuple(_rounded(_inset(corners, inset), _CORNER * cell))
    return Polygon(line, None, "#ffffff", 0.2 * cell), Polygon(line, None, color, 0.11 * cell)


def _rounded(corners: list[Point], radius: float) -> Iterator[Point]:
    for i, corner in enumerate(corners):
        start = _toward(corner, corners[i - 1], radius)
        end = _toward(corner, corners[(i + 1) % len(corners)], radius)
        for step in range(_CORNER_STEPS + 1):
            t = step / _CORNER_STEPS
            weights = ((1 - t) ** 2, 2 * t * (1 - t), t**2)
            yield (
                sum(w * p[0] for w, p in zip(weights, (start, corner, end), strict=True)),
                sum(w * p[1] for w, p in zip(weights, (start, corner, end), strict=True)),
            )


def _toward(start: Point, end: Point, length: float) -> Point:
    share = length / math.dist(start, end)
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _stitches(corners: list[Point], cell: float) -> Iterator[Segment]:
    inner = _inset(corners, _STITCH_INSET * cell)
    for start, end in zip(inner, inner[1:] + inner[:1], strict=True):
        length = math.dist(start, end)
        count = max(1, round(length / cell * _STITCHES_PER_CELL))
        for i in range(count):
            yield (
                _toward(start, end, (i + 0.22) * length / count),
                _toward(start, end, (i + 0.78) * length / count),
            )


def _inset(corners: list[Point], distance: float) -> list[Point]:
    """The corners moved inward; the inside lies to the right of a clockwise edge."""
    moved = []
    for i, (x, y) in enumerate(corners):
        (x0, y0), (x2, y2) = corners[i - 1], corners[(i + 1) % len(corners)]
        normals = [_inward((x0, y0), (x, y)), _inward((x, y), (x2, y2))]
        moved.append((x + distance * sum(n[0] for n in normals), y + distance * sum(n[1] for n in normals)))
    return moved


def _inward(start: Point, end: Point) -> Point:
    length = math.dist(start, end)
    return -(end[1] - start[1]) / length, (end[0] - start[0]) / length


def _weave(cells: Cells, fabric: Fabric, origin: Point, cell: float) -> list[Shape]:
    corners = [(origin[0] + column * cell, origin[1] + row * cell) for row, column in cells]
    match fabric.weave:
        case "plain":
            return []
        case "dots":
            spots = [(x + u * cell, y + u * cell) for x, y in corners for u in (0.25, 0.75)]
            return [Circle(x, y, 0.085 * cell, fabric.pattern) for x, y in spots]
        case "checks":
            half = cell / 2
            squares = [(x + shift, y + shift) for x, y in corners for shift in (0, half)]
            return [Rectangle(x, y, half, half, fabric.pattern) for x, y in squares]
        case weave:
            width, lines = _WEAVE_LINES[weave]
            segments = tuple(
                ((x + u1 * cell, y + v1 * cell), (x + u2 * cell, y + v2 * cell))
                for x, y in corners
                for (u1, v1), (u2, v2) in lines
            )
            return [Lines(segments, fabric.pattern, width * cell)]


def buttons_on(cells: Collection[Cell], income: int, origin: Point, cell: float) -> list[Shape]:
    """The income buttons of a patch, one on each of its first cells."""
    shapes: list[Shape] = []
    for row, column in sorted(cells)[:income]:
        shapes += button(origin[0] + (column + 0.5) * cell, origin[1] + (row + 0.5) * cell, 0.27 * cell)
    return shapes


def button(x: float, y: float, radius: float) -> list[Shape]:
    """A sewing button with four holes."""
    shapes: list[Shape] = [Circle(x, y, radius, theme.BUTTON, theme.BUTTON_RIM, max(1.0, radius * 0.16))]
    reach, hole = radius * 0.33, max(0.7, radius * 0.15)
    holes = ((x + right, y + down) for right in (-reach, reach) for down in (-reach, reach))
    return [*shapes, *(Circle(*place, hole, theme.BUTTON_HOLE) for place in holes)]


def clock(x: float, y: float, radius: float) -> list[Shape]:
    """A clock face, the sign for time."""
    hands = (((x, y), (x, y - radius * 0.62)), ((x, y), (x + radius * 0.5, y)))
    width = max(1.0, radius * 0.18)
    return [Circle(x, y, radius, "#ffffff", theme.INK, width), Lines(hands, theme.INK, width)]


def special_patch(x: float, y: float, side: float) -> tuple[Shape, ...]:
    """A special 1x1 patch around (x, y)."""
    return patch(((0, 0),), theme.SPECIAL_FABRIC, (x - side / 2, y - side / 2), side)


def token(player: int, x: float, y: float, radius: float) -> list[Shape]:
    """A player's time token, without its number."""
    return [
        Circle(x + radius * 0.08, y + radius * 0.14, radius, theme.mix(theme.TRACK[1], theme.INK, 0.45)),
        Circle(x, y, radius, theme.PLAYERS[player], "#ffffff", radius * 0.15),
    ]


def token_number(player: int, x: float, y: float, radius: float) -> Label:
    """The number on a player's token."""
    size = radius * 1.15
    return Label(x, y + 0.36 * size, str(player), size, "#ffffff", "middle", bold=True)


def price_tag(scene: Scene, buttons: int, time: int, center: Point, size: float) -> None:
    """Adds the price of a patch, in buttons and in time, around ``center``; digits have the given size."""
    digit, radius = 0.6 * size, 0.42 * size
    widths = [2.45 * radius + digit * len(str(number)) for number in (buttons, time)]
    gap = 0.45 * size
    left, y = center[0] - (sum(widths) + gap) / 2, center[1]
    for number, width, sign in ((buttons, widths[0], button), (time, widths[1], clock)):
        scene.add(*sign(left + radius, y, radius))
        scene.add(Label(left + 2.45 * radius, y + 0.36 * size, str(number), size, theme.INK, bold=True))
        left += width + gap
