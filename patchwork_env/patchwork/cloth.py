"""The shapes and colors of pictures: fabrics, patches, buttons, clocks and tokens."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from patchwork_env.core.polyomino import Cell, Cells
from patchwork_env.drawing import Circle, Label, Lines, Point, Polygon, Rectangle, Scene, Segment, Shape, mix
from patchwork_env.patchwork.components import NUM_PATCHES

LINEN = "#efe6d8"
PAPER = "#fbf7f0"
QUILT_CELL = "#f6efe3"
QUILT_GRID = "#dccfbb"
INK = "#3a322c"
FADED_INK = "#8a7d70"
PLAYERS = ("#23777b", "#c4552f")  # the color of each player's token, quilt frame and panel
PLAYER_TINTS = ("#e0efee", "#fae6dc")
BUTTON = "#3f6fb5"
TRACK = ("#e4d5bb", "#d3bf9d")
"""The colors of the first and the last space of the track; those between are mixtures."""
TRACK_WALL = "#8b7355"
TRACK_GRID = "#f3eadb"
TRACK_NUMBER = "#6b5c4b"
INCOME_SPACE = "#b5cbe8"
GOLD = "#d9a528"
_BUTTON_RIM, _BUTTON_HOLE = "#2a4d80", "#e6eefa"

# --- fabrics ----------------------------------------------------------------------------------------------

Weave = Literal["plain", "dots", "stripes", "checks", "pins", "crosses"]
_WEAVES: tuple[Weave, ...] = ("plain", "dots", "stripes", "checks", "pins", "crosses")
_WEAVE_LINES: dict[Weave, tuple[float, tuple[Segment, ...]]] = {
    "stripes": (0.11, (((0, 0.5), (0.5, 0)), ((0, 1), (1, 0)), ((0.5, 1), (1, 0.5)))),
    "pins": (0.13, (((0.25, 0), (0.25, 1)), ((0.75, 0), (0.75, 1)))),
    "crosses": (0.08, (((0.36, 0.36), (0.64, 0.64)), ((0.36, 0.64), (0.64, 0.36)))),
}
"""The width of the lines of a weave, and the lines within one cell; lengths are in cells."""
_TONES = ((0.66, 0.105), (0.79, 0.085), (0.56, 0.085))  # lightness and chroma of the cloths


class Fabric(NamedTuple):
    """The colors of cloth, weave, edge and stitches, and the weave."""

    cloth: str
    pattern: str
    edge: str
    stitches: str
    weave: Weave


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """Return a color as ``#rrggbb`` from OKLCH, in which equal steps look equal (B. Ottosson, 2020).

    The lightness is 0-1; the chroma is 0 for gray, up to about 0.15; the hue is in turns, 0-1.
    """
    a, b = chroma * math.cos(math.tau * hue), chroma * math.sin(math.tau * hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(channel)):02x}" for channel in linear)


def _gamma(channel: float) -> float:
    channel = min(max(channel, 0.0), 1.0)
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055


def _fabric(cloth: str, weave: Weave = "plain") -> Fabric:
    return Fabric(
        cloth,
        pattern=mix(cloth, "#ffffff", 0.22),
        edge=mix(cloth, "#2b1d12", 0.58),
        stitches=mix(cloth, "#ffffff", 0.68),
        weave=weave,
    )


def _patch_fabric(patch: int) -> Fabric:
    """Return the fabric of a patch: eleven hues in three tones, very different for neighboring numbers."""
    hues = NUM_PATCHES // len(_TONES)
    tone = patch % len(_TONES)
    hue = (patch * 4 % hues + tone / len(_TONES)) / hues
    return _fabric(oklch(*_TONES[tone], hue), _WEAVES[patch % len(_WEAVES)])


FABRICS = tuple(map(_patch_fabric, range(NUM_PATCHES)))
"""The fabric of every patch: no two have the same cloth."""
SPECIAL_FABRIC, UNKNOWN_FABRIC = _fabric("#7d6450"), _fabric("#c3bbae")

# --- patches ----------------------------------------------------------------------------------------------

_CORNER = 0.16
_CORNER_STEPS = 4
_STITCH_INSET = 0.12
_STITCHES_PER_CELL = 4
_SIDES = (
    ((0, 0), (0, 1), (-1, 0)),
    ((0, 1), (1, 1), (0, 1)),
    ((1, 1), (1, 0), (1, 0)),
    ((1, 0), (0, 0), (0, -1)),
)
"""The sides of a cell, clockwise: the start, the end, and the offset of the neighboring cell."""


def outline(cells: Collection[Cell]) -> list[Cell]:
    """Return the corners (row, column) of the outline of a piece, clockwise on the screen.

    The piece must be connected, without holes and without cells that touch only at a corner, like all
    patches.
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
    around = zip(loop[-1:] + loop[:-1], loop, loop[1:] + loop[:1], strict=True)
    return [spot for before, spot, after in around if before[0] != after[0] and before[1] != after[1]]


