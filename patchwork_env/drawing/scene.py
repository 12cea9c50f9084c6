"""A picture as a list of primitives, from which SVG and pixels are drawn, and its drawing as SVG.

All lengths are in the scene's own units; x points to the right and y downward. Colors are written as
``#rrggbb``. Strokes are centered on the outline. Texts lie above all shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Literal, NamedTuple

Point = tuple[float, float]
Segment = tuple[Point, Point]
Anchor = Literal["start", "middle", "end"]

_FONTS = "Aileron, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


class Rectangle(NamedTuple):
    """An upright rectangle with its top-left corner at (x, y) and corners rounded by ``radius``."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    radius: float = 0
    stroke: str | None = None
    stroke_width: float = 1


class Polygon(NamedTuple):
    """A closed polygon that does not cross itself."""

    points: tuple[Point, ...]
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1


class Circle(NamedTuple):
    """A circle around (x, y)."""

    x: float
    y: float
    radius: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1


class Lines(NamedTuple):
    """Separate straight lines of one color and width."""

    segments: tuple[Segment, ...]
    stroke: str
    width: float = 1


class Label(NamedTuple):
    """One line of text whose baseline starts, ends or has its middle at (x, y)."""

    x: float
    y: float
    text: str
    size: float
    color: str
    anchor: Anchor = "start"
    bold: bool = False


Shape = Rectangle | Polygon | Circle | Lines


@dataclass
class Scene:
    """A picture of ``width`` by ``height``: shapes from back to front, and labels above them."""

    width: float
    height: float
    background: str
    shapes: list[Shape] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def add(self, *items: Shape | Label) -> None:
        """Adds labels, and shapes in front of the present ones."""
        for item in items:
            if isinstance(item, Label):
                self.labels.append(item)
            else:
                self.shapes.append(item)


def mix(first: str, second: str, share: float) -> str:
    """A mixture of two colors, with the given share (0-1) of ``second``."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


# --- SVG --------------------------------------------------------------------------------------------------


def to_svg(scene: Scene, title: str) -> str:
    """Draws a scene as a self-contained SVG document, which has no scripts or links and loads nothing."""
    size = f'width="{_number(scene.width)}" height="{_number(scene.height)}"'
    box = f'viewBox="0 0 {_number(scene.width)} {_number(scene.height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>',
        f"<title>{escape(title)}</title>",
        f'<rect {size} fill="{scene.background}"/>',
        '<g stroke-linejoin="round">',
        *map(_shape, scene.shapes),
        "</g>",
        f'<g font-family="{_FONTS}">',
        *map(_label, scene.labels),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _paint(fill: str | None, stroke: str | None, stroke_width: float) -> str:
    paint = f'fill="{fill or "none"}"'
    return paint if stroke is None else f'{paint} stroke="{stroke}" stroke-width="{_number(stroke_width)}"'


def _shape(shape: Shape) -> str:
    match shape:
        case Rectangle(x, y, width, height, fill, radius, stroke, stroke_width):
            box = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
            corner = f' rx="{_number(radius)}"' if radius else ""
            return f"<rect {box}{corner} {_paint(fill, stroke, stroke_width)}/>"
        case Circle(x, y, radius, fill, stroke, stroke_width):
            place = f'cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"'
            return f"<circle {place} {_paint(fill, stroke, stroke_width)}/>"
        case Polygon(points, fill, stroke, stroke_width):
            corners = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
            return f'<polygon points="{corners}" {_paint(fill, stroke, stroke_width)}/>'
        case Lines(segments, stroke, width):
            path = "".join(
                f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}" for (x1, y1), (x2, y2) in segments
            )
            return f'<path d="{path}" stroke="{stroke}" stroke-width="{_number(width)}"/>'


def _label(label: Label) -> str:
    style = f' text-anchor="{label.anchor}"' if label.anchor != "start" else ""
    style += ' font-weight="bold"' if label.bold else ""
    place = f'x="{_number(label.x)}" y="{_number(label.y)}" font-size="{_number(label.size)}"'
    return f'<text {place} fill="{label.color}"{style}>{escape(label.text)}</text>'
