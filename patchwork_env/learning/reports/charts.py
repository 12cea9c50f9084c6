"""Pages from templates, which share one layout, its colors and its charts: lines as geometry for SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from patchwork_env.learning.reports.plots import SERIES, SERIES_ON_DARK

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 10, 36
"""The margins around the plot."""

MOST_POINTS = 160
"""The highest number of points of a curve; longer ones are thinned, see :func:`thinned`."""
_MOST_DOTS = 60
_TICKS = 5
HALF_BAR = 4.0
"""Half the width of the bar that shows the bounds of a single point."""


class Sample(NamedTuple):
    """A point of a curve in its own units, with lower and upper bounds if it has them."""

    x: float
    y: float
    bounds: tuple[float, float] | None = None


class Series(NamedTuple):
    """A curve: at least one point, in ascending order of ``x``, and the index of its color."""

    label: str
    samples: Sequence[Sample]
    color: int


class Tick(NamedTuple):
    """A mark on an axis: its coordinate in the picture, and its text."""

    at: float
    text: str


class Dot(NamedTuple):
    """A point that tells its figures when the pointer rests on it."""

    x: float
    y: float
    text: str


class Line(NamedTuple):
    """A curve as SVG paths; ``band`` is empty if the curve has no bounds."""

    label: str
    color: int
    is_dashed: bool
    path: str
    band: str
    dots: list[Dot]


class Chart(NamedTuple):
    """A chart as geometry; all coordinates are those of a picture of ``WIDTH`` by ``HEIGHT``."""

    title: str
    x_title: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]
    is_thinned: bool


def draw(
    title: str,
    x_title: str,
    series: Sequence[Series],
    *,
    is_share: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Chart:
    """Draws curves, at least one, into one chart.

    ``x_title`` is the unit of the horizontal axis; ``y_range`` has the ends of the vertical one, which by
    default are those of the curves. Shares are written as percentages, from 0 on.
    """
    curves = [one._replace(samples=thinned(one.samples)) for one in series]
    samples = [sample for one in curves for sample in one.samples]
    heights = [value for sample in samples for value in (sample.y, *(sample.bounds or ()))]
    x_marks = ticks(0.0, max(max(sample.x for sample in samples), 1e-9))
    if y_range is None:
        y_range = (0.0, max(heights) or 1.0) if is_share else (min(heights), max(heights))
    y_marks = ticks(*y_range)
    to_x = _scale((0.0, max(sample.x for sample in samples) or 1.0), (LEFT, WIDTH - RIGHT))
    to_y = _scale((y_marks[0], y_marks[-1]), (HEIGHT - BOTTOM, TOP))
    write = percentage if is_share else number
    return Chart(
        title,
        x_title,
        [Tick(round(to_x(x), 1), number(x)) for x in x_marks if to_x(x) <= WIDTH - RIGHT + 0.5],
        [Tick(round(to_y(y), 1), write(y)) for y in y_marks],
        [_line(one, to_x, to_y, lambda sample: _describe(sample, x_title, write)) for one in curves],
        any(len(one.samples) > MOST_POINTS for one in series),
    )


def as_words(name: str) -> str:
    """The name of a metric in words, without the name of its group."""
    return name.rpartition("/")[2].replace("_", " ")


def thinned(samples: Sequence[Sample], most: int = MOST_POINTS) -> Sequence[Sample]:
    """At most ``most`` samples: each is the mean of several neighbors, with their extremes as its bounds."""
    if len(samples) <= most:
        return samples
    thin = []
    for part in np.array_split(np.arange(len(samples)), most):
        near = [samples[i] for i in part]
        heights = [value for sample in near for value in (sample.y, *(sample.bounds or ()))]
        x, y = (float(np.mean(values)) for values in ([s.x for s in near], [s.y for s in near]))
        thin.append(Sample(x, y, (min(heights), max(heights))))
    return thin


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """Round numbers at even distances, about ``count`` of them, from at most ``low`` to at least ``high``."""
    if not high > low:
        low, high = low - max(abs(low), 1.0) / 10, low + max(abs(low), 1.0) / 10
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def number(value: float) -> str:
    """A number as the text of an axis or a label: few digits, and a letter for thousands or millions."""
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}" if abs(value) > 1e-12 else "0"


def percentage(value: float) -> str:
    """A share as the text of an axis or a label: a percentage with three digits."""
    return f"{100 * value:.3g}%"


def _scale(values: tuple[float, float], places: tuple[float, float]) -> Callable[[float], float]:
    (low, high), (start, end) = values, places
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _line(
    series: Series,
    to_x: Callable[[float], float],
    to_y: Callable[[float], float],
    describe: Callable[[Sample], str],
) -> Line:
    places = [(to_x(sample.x), to_y(sample.y)) for sample in series.samples]
    dots = []
    if len(places) <= _MOST_DOTS:
        texts = [f"{series.label}: {describe(sample)}" for sample in series.samples]
        dots = [Dot(round(x, 1), round(y, 1), text) for (x, y), text in zip(places, texts, strict=True)]
    is_dashed = series.color >= len(SERIES)
    color = series.color % len(SERIES)
    return Line(series.label, color, is_dashed, _path(places), _band(series.samples, to_x, to_y), dots)


def _band(samples: Sequence[Sample], to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
    """The outline of the area between the bounds: along the upper ones, and back along the lower ones."""
    bounded = [(to_x(sample.x), sample.bounds) for sample in samples if sample.bounds is not None]
    if not bounded:
        return ""
    if len(bounded) == 1:
        ((x, bounds),) = bounded
        bounded = [(x - HALF_BAR, bounds), (x + HALF_BAR, bounds)]
    upper = [(x, to_y(bounds[1])) for x, bounds in bounded]
    lower = [(x, to_y(bounds[0])) for x, bounds in reversed(bounded)]
    return _path(upper + lower) + "Z"


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _describe(sample: Sample, x_title: str, write: Callable[[float], str]) -> str:
    bounds = "" if sample.bounds is None else f" ({write(sample.bounds[0])} to {write(sample.bounds[1])})"
    return f"{write(sample.y)}{bounds} at {sample.x:,.6g} {x_title}"


# --- pages --------------------------------------------------------------------------------------------------


def render(template: str, **values: Any) -> str:
    """A page as HTML, from a template in this folder and values by the names that it uses."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = as_words
    chart = {name: globals()[name] for name in ("WIDTH", "HEIGHT", "LEFT", "RIGHT", "BOTTOM", "MOST_POINTS")}
    environment.globals |= {"chart": chart, "colors": list(zip(SERIES, SERIES_ON_DARK, strict=True))}
    return environment.get_template(template).render(**values)
