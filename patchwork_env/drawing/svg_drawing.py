"""Scenes drawn as SVG documents."""

from __future__ import annotations

from html import escape

from patchwork_env.drawing.scene import (
    Circle,
    Label,
    Lines,
    Polygon,
    Rectangle,
    Scene,
    Segment,
    Shape,
)

FONTS = "Aileron, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


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
        f'<g font-family="{FONTS}">',
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
            path = "".join(map(_segment, segments))
            return f'<path d="{path}" stroke="{stroke}" stroke-width="{_number(width)}"/>'


def _segment(segment: Segment) -> str:
    (x1, y1), (x2, y2) = segment
    return f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}"


def _label(label: Label) -> str:
    style = f' text-anchor="{label.anchor}"' if label.anchor != "start" else ""
    style += ' font-weight="bold"' if label.bold else ""
    place = f'x="{_number(label.x)}" y="{_number(label.y)}" font-size="{_number(label.size)}"'
    return f'<text {place} fill="{label.color}"{style}>{escape(label.text)}</text>'
