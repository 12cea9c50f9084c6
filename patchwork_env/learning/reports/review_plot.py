"""A review as a picture: who was ahead when, and where the costliest mistakes were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patchwork_env.learning.evaluation.players import labels
from patchwork_env.learning.reports.plots import SERIES, new_figure, save
from patchwork_env.learning.reports.review import Review, Verdict
from patchwork_env.learning.reports.review_tables import MOST_MISTAKES, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 9.0, 6.0
_INK = "#2e2823"
_ROOM = 0.25
"""The room for labels above and below the curve of margins, as a share of its range."""
_EDGE, _ROW = 0.02, 0.045
"""The distance of labels from the frame, and of one from the next, as shares of the panel's height."""
_MOST_LABELS = 3
"""The number of mistakes of each player whose moves are named."""


def write_picture(review: Review, path: Path) -> None:
    """Writes the picture, as PNG 1080 by 720 pixels."""
    figure = new_figure(*_SIZE)
    margin, win = figure.subplots(2, 1, sharex=True)
    margins = [evaluation.margin for evaluation in review.evaluations]
    wins = [100 * evaluation.win for evaluation in review.evaluations]
    _panel(margin, margins, 0.0)
    margin.set_ylabel("margin of player 0, points")
    margin.margins(y=_ROOM)
    _panel(win, wins, 50.0)
    win.set_ylabel("player 0 wins, %")
    win.set_ylim(0, 100)
    win.set_xlabel("moves played")
    for player in (0, 1):
        mistakes = review.mistakes(player, MOST_MISTAKES)
        _mark(margin, mistakes, margins, player)
        _mark(win, mistakes, wins, player)
        _name(margin, mistakes[:_MOST_LABELS], margins)
    margin.set_title(f"{headline(review)}; judged by {labels([review.agent])[0]}", fontsize=10)
    lines, names = margin.get_legend_handles_labels()
    if lines:
        figure.legend(lines, names, loc="outside lower center", ncols=2)
    save(figure, path)


def _panel(axes: Axes, values: list[float], even: float) -> None:
    """Draws a curve over all positions; the area is filled in the color of the player who is ahead."""
    places, heights = np.arange(len(values)), np.array(values)
    for player, ahead in enumerate((heights >= even, heights <= even)):
        axes.fill_between(
            places, heights, even, where=ahead, interpolate=True, color=SERIES[player], alpha=0.18, lw=0
        )
    axes.plot(places, heights, color=_INK, linewidth=1.4, clip_on=False)
    axes.axhline(even, color=_INK, linewidth=0.8)
    axes.margins(x=0.02)
    axes.grid(alpha=0.3)


def _mark(axes: Axes, mistakes: list[Verdict], values: list[float], player: int) -> None:
    """Draws for each mistake the step of the curve in the player's color."""
    label = f"costliest moves of player {player}"
    for verdict in mistakes:
        steps = [verdict.number - 1, verdict.number]
        heights = [values[step] for step in steps]
        style: dict[str, Any] = {"color": SERIES[player], "clip_on": False}
        axes.plot(steps, heights, linewidth=3, label=label, solid_capstyle="round", **style)
        axes.plot(steps[1], heights[1], "o", markersize=5, **style)
        label = "_"  # no second entry in the legend


def _name(axes: Axes, mistakes: list[Verdict], values: list[float]) -> None:
    """Writes moves above or below the curve, to which side it went, each with a thin line to its mark.

    Every move has a row of its own, later ones nearer to the curve, so that texts and lines keep apart.
    """
    for row, verdict in enumerate(sorted(mistakes, key=lambda verdict: verdict.number)):
        height = _EDGE + row * _ROW
        below, color = verdict.player == 0, SERIES[verdict.player]
        axes.annotate(
            f"{verdict.number}. {verdict.move}",
            (verdict.number, values[verdict.number]),
            xytext=(verdict.number, height if below else 1 - height),
            textcoords=axes.get_xaxis_transform(),
            va="bottom" if below else "top",
            fontsize=8,
            color=color,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "relpos": (0, 0.5)},
        )
