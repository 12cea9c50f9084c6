"""The files of a tournament that has ended: results, games and pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from patchwork_env.core.files import write_text
from patchwork_env.learning.evaluation.ratings import Bounds
from patchwork_env.learning.evaluation.tournament import Rung, Standings, Tournament
from patchwork_env.learning.reports.charts import number
from patchwork_env.learning.reports.plots import SERIES, TRAINING, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 7.2
_ROW = 0.36  # the usual width of a picture, and the height of a row for one agent, in inches
_MARGIN = 1.1
_LEGEND_COLUMNS = 4
_DARK_CELL = 0.3  # how far from 50% the cells of the win matrix are so dark that their text must be white

_OPEN_LENGTH = 60.0
"""The distance, in Elo points, from a rating to the arrow that stands for a missing end of its interval."""


def write_results(folder: Path, tournament: Tournament, standings: Standings) -> None:
    """Write results.json, games.csv, ratings.csv and the pictures into the folder of a tournament."""
    results = tournament.results_as_dict(standings)
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    write_text(folder / "games.csv", standings.csv())
    write_text(folder / "ratings.csv", standings.ranking().csv())
    ratings(standings, folder / "ratings.png")
    win_matrix(standings, folder / "win_matrix.png")
    if tournament.rungs:
        ladder(standings, tournament.rungs, folder / "ladder.png")


def ratings(standings: Standings, path: Path) -> None:
    """Draw the ratings with their intervals, the highest at the top; an arrow stands for a missing end."""
    order = standings.order[::-1]
    figure = new_figure(_WIDTH, _MARGIN + _ROW * len(order))
    axes = figure.add_subplot()
    values = standings.ratings.values[order]
    intervals = [standings.ratings.intervals[i] for i in order]
    _error_bars(axes, values, np.arange(float(len(order))), intervals, horizontal=True)
    axes.set_yticks(range(len(order)), [standings.names[i] for i in order])
    axes.set_ylim(-0.6, len(order) - 0.4)
    axes.set_xlabel("rating, Elo points, with 95% interval")
    axes.grid(alpha=0.3, axis="x")
    save(figure, path)


def win_matrix(standings: Standings, path: Path) -> None:
    """Draw the share of games that the row won against the column, both ordered by rating."""
    order, n = standings.order, len(standings.names)
    rates = standings.win_rates[np.ix_(order, order)]
    size = max(3.6, 0.62 * n)
    longest = 0.075 * max(map(len, standings.names))
    figure = new_figure(size + longest + 1.0, size + longest)
    axes = figure.add_subplot()
    image = axes.imshow(100 * rates, cmap="BrBG", vmin=0, vmax=100)
    for (row, column), rate in np.ndenumerate(rates):
        if row != column:
            color = "white" if abs(rate - 0.5) > _DARK_CELL else "black"
            axes.text(column, row, f"{100 * rate:.0f}", ha="center", va="center", color=color, fontsize=8)
    names = [standings.names[i] for i in order]
    axes.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n), names)
    axes.set_xlabel("against")
    figure.colorbar(image, ax=axes, label="games won, %", shrink=0.8)
    save(figure, path)


def ladder(standings: Standings, rungs: Sequence[Rung], path: Path) -> None:
    """Draw ratings of the checkpoints of a run, the first agents, over steps, and over minutes if known."""
    scales = {"steps": [float(rung.steps) for rung in rungs]}
    minutes = [rung.minutes for rung in rungs if rung.minutes is not None]
    if len(minutes) == len(rungs):
        scales["minutes"] = minutes
    figure = new_figure(4.4 * len(scales) + 0.6, 4.0)
    panels = np.atleast_1d(figure.subplots(1, len(scales), sharey=True))
    values, intervals = standings.ratings.values, standings.ratings.intervals
    for axes, (axis, places) in zip(panels, scales.items(), strict=True):
        axes.plot(places, values[: len(rungs)], color=SERIES[0], linewidth=1.2)
        _error_bars(axes, values[: len(rungs)], np.array(places), intervals[: len(rungs)], horizontal=False)
        for k in range(len(rungs), len(values)):
            color = SERIES[1 + (k - len(rungs)) % (len(SERIES) - 1)]
            axes.axhline(values[k], color=color, linestyle="--", linewidth=1.2, label=standings.names[k])
        axes.set_xlabel(TRAINING[axis])
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("rating, Elo points, with 95% interval")
    if len(values) > len(rungs):
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper center", ncols=min(len(names), _LEGEND_COLUMNS))
    save(figure, path)


def _error_bars(
    axes: Axes,
    values: npt.NDArray[np.float64],
    places: npt.NDArray[np.float64],
    intervals: Sequence[Bounds],
    *,
    horizontal: bool,
) -> None:
    """Draw dots with intervals; where an interval has no end, an arrow points that way."""
    style: dict[str, Any] = {"color": SERIES[0], "markersize": 5, "elinewidth": 1.5, "capsize": 3}
    lengths = np.array(
        [
            # A rating may lie just outside its interval, since it is not a quantile.
            [
                _OPEN_LENGTH if end is None else max(sign * (end - value), 0.0)
                for end, sign in zip(ends, (-1, 1), strict=True)
            ]
            for value, ends in zip(values, intervals, strict=True)
        ]
    ).T
    if horizontal:
        axes.errorbar(values, places, xerr=lengths, fmt="o", **style)
    else:
        axes.errorbar(places, values, yerr=lengths, fmt="o", **style)
    arrows = (">", "<") if horizontal else ("^", "v")
    for k, (low, high) in enumerate(intervals):
        for end, arrow, sign in ((high, arrows[0], 1), (low, arrows[1], -1)):
            if end is None:
                reach = values[k] + sign * lengths[int(sign > 0), k]
                place = (reach, places[k]) if horizontal else (places[k], reach)
                axes.plot(*place, marker=arrow, color=SERIES[0], markersize=6)
