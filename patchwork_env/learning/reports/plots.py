"""What pictures by matplotlib have in common; it comes with the extra ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 120


def new_figure(width: float, height: float) -> Figure:
    """An empty picture, sizes in inches, which shows on no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Writes a picture; PNG or SVG by the ending of its name."""
    figure.savefig(path, dpi=DPI)
