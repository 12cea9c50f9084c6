"""Pictures as lists of primitives, drawn as SVG, as pixels and in a window.

All lengths are in the units of the scene; x points to the right and y downward. Colors are written as
``#rrggbb``. Strokes are centered on the outline. Labels are drawn above all shapes. Pillow draws pixels and
pygame opens windows; both are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import as_number, as_texts, check_between
from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import write_bytes
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

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
        """Add labels, and shapes in front of the present ones."""
        for item in items:
            if isinstance(item, Label):
                self.labels.append(item)
            else:
                self.shapes.append(item)


def mix(first: str, second: str, share: float) -> str:
    """Return the mixture of two colors with a share (0-1) of ``second``."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


# --- SVG --------------------------------------------------------------------------------------------------


def to_svg(scene: Scene, title: str) -> str:
    """Draw a scene as a self-contained SVG document without scripts or links."""
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


# --- pixels -----------------------------------------------------------------------------------------------


Frame = npt.NDArray[np.uint8]
"""uint8 array ``(height, width, 3)``: red, green and blue, 0-255."""

_SUPERSAMPLING = 2
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_GIF_COLORS = 255
"""The colors of a palette but one, which Pillow needs for the transparent color of unchanged pixels."""
_BOLD_STROKE = 0.022


def _pillow() -> Any:
    with from_extra("render", "pictures of pixels need"):
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    return PIL


def to_array(scene: Scene, width: int) -> Frame:
    """Draw a scene ``width`` pixels wide; the height follows from the shape of the scene.

    Shapes are drawn at twice the size and averaged; then labels are drawn at the final size, sharp.
    """
    pillow = _pillow()
    zoom = width / scene.width
    height = round(scene.height * zoom)
    large = (width * _SUPERSAMPLING, height * _SUPERSAMPLING)
    image = pillow.Image.new("RGB", large, scene.background)
    pen = pillow.ImageDraw.Draw(image)
    for shape in scene.shapes:
        _draw(pen, shape, zoom * _SUPERSAMPLING)
    image = image.reduce(_SUPERSAMPLING)
    pen = pillow.ImageDraw.Draw(image)
    for label in scene.labels:
        _write(pen, label, zoom)
    return np.array(image, np.uint8)


def _stroke(stroke_width: float, zoom: float) -> int:
    return max(1, round(stroke_width * zoom))


def _draw(pen: ImageDraw.ImageDraw, shape: Shape, zoom: float) -> None:
    match shape:
        case Rectangle():
            _draw_rectangle(pen, shape, zoom)
        case Circle(x, y, radius, fill, stroke, stroke_width):
            line = _stroke(stroke_width, zoom) if stroke else 0
            reach = max(0.5, radius * zoom + line / 2)
            box = (x * zoom - reach, y * zoom - reach, x * zoom + reach - 1, y * zoom + reach - 1)
            pen.ellipse(box, fill, stroke, line)
        case Polygon(points, fill, stroke, stroke_width):
            corners = [(x * zoom, y * zoom) for x, y in points]
            if fill:
                pen.polygon(corners, fill)
            if stroke:
                pen.line([*corners, corners[0]], stroke, _stroke(stroke_width, zoom))
        case Lines(segments, stroke, line_width):
            thickness = _stroke(line_width, zoom)
            for (x1, y1), (x2, y2) in segments:
                pen.line((x1 * zoom, y1 * zoom, x2 * zoom, y2 * zoom), stroke, thickness)


def _draw_rectangle(pen: ImageDraw.ImageDraw, shape: Rectangle, zoom: float) -> None:
    line = _stroke(shape.stroke_width, zoom) if shape.stroke else 0
    left, top = shape.x * zoom - line / 2, shape.y * zoom - line / 2
    right = (shape.x + shape.width) * zoom + line / 2 - 1
    bottom = (shape.y + shape.height) * zoom + line / 2 - 1
    box = (round(left), round(top), max(round(left), round(right)), max(round(top), round(bottom)))
    if shape.radius:
        pen.rounded_rectangle(box, shape.radius * zoom + line / 2, shape.fill, shape.stroke, line)
    else:
        pen.rectangle(box, shape.fill, shape.stroke, line)


@lru_cache(maxsize=64)
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont = _pillow().ImageFont.load_default(size)
    return font


def _write(pen: ImageDraw.ImageDraw, label: Label, zoom: float) -> None:
    size = label.size * zoom
    stroke = _BOLD_STROKE * size if label.bold else 0
    place = (label.x * zoom, label.y * zoom)
    pen.text(place, label.text, label.color, _font(size), _ANCHORS[label.anchor], stroke_width=stroke)


def save_png(frame: Frame, path: str | os.PathLike[str]) -> None:
    """Write a frame, uint8 ``(height, width, 3)``, as a PNG file, atomically.

    MissingExtraError if Pillow is not installed, StorageError if the file cannot be written.
    """
    contents = BytesIO()
    _pillow().Image.fromarray(_check_frame(frame)).save(contents, "PNG", optimize=True)
    write_bytes(Path(path), contents.getvalue())


