"""Pictures by matplotlib, and the files of a tournament."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchwork_env.core.files import write_bytes, write_text
from patchwork_env.learning.evaluation.tournament import Standings, Tournament

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 120
_WITHOUT_DATES: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

_COLOR = "#23777b"
_RATING = "rating, Elo points, with 95% interval"
_HEIGHT, _MARGIN, _COLUMN = 4.0, 1.6, 0.6  # the size of the picture of ratings; a column per agent, in inches
_OPEN_LENGTH = 60.0
"""The distance, in Elo points, from a rating to the arrow that stands for a missing end of its interval."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure without a window; width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path, dpi: int = _DPI) -> None:
    """Write a figure atomically as PNG, SVG or PDF, by the suffix of the path.

    The same figure gives the same file. ``dpi`` is the resolution of PNG, in dots per inch.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        cast(Any, text).set_parse_math(False)  # names can contain $ and \\
    form, target = path.suffix[1:], io.BytesIO()
    with rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(target, dpi=dpi, format=form, metadata=_WITHOUT_DATES.get(form))
    write_bytes(path, target.getvalue())


def write_results(folder: Path, tournament: Tournament, standings: Standings) -> None:
    """Write results.json, games.csv, ratings.csv and ratings.png into the folder of a tournament."""
    results = tournament.results_as_dict(standings)
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    write_text(folder / "games.csv", standings.csv())
    write_text(folder / "ratings.csv", standings.ranking().csv())
    save(_ratings_figure(standings), folder / "ratings.png")


def _ratings_figure(standings: Standings) -> Figure:
    """Draw the ratings with their intervals, the highest first; an arrow stands for a missing end."""
    order, ratings = standings.order, standings.ratings
    figure = new_figure(_MARGIN + _COLUMN * len(order), _HEIGHT)
    axes = figure.add_subplot()
    for place, agent in enumerate(order):
        value, ends = ratings.values[agent], ratings.intervals[agent]
        lengths = [_OPEN_LENGTH if end is None else abs(end - value) for end in ends]
        bar = np.reshape(lengths, (2, 1))
        axes.errorbar(place, value, bar, fmt="o", color=_COLOR, markersize=5, capsize=3)
        for end, length, arrow in zip(ends, (-lengths[0], lengths[1]), "v^", strict=True):
            if end is None:
                axes.plot(place, value + length, marker=arrow, color=_COLOR)
    names = [standings.names[i] for i in order]
    axes.set_xticks(range(len(order)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_ylabel(_RATING)
    axes.grid(alpha=0.3, axis="y")
    return figure
