"""Colors of charts, and pictures by matplotlib (of the extra ``train``)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from patchwork_env.core.files import write_bytes
from patchwork_env.drawing import mix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = ("#23777b", "#c4552f", "#3f6fb5", "#b58312", "#7d5ba6", "#5a8f3c", "#b9547f", "#7a6a58")
"""The colors of lines on a light background, in the order in which they are used."""

SERIES_ON_DARK = tuple(mix(color, "#ffffff", 0.35) for color in SERIES)
"""The colors of the same lines on a dark background."""

TRAINING = {"steps": "steps of training (turns of all games)", "minutes": "minutes of training"}
"""The titles of axes by what of a training they show."""

FORMATS = ("svg", "png", "pdf")  # the formats of pictures
_DPI = 120
_WITHOUT_DATES: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


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
