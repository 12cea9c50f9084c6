"""Scenes as arrays of pixels, drawn by Pillow, in files, and in a window on the screen, opened by pygame."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from patchwork_env.core.checks import as_number, as_path
from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import write_bytes
from patchwork_env.core.names import short_repr
from patchwork_env.drawing.scene import Circle, Label, Lines, Polygon, Rectangle, Scene, Shape

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

Frame = npt.NDArray[np.uint8]
"""uint8 array ``(height, width, 3)``: red, green and blue, 0-255."""

_SUPERSAMPLING = 2
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_GIF_COLORS = 255
"""One less than a palette holds, since Pillow needs a transparent color for what does not change."""
_BOLD_STROKE = 0.022


def _pillow() -> Any:
    """The package, with those of its modules that are used here."""
    with from_extra("render", "pictures of pixels need"):
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    return PIL


def to_array(scene: Scene, width: int) -> Frame:
    """Draws a scene ``width`` pixels wide; the height follows from the shape of the scene.

    Shapes are drawn at twice the size and averaged, then texts at the final size, which keeps them crisp.
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
    """Writes a frame, uint8 ``(height, width, 3)``, as a PNG file: completely, or not at all.

    Raises:
        MissingExtraError: Pillow is not installed.
        ValueError: This is no frame, or no path.
        StorageError: The file cannot be written.
    """
    contents = BytesIO()
    _pillow().Image.fromarray(_check_frame(frame)).save(contents, "PNG", optimize=True)
    write_bytes(as_path(path), contents.getvalue())


def save_gif(frames: Iterable[Frame], path: str | os.PathLike[str], seconds: float = 0.5) -> None:
    """Writes frames of one size as an endless GIF animation: completely, or not at all.

    Args:
        frames: The frames, at least one, each uint8 ``(height, width, 3)``.
        path: The file to write; an existing file is replaced.
        seconds: The time for which each frame is shown, in seconds; the last one stays six times as long.

    Raises:
        MissingExtraError: Pillow is not installed.
        ValueError: There is no frame, the sizes differ, or the path or the seconds are not allowed.
        StorageError: The file cannot be written.
    """
    image_module = _pillow().Image
    milliseconds = round(1000 * as_number(seconds, "seconds", above=0))
    try:
        listed = list(frames)
    except TypeError:
        raise ValueError(f"frames are a list of frames, not {short_repr(frames)}") from None
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
    write_bytes(as_path(path), contents.getvalue())


def _check_frame(frame: Any) -> Frame:
    is_array = isinstance(frame, np.ndarray) and frame.dtype == np.uint8
    if not (is_array and frame.ndim == 3 and frame.shape[2] == 3 and frame.size):
        raise ValueError(f"a frame is a uint8 array (height, width, 3), not {short_repr(frame)}")
    return cast(Frame, frame)


def _pygame() -> ModuleType:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with from_extra("render", "windows need"):
        import pygame
    return pygame


class Window:
    """A window for frames, which opens with the first one.

    Once its user or :meth:`close` has closed it, it stays closed and ignores further frames, so that a
    program that goes on playing does not fail.

    Args:
        title: The title of the window.
        frames_per_second: The highest rate of frames, for which :meth:`show` waits; 0 to never wait.

    Raises:
        MissingExtraError: pygame-ce is not installed.
    """

    def __init__(self, title: str, frames_per_second: float = 0) -> None:
        self._pygame: Any = _pygame()
        self._title = title
        self._frames_per_second = frames_per_second
        self._clock = self._pygame.time.Clock()
        self._screen: Any = None
        self._closed = False

    def show(self, frame: Frame) -> None:
        """Shows a frame, uint8 ``(height, width, 3)``; closes the window if its user wants that."""
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
        """Closes the window for good. Closing it again does nothing."""
        if self._screen is not None:
            self._pygame.display.quit()
        self._screen, self._closed = None, True
