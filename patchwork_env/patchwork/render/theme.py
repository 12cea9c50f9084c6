"""Colors of the picture, and the fabric of every patch."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from patchwork_env.patchwork.components import NUM_PATCHES

LINEN = "#efe6d8"
PAPER = "#fbf7f0"
QUILT_CELL = "#f6efe3"
QUILT_GRID = "#dccfbb"
INK = "#3a322c"
FADED_INK = "#8a7d70"
PLAYERS = ("#23777b", "#c4552f")
"""The color of each player's token, quilt frame and panel."""
PLAYER_TINTS = ("#e0efee", "#fae6dc")
BUTTON = "#3f6fb5"
BUTTON_RIM = "#2a4d80"
BUTTON_HOLE = "#e6eefa"
TRACK = ("#e4d5bb", "#d3bf9d")
"""The colors of the first and the last space of the track; those between are mixtures."""
TRACK_WALL = "#8b7355"
TRACK_GRID = "#f3eadb"
TRACK_NUMBER = "#6b5c4b"
INCOME_SPACE = "#b5cbe8"
GOLD = "#d9a528"

Weave = Literal["plain", "dots", "stripes", "checks", "pins", "crosses"]


class Fabric(NamedTuple):
    """What a piece is made of: its weave, and the colors of cloth, weave, edge and stitches."""

    cloth: str
    pattern: str
    edge: str
    stitches: str
    weave: Weave


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """A color as ``#rrggbb`` from OKLCH, in which equal steps look equal (B. Ottosson, 2020).

    Args:
        lightness: The lightness, 0-1.
        chroma: The chroma, where 0 is gray; up to about 0.15, screens can show it at every hue.
        hue: The hue in turns, 0-1.
    """
    a, b = chroma * math.cos(math.tau * hue), chroma * math.sin(math.tau * hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(channel)):02x}" for channel in linear)


def _gamma(channel: float) -> float:
    channel = min(max(channel, 0.0), 1.0)
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055


def mix(first: str, second: str, share: float) -> str:
    """A mixture of two colors, with the given share (0-1) of ``second``."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def _fabric(cloth: str, weave: Weave) -> Fabric:
    return Fabric(
        cloth,
        pattern=mix(cloth, "#ffffff", 0.22),
        edge=mix(cloth, "#2b1d12", 0.58),
        stitches=mix(cloth, "#ffffff", 0.68),
        weave=weave,
    )


_TONES = ((0.66, 0.105), (0.79, 0.085), (0.56, 0.085))
_WEAVES: tuple[Weave, ...] = ("plain", "dots", "stripes", "checks", "pins", "crosses")


def _patch_fabric(patch: int) -> Fabric:
    """The fabric of a patch: eleven hues in three tones; patches with close numbers differ much in hue."""
    hues = NUM_PATCHES // len(_TONES)
    tone = patch % len(_TONES)
    hue = (patch * 4 % hues + tone / len(_TONES)) / hues
    return _fabric(oklch(*_TONES[tone], hue), _WEAVES[patch % len(_WEAVES)])


FABRICS = tuple(_patch_fabric(patch) for patch in range(NUM_PATCHES))
"""The fabric of every patch: no two have the same cloth."""
SPECIAL_FABRIC = _fabric("#7d6450", "plain")
UNKNOWN_FABRIC = _fabric("#c3bbae", "plain")
