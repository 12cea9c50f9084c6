"""A picture as a list of primitives, which SVG and pixels are drawn from, so that both show the same.

All lengths are in the scene's own units; x points to the right and y downward. Colors are written as
``#rrggbb``. Strokes are centered on the outline. Texts lie above all shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Point = tuple[float, float]
Segment = tuple[Point, Point]
Anchor = Literal["start", "middle", "end"]


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
