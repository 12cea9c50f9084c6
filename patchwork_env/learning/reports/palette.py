"""The colors of charts, the same wherever they are drawn; related to those of the picture of a game."""

from __future__ import annotations

from patchwork_env.patchwork.render.theme import mix

SERIES = ("#23777b", "#c4552f", "#3f6fb5", "#b58312", "#7d5ba6", "#5a8f3c", "#b9547f", "#7a6a58")
"""Colors of lines on a light background, in the order in which they are used."""

SERIES_ON_DARK = tuple(mix(color, "#ffffff", 0.35) for color in SERIES)
"""The same for a dark background."""