def save_gif(frames: Iterable[Frame], path: str | os.PathLike[str], seconds: float = 0.5) -> None:
    """Write frames of one size as an endless GIF animation, replacing an existing file.

    There must be at least one frame, uint8 ``(height, width, 3)``. Each is shown for ``seconds``, the last
    one six times as long.
    """
    image_module = _pillow().Image
    milliseconds = round(1000 * as_number(seconds, "seconds", above=0))
    try:
        listed = list(frames)
    except TypeError:
        raise ValueError(f"frames must be a list of frames, not {short_repr(frames)}") from None
    pictures = list(map(_check_frame, listed))
    if not pictures:
        raise ValueError("an animation needs at least one frame")
    sizes = sorted({frame.shape for frame in pictures})
    if len(sizes) > 1:
        raise ValueError(f"all frames of an animation must have one size, not {sizes}")
    sample = image_module.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 6)]))
    palette = sample.quantize(_GIF_COLORS, method=image_module.Quantize.FASTOCTREE)
    images = [image_module.fromarray(frame).quantize(palette=palette, dither=0) for frame in pictures]
    durations = [milliseconds] * (len(images) - 1) + [6 * milliseconds]
    contents = BytesIO()
    later = {"save_all": True, "append_images": images[1:], "duration": durations}
    images[0].save(contents, "GIF", loop=0, optimize=True, **later)
    write_bytes(Path(path), contents.getvalue())


def _check_frame(frame: Any) -> Frame:
    is_array = isinstance(frame, np.ndarray) and frame.dtype == np.uint8
    if not (is_array and frame.ndim == 3 and frame.shape[2] == 3 and frame.size):
        raise ValueError(f"a frame must be a uint8 array (height, width, 3), not {short_repr(frame)}")
    return cast(Frame, frame)


def _pygame() -> ModuleType:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with from_extra("render", "windows need"):
        import pygame
    return pygame


class Window:
    """A window for frames, which opens with the first one.

    After it was closed, by the user or by :meth:`close`, it stays closed and ignores frames. :meth:`show`
    waits, so that at most ``frames_per_second`` are shown; with 0 it never waits. MissingExtraError if
    pygame-ce is not installed.
    """

    def __init__(self, title: str, frames_per_second: float = 0) -> None:
        self._pygame: Any = _pygame()
        self._title = title
        self._frames_per_second = frames_per_second
        self._clock = self._pygame.time.Clock()
        self._screen: Any = None
        self._closed = False

    def show(self, frame: Frame) -> None:
        """Show a frame, uint8 ``(height, width, 3)``; close the window if the user has asked for that."""
        if self._closed:
            return
        size = frame.shape[1], frame.shape[0]
        if self._screen is None:
            self._pygame.display.init()
            self._pygame.display.set_caption(self._title)
        if self._screen is None or self._screen.get_size() != size:
            self._screen = self._pygame.display.set_mode(size)
        self._pygame.surfarray.blit_array(self._screen, frame.swapaxes(0, 1))
        self._pygame.display.flip()
        self._clock.tick(self._frames_per_second)
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self.close()

    def close(self) -> None:
        """Close the window for good. Closing it again does nothing."""
        if self._screen is not None:
            self._pygame.display.quit()
        self._screen, self._closed = None, True


# --- pictures of games ------------------------------------------------------------------------------------


_MIN_WIDTH, _MAX_WIDTH, _DEFAULT_WIDTH = 100, 8000, 960

G = TypeVar("G", bound=BaseGame)


def player_names(game: BaseGame[Any]) -> tuple[str, ...]:
    """Return the names of the players in pictures, unless others are given."""
    return tuple(f"player {player}" for player in range(game.num_players))


@dataclass(frozen=True)
class Pictures(Generic[G]):
    """The pictures of a game, from functions that draw it as text, and as a scene with the players' names."""

    title: str
    kind: type[G]
    draw_text: Callable[[G], str]
    scene: Callable[[G, tuple[str, ...]], Scene]

    def text(self, game: G) -> str:
        """Return the picture as plain text."""
        return self.draw_text(self._checked(game))

    def svg(self, game: G, names: tuple[str, ...] | None = None) -> str:
        """Return the picture as a self-contained SVG document; ``names`` default to :func:`player_names`."""
        return to_svg(self._scene(game, names), self.title)

    def rgb_array(self, game: G, width: int = _DEFAULT_WIDTH, names: tuple[str, ...] | None = None) -> Frame:
        """Return the picture of :meth:`svg` as pixels, uint8 ``(height, width, 3)``, drawn without a display.

        The width is 100 to 8000 pixels. MissingExtraError if Pillow is not installed.
        """
        checked = check_between(width, _MIN_WIDTH, _MAX_WIDTH, "width")
        return to_array(self._scene(game, names), checked)

    def _scene(self, game: G, names: tuple[str, ...] | None) -> Scene:
        players = player_names(self._checked(game))
        if names is None:
            return self.scene(game, players)
        if len(as_texts(names, "names")) < len(players):
            raise ValueError(f"names must be {len(players)} texts, not {short_repr(names)}")
        return self.scene(game, tuple(names))

    def _checked(self, game: Any) -> G:
        if not isinstance(game, self.kind):
            raise ValueError(f"the game must be a game of {self.title}, not {short_repr(game)}")
        return game
