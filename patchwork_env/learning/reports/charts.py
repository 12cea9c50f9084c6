"""Pages from templates, and their charts: SVG in light and dark colors, without other files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from patchwork_env.drawing import mix
from patchwork_env.learning.evaluation.statistics import Curve, Interval

SERIES = ("#23777b", "#c4552f", "#3f6fb5", "#b58312", "#7d5ba6", "#5a8f3c", "#b9547f", "#7a6a58")
"""The colors of lines on a light background, in the order in which they are used."""

SERIES_ON_DARK = tuple(mix(color, "#ffffff", 0.35) for color in SERIES)
"""The colors of the same lines on a dark background."""

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 10, 36  # the margins around the plot

MOST_POINTS = 160  # the highest number of points of a curve; longer ones are thinned, see `thinned`
_MOST_DOTS = 60
_MOST_STRIPS = 80
_TICKS = 5
HALF_BAR = 4.0  # half the width of the bar that shows the bounds of a single point

Places = list[tuple[float, float]]
Scale = Callable[[float], float]


class Series(NamedTuple):
    """A curve of at least one point, by ascending places, with its label and the index of its color."""

    label: str
    curve: Curve
    color: int

    @property
    def style(self) -> str:
        """The CSS classes of the parts in its color."""
        return f"c{self.color % len(SERIES)}{' dashed' if self.color >= len(SERIES) else ''}"


def draw(
    title: str,
    x_title: str,
    series: Sequence[Series],
    *,
    is_share: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Markup:
    """Draw curves, at least one, into one chart, with the figures of every place as tool tips.

    ``x_title`` is the unit of the horizontal axis. Shares are shown as percentages, from 0. ``y_range`` has
    the ends of the vertical axis; by default those of the curves.
    """
    curves = [one._replace(curve=thinned(one.curve)) for one in series]
    last = max(float(one.curve.places.max()) for one in curves) or 1.0
    if y_range is None:
        heights = np.concatenate([values for one in curves for values in one.curve[1:]])
        lowest, highest = float(np.nanmin(heights)), float(np.nanmax(heights))
        y_range = (0.0, highest or 1.0) if is_share else (lowest, highest)
    y_marks = ticks(*y_range)
    to_x = _scale((0.0, last), (LEFT, WIDTH - RIGHT))
    to_y = _scale((y_marks[0], y_marks[-1]), (HEIGHT - BOTTOM, TOP))
    write = percentage if is_share else number
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for mark in y_marks:
        y = round(to_y(mark), 1)
        parts += [f'<path class="grid" d="M{LEFT} {y}H{right}"/>', _text(LEFT - 6, y + 4, "end", write(mark))]
    for mark in ticks(0.0, last):
        x = round(to_x(mark), 1)
        if round(x) <= right:
            parts.append(f'<path class="axis" d="M{x} {bottom}v4"/>')
            parts.append(_text(x, bottom + 16, "middle", number(mark)))
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>')
    parts.append(_text(right, HEIGHT - 4, "end", x_title))
    bands = [(one, _band(one.curve, to_x, to_y)) for one in curves]
    parts += [f'<path class="band {one.style}" d="{_path(band)}Z"/>' for one, band in bands if band]
    for one in curves:
        places = [(to_x(x), to_y(y)) for x, y in zip(*map(np.ndarray.tolist, one.curve[:2]), strict=True)]
        parts.append(f'<path class="line {one.style}" d="{_path(places)}"/>')
        if len(places) <= _MOST_DOTS:
            parts += [
                f'<circle class="dot {one.style}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places
            ]
    parts += _strips(curves, to_x, lambda curve, k: _describe(curve, k, x_title, write))
    picture, legend = "\n".join(parts), ""
    if len(curves) > 1:
        items = (f'<li><span class="swatch {one.style}"></span>{escape(one.label)}</li>' for one in curves)
        legend = f'\n<ul class="legend">{"".join(items)}</ul>'
    return Markup(
        f'<figure class="chart">\n<figcaption>{escape(title)}</figcaption>\n'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">\n{picture}\n</svg>'
        f"{legend}\n</figure>"
    )


def as_words(name: str) -> str:
    """Return the name of a metric in words, without the name of its group."""
    return name.rpartition("/")[2].replace("_", " ")


def thinned(curve: Curve) -> Curve:
    """Return at most :data:`MOST_POINTS` points: means of neighbors, with their extremes as bounds."""
    if len(curve.places) <= MOST_POINTS:
        return curve
    parts = [np.array(curve)[:, part] for part in np.array_split(np.arange(len(curve.places)), MOST_POINTS)]
    rows = [(*part[:2].mean(1), np.nanmin(part[1:]), np.nanmax(part[1:])) for part in parts]
    return Curve(*np.array(rows).T)


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers at even distances, from at most ``low`` to at least ``high``."""
    if not high > low:
        room = max(abs(low), 1.0) / 10
        low, high = low - room, low + room
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def number(value: float) -> str:
    """Return a number as text: few digits, and a letter for thousands or millions."""
    for least, power, letter in ((1e9, 9, "G"), (1e6, 6, "M"), (1e4, 3, "k")):
        if abs(value) >= least:
            return f"{value / 10**power:.4g}{letter}"
    return f"{value:.4g}" if abs(value) > 1e-12 else "0"


