"""The colors of charts on pages and in pictures; they go with those of the pictures of a game."""

from __future__ import annotations

from patchwork_env.patchwork.render.theme import mix

SERIES = ("#23777b", "#c4552f", "#3f6fb5", "#b58312", "#7d5ba6", "#5a8f3c", "#b9547f", "#7a6a58")
"""The colors of lines on a light background, in the order in which they are used."""

SERIES_ON_DARK = tuple(mix(color, "#ffffff", 0.35) for color in SERIES)
"""The colors of the same lines on a dark background."""