def _corners(cells: Cells, origin: Point, cell: float) -> list[Point]:
    """Return the points of the :func:`outline` of a piece; cell (0, 0) begins at ``origin``."""
    return [(origin[0] + column * cell, origin[1] + row * cell) for row, column in outline(cells)]


@lru_cache(maxsize=1024)
def patch(
    cells: Cells, fabric: Fabric, origin: Point, cell: float, *, fine: bool = True
) -> tuple[Shape, ...]:
    """Return a piece of cloth with its edge and, if ``fine``, with weave and stitches."""
    corners = _corners(cells, origin, cell)
    soft = tuple(_rounded(corners, _CORNER * cell))
    cloth, edge = Polygon(soft, fabric.cloth), Polygon(soft, None, fabric.edge, max(1.0, 0.055 * cell))
    if not fine:
        return cloth, edge
    stitches = Lines(tuple(_stitches(corners, cell)), fabric.stitches, max(0.8, 0.035 * cell))
    return cloth, *_weave(cells, fabric, origin, cell), edge, stitches


def contour(cells: Cells, color: str, origin: Point, cell: float, inset: float) -> tuple[Shape, ...]:
    """Return a line ``inset`` within the edge of a piece, visible on any fabric."""
    line = tuple(_rounded(_inset(_corners(cells, origin, cell), inset), _CORNER * cell))
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
            first, last = ((i + share) * length / count for share in (0.22, 0.78))
            yield _toward(start, end, first), _toward(start, end, last)


def _inset(corners: list[Point], distance: float) -> list[Point]:
    """Return the corners moved inward; the inside is to the right of a clockwise edge."""
    moved = []
    for i, (x, y) in enumerate(corners):
        normals = [_inward(corners[i - 1], (x, y)), _inward((x, y), corners[(i + 1) % len(corners)])]
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


def special_patch(x: float, y: float, side: float) -> tuple[Shape, ...]:
    """Return a special 1x1 patch around (x, y)."""
    return patch(((0, 0),), SPECIAL_FABRIC, (x - side / 2, y - side / 2), side)


# --- buttons, clocks and tokens ---------------------------------------------------------------------------


def button(x: float, y: float, radius: float) -> list[Shape]:
    """Return a sewing button with four holes."""
    reach, hole = radius * 0.33, max(0.7, radius * 0.15)
    holes = ((x + right, y + down) for right in (-reach, reach) for down in (-reach, reach))
    rim = Circle(x, y, radius, BUTTON, _BUTTON_RIM, max(1.0, radius * 0.16))
    return [rim, *(Circle(*place, hole, _BUTTON_HOLE) for place in holes)]


def _clock(x: float, y: float, radius: float) -> list[Shape]:
    hands = (((x, y), (x, y - radius * 0.62)), ((x, y), (x + radius * 0.5, y)))
    width = max(1.0, radius * 0.18)
    return [Circle(x, y, radius, "#ffffff", INK, width), Lines(hands, INK, width)]


def token(player: int, x: float, y: float, radius: float, *, numbered: bool = True) -> list[Shape | Label]:
    """Return a player's time token, with its number unless another token is on it."""
    size = 1.15 * radius
    number = Label(x, y + 0.36 * size, str(player), size, "#ffffff", "middle", bold=True)
    return [
        Circle(x + radius * 0.08, y + radius * 0.14, radius, mix(TRACK[1], INK, 0.45)),
        Circle(x, y, radius, PLAYERS[player], "#ffffff", radius * 0.15),
        *([number] if numbered else []),
    ]


def price_tag(scene: Scene, buttons: int, time: int, center: Point, size: float) -> None:
    """Add the price of a patch, in buttons and in time, around ``center``; digits have the given size."""
    digit, radius = 0.6 * size, 0.42 * size
    widths = [2.45 * radius + digit * len(str(number)) for number in (buttons, time)]
    gap = 0.45 * size
    left, y = center[0] - (sum(widths) + gap) / 2, center[1]
    for number, width, sign in ((buttons, widths[0], button), (time, widths[1], _clock)):
        scene.add(*sign(left + radius, y, radius))
        scene.add(Label(left + 2.45 * radius, y + 0.36 * size, str(number), size, INK, bold=True))
        left += width + gap
