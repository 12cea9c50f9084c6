"""Makes pages from templates, which share one layout, its colors and its charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.plots import SERIES, SERIES_ON_DARK

_FOLDER = Path(__file__).parent


def render(template: str, **values: Any) -> str:
    """A page as HTML, from a template in this folder and values by the names that it uses."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = charts.as_words
    environment.globals |= {"chart": charts, "colors": list(zip(SERIES, SERIES_ON_DARK, strict=True))}
    return environment.get_template(template).render(**values)
