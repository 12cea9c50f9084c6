"""The figures of a comparison: learning curves, performance profiles, and who is better."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patchwork_env.core.files import make_folder, storing_in, write_text
from patchwork_env.core.names import counted
from patchwork_env.learning.evaluation.statistics import Band
from patchwork_env.learning.evaluation.tables import LATEX, MARKDOWN
from patchwork_env.learning.reports import comparison as tables
from patchwork_env.learning.reports.charts import number, percentage
from patchwork_env.learning.reports.comparison import (
    AXES,
    TITLES,
    Comparison,
    Curve,
    Group,
    provenance_lines,
    setup_lines,
)
from patchwork_env.learning.reports.plots import FORMATS, SERIES, TRAINING, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_DPI = 300
"""The dots per inch of PNG, as journals ask for them."""
_WIDTH, _HEIGHT = 4.4, 3.2
"""The size of a panel, in inches."""
_ROW = 0.32
_LEGEND_ROW, _FOOTER_ROW = 0.24, 0.09
"""The heights of a row of the legend and of a line of the footer, in inches."""
_LOGARITHMIC = 10
"""How many times the shortest training of a configuration the longest must take for a logarithmic axis."""
_HIGH = 0.5
"""Axes of shares begin at 0 unless all curves lie above this."""
_MOST_TICKS = 6
_FOOTER_SIZE, _LETTERS_PER_INCH = 5, 25
_NOTHING = Curve(np.empty(0), Band(np.empty(0), None, None))
_DOT: dict[str, Any] = {"fmt": "o", "markersize": 5, "elinewidth": 1.5, "capsize": 3, "clip_on": False}
"""A dot with its interval."""
_DASHES = ("-", "--", ":", "-.")
"""The lines of groups that have the same color."""


def write_comparison(
    comparison: Comparison, folder: Path, form: str = FORMATS[0], *, has_footer: bool = True
) -> None:
    """Writes all tables of a comparison, as Markdown, LaTeX and CSV, and its figures into a folder."""
    csv = {
        "summary": tables.summary_table(comparison),
        "improvement": tables.improvement_table(comparison),
        "runs": tables.runs_table(comparison),
        "curves": tables.curves_table(comparison),
        "profiles": tables.profiles_table(comparison),
    }
    with storing_in(folder):
        make_folder(folder)
        for name, ending in ((MARKDOWN, "md"), (LATEX, "tex")):
            write_text(folder / f"comparison.{ending}", tables.as_text(comparison, name) + "\n")
        for name, table in csv.items():
            write_text(folder / f"{name}.csv", table.csv())
        write_figures(comparison, folder, form, has_footer=has_footer)


def write_figures(comparison: Comparison, folder: Path, form: str, *, has_footer: bool = True) -> None:
    """Writes all figures into a folder; they have versions, machines and hashes of weights within."""
    figures = {"curves": curves(comparison), "profiles": profiles(comparison)}
    if len(comparison.groups) > 1:
        figures["improvement"] = improvement(comparison)
    lines = provenance_lines(comparison.groups)
    for name, figure in figures.items():
        if has_footer:
            _add_footer(figure, setup_lines(comparison.groups))
        save(figure, folder / f"{name}.{form}", "\n".join(lines), _DPI)


def curves(comparison: Comparison) -> Figure:
    """Learning curves over steps and minutes, with a row of panels for each opponent."""
    figure = new_figure(2 * _WIDTH, _HEIGHT * len(comparison.opponents))
    panels = figure.subplots(len(comparison.opponents), 2, squeeze=False)
    for opponent, row in zip(comparison.opponents, panels, strict=True):
        for axis, axes in zip(AXES, row, strict=True):
            _draw(axes, comparison, partial(comparison.learning_curve, opponent=opponent, axis=axis))
            axes.set(xlabel=TRAINING[axis], ylabel=f"{TITLES[comparison.metric]} against {opponent}")
            lengths = [max(getattr(run.last, axis) for run in group.runs) for group in comparison.groups]
            if max(lengths) >= _LOGARITHMIC * min(lengths) > 0:
                axes.set_xscale("log")
            else:
                axes.set_xlim(left=0)
            axes.xaxis.set_major_formatter(lambda value, _: number(value))
            if comparison.is_share:
                low, high = axes.get_ylim()
                axes.set_ylim(low if low > _HIGH else 0.0, min(1.0, high))
            _show_values(axes.yaxis, comparison)
    _add_legend(figure)
    return figure


def profiles(comparison: Comparison) -> Figure:
    """For each opponent the share of runs that reach more than a threshold."""
    figure = new_figure(_WIDTH * len(comparison.opponents), _HEIGHT)
    [panels] = figure.subplots(1, len(comparison.opponents), sharey=True, squeeze=False)
    for opponent, axes in zip(comparison.opponents, panels, strict=True):
        _draw(axes, comparison, partial(comparison.profile, opponent=opponent), is_stair=True)
        title = f"{TITLES[comparison.metric]} against {opponent}"
        axes.set(xlabel=title, ylabel="share of runs above", ylim=(-0.02, 1.02))
        axes.margins(x=0)
        axes.locator_params(axis="x", nbins=_MOST_TICKS)
        _show_values(axes.xaxis, comparison)
    _add_legend(figure)
    return figure


def improvement(comparison: Comparison) -> Figure:
    """For every two configurations the probability that a run of the first does better."""
    improvements = list(comparison.improvements())
    parts = list(dict.fromkeys(name for _, _, name, _, _ in improvements))
    pairs = list(dict.fromkeys((first.label, second.label) for first, second, *_ in improvements))
    figure = new_figure(2 + 0.8 * _WIDTH * len(parts), 1 + _ROW * len(pairs))
    [panels] = figure.subplots(1, len(parts), sharey=True, squeeze=False)
    for part, axes in zip(parts, panels, strict=True):
        rows = [(value, interval) for *_, name, value, interval in improvements if name == part]
        for row, (value, interval) in enumerate(reversed(rows)):
            ends = interval and np.maximum(0.0, [[value - interval[0]], [interval[1] - value]])
            face = "white" if interval is None else SERIES[0]
            axes.errorbar(value, row, xerr=ends, color=SERIES[0], markerfacecolor=face, **_DOT)
        axes.axvline(0.5, color="#888888", linewidth=0.8, linestyle="--")
        axes.set(xlabel=f"probability of improvement\nagainst {part}")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(pairs) - 0.4))
        axes.grid(alpha=0.3, axis="x")
    panels[0].set_yticks(range(len(pairs)), [f"{first} > {second}" for first, second in reversed(pairs)])
    return figure


def _draw(
    axes: Axes, comparison: Comparison, curve_of: Callable[[Group], Curve | None], is_stair: bool = False
) -> None:
    """Draws a curve for every group, with a band for its interval; one without a curve is in the legend."""
    for place, group in enumerate(comparison.groups):
        color, dash = SERIES[place % len(SERIES)], _DASHES[place // len(SERIES) % len(_DASHES)]
        label = f"{group.label} ({counted(len(group.runs), 'run')})"
        curve = curve_of(group) or _NOTHING
        values, low, high = curve.band
        is_dot = len(values) == 1
        (line,) = axes.plot(curve.places, values, color=color, linestyle=dash, label=label, clip_on=False)
        line.set(linewidth=1.5, marker="o" if is_dot else "", markersize=5)
        line.set_drawstyle("steps-post" if is_stair else "default")
        if low is not None and high is not None and is_dot:
            ends = np.maximum(0.0, [values - low, high - values])
            axes.errorbar(curve.places, values, yerr=ends, color=color, **_DOT)
        elif low is not None and high is not None:
            style: dict[str, Any] = {"step": "post" if is_stair else None, "alpha": 0.16, "linewidth": 0}
            axes.fill_between(curve.places, low, high, color=color, **style)
    axes.grid(alpha=0.3)


def _show_values(axis: Axis, comparison: Comparison) -> None:
    write = percentage if comparison.is_share else number
    axis.set_major_formatter(lambda value, _: write(value))


def _add_legend(figure: Figure) -> None:
    """Writes the groups above a figure, in as many columns as go into its width."""
    lines, labels = figure.axes[0].get_legend_handles_labels()
    for columns in range(len(labels), 0, -1):
        legend = figure.legend(lines, labels, loc="outside upper center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * math.ceil(len(labels) / columns))


def _add_footer(figure: Figure, sentences: Sequence[str]) -> None:
    """Writes sentences below a figure."""
    width = int(_LETTERS_PER_INCH * figure.get_figwidth())
    lines = [part for sentence in sentences for part in textwrap.wrap(sentence, width)]
    figure.set_figheight(figure.get_figheight() + _FOOTER_ROW * len(lines))
    figure.supxlabel("\n".join(lines), fontsize=_FOOTER_SIZE, color="#555555", x=0.01, ha="left")