def percentage(value: float) -> str:
    """Return a share as the text of an axis or a label: a percentage with three digits."""
    return f"{100 * value:.3g}%"


def _scale(values: tuple[float, float], places: tuple[float, float]) -> Scale:
    (low, high), (start, end) = values, places
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _path(places: Places) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _band(curve: Curve, to_x: Scale, to_y: Scale) -> Places:
    """Return the outline of the area between the bounds: along the upper ones and back along the lower."""
    bounded = [
        (to_x(float(curve.places[k])), bounds)
        for k in range(len(curve.places))
        if (bounds := curve.interval(k))
    ]
    if len(bounded) == 1:
        ((x, bounds),) = bounded
        bounded = [(x - HALF_BAR, bounds), (x + HALF_BAR, bounds)]
    upper = [(x, to_y(bounds[1])) for x, bounds in bounded]
    return upper + [(x, to_y(bounds[0])) for x, bounds in reversed(bounded)]


def _strips(curves: Sequence[Series], to_x: Scale, describe: Callable[[Curve, int], str]) -> list[str]:
    """Return strips over points of the longest curve, whose tool tips describe the nearest points."""
    longest = max((one.curve.places for one in curves), key=len)
    longest = longest[:: math.ceil(len(longest) / _MOST_STRIPS)]
    places = [to_x(float(x)) for x in longest]
    middles = [(left + right) / 2 for left, right in pairwise(places)]
    ends = [LEFT, *middles, WIDTH - RIGHT]
    strips = []
    for x, (left, right) in zip(longest, pairwise(ends), strict=True):
        nearest = [(one, int(np.abs(one.curve.places - x).argmin())) for one in curves]
        text = "\n".join(f"{one.label}: {describe(one.curve, k)}" for one, k in nearest)
        strips.append(
            f'<rect class="strip" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - BOTTOM - TOP}"><title>{escape(text)}</title></rect>'
        )
    return strips


def _describe(curve: Curve, k: int, x_title: str, write: Callable[[float], str]) -> str:
    interval = curve.interval(k)
    bounds = f" ({write(interval[0])} to {write(interval[1])})" if interval else ""
    return f"{write(curve.values[k])}{bounds} at {curve.places[k]:,.6g} {x_title}"


def render(template: str, **values: Any) -> str:
    """Return a page as HTML, from a template in this folder and values by the names that it uses."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"words": as_words, "percent": "{:.1%}".format, "span": _span}
    environment.globals["colors"] = list(zip(SERIES, SERIES_ON_DARK, strict=True))
    return environment.get_template(template).render(**values)


def _span(interval: Interval | None, form: str) -> str:
    """Return an interval as text, with both ends in a format."""
    return "unknown" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"
