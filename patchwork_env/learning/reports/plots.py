"""Pictures by matplotlib, and the files of a tournament."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchwork_env.core.files import write_bytes, write_text
from patchwork_env.learning.evaluation.statistics import Floats
from patchwork_env.learning.evaluation.tournament import Rung, Standings, Tournament

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRAINING = {"steps": "steps of training (turns of all games)", "minutes": "minutes of training"}
"""The titles of axes."""

_DPI = 120
_WITHOUT_DATES: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

_RATING = "rating, Elo points, with 95% interval"
_HEIGHT, _MARGIN, _COLUMN = 4.0, 1.6, 0.6  # of pictures of ratings, and the width of an agent, in inches
_LEGEND_COLUMNS = 4
_OPEN_LENGTH = 60.0
"""The distance, in Elo points, from a rating to the arrow that stands for a missing end of its interval."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty picture, which shows on no screen; its width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path, dpi: int = _DPI) -> None:
    """Write a picture, complete or not at all; the ending of the name is PNG, SVG or PDF.

    The same figure gives the same file. ``dpi`` is the resolution of PNG, in dots per inch.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        cast(Any, text).set_parse_math(False)  # names may hold any characters, such as $ and \\
    form, target = path.suffix[1:] or "png", io.BytesIO()
    with rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(target, dpi=dpi, format=form, metadata=_WITHOUT_DATES.get(form))
    write_bytes(path, target.getvalue())


def write_results(folder: Path, tournament: Tournament, standings: Standings) -> None:
    """Write results.json, games.csv, ratings.csv and the pictures into the folder of a tournament."""
    results = tournament.results_as_dict(standings)
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    write_text(folder / "games.csv", standings.csv())
    write_text(folder / "ratings.csv", standings.ranking().csv())
    _draw_ratings(standings, folder / "ratings.png")
    if tournament.rungs:
        _draw_ladder(standings, tournament.rungs, folder / "ladder.png")


def _draw_ratings(standings: Standings, path: Path) -> None:
    """Draw the ratings with their intervals, the highest first."""
    order = standings.order
    figure = new_figure(_MARGIN + _COLUMN * len(order), _HEIGHT)
    axes = figure.add_subplot()
    _error_bars(axes, np.arange(float(len(order))), standings, order)
    names = [standings.names[i] for i in order]
    axes.set_xticks(range(len(order)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_ylabel(_RATING)
    axes.grid(alpha=0.3, axis="y")
    save(figure, path)


def _draw_ladder(standings: Standings, rungs: Sequence[Rung], path: Path) -> None:
    """Draw ratings of the checkpoints of a run, the first agents, over steps, and over minutes if known."""
    from patchwork_env.learning.reports.charts import SERIES, number  # needs an extra

    scales = {"steps": [float(rung.steps) for rung in rungs]}
    minutes = [rung.minutes for rung in rungs if rung.minutes is not None]
    if len(minutes) == len(rungs):
        scales["minutes"] = minutes
    figure = new_figure(4.4 * len(scales) + 0.6, _HEIGHT)
    panels = np.atleast_1d(figure.subplots(1, len(scales), sharey=True))
    values = standings.ratings.values
    for axes, (axis, places) in zip(panels, scales.items(), strict=True):
        axes.plot(places, values[: len(rungs)], color=SERIES[0], linewidth=1.2)
        _error_bars(axes, np.array(places), standings, range(len(rungs)))
        for k in range(len(rungs), len(values)):
            color = SERIES[1 + (k - len(rungs)) % (len(SERIES) - 1)]
            axes.axhline(values[k], color=color, linestyle="--", linewidth=1.2, label=standings.names[k])
        axes.set_xlabel(TRAINING[axis])
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(_RATING)
    if len(values) > len(rungs):
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper center", ncols=min(len(names), _LEGEND_COLUMNS))
    save(figure, path)


def _error_bars(axes: Axes, places: Floats, standings: Standings, agents: Sequence[int]) -> None:
    """Draw ratings with their intervals; where an interval has no end, an arrow points that way."""
    from patchwork_env.learning.reports.charts import SERIES  # needs an extra

    for place, agent in zip(places, agents, strict=True):
        value, ends = standings.ratings.values[agent], standings.ratings.intervals[agent]
        low, high = ends
        low = value - _OPEN_LENGTH if low is None else low
        high = value + _OPEN_LENGTH if high is None else high
        # A rating may lie just outside its interval, since it is not a quantile.
        lengths = [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        axes.errorbar(
            place, value, lengths, fmt="o", color=SERIES[0], markersize=5, elinewidth=1.5, capsize=3
        )
        for end, reach, arrow in zip(ends, (low, high), "v^", strict=True):
            if end is None:
                axes.plot(place, reach, marker=arrow, color=SERIES[0], markersize=6)
