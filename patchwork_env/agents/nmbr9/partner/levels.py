"""What each level sees, misses and gets wrong. Only data is here; all numbers are in points of a game."""

from __future__ import annotations

from typing import NamedTuple


class Habits(NamedTuple):
    """How somebody looks at the placements of a tile, and how wrong they are about them.

    Attributes:
        turning: The chance that the tile is tried in each of its orientations.
        misjudging: How far off the worth of placing a tile on a level is judged: a standard deviation.
        carelessness: How far off the worth of a single placement is judged: a standard deviation.
        lapses: The share of moves that are made without much thought.
        lapse: How far off the worth of a level is judged in such a move.
    """

    turning: float
    misjudging: float
    carelessness: float
    lapses: float = 0.0
    lapse: float = 0.0


class Eye(NamedTuple):
    """What somebody counts who judges a placement by eye.

    Attributes:
        height: Points for every level, whatever the digit: to get up is fun.
        points: The weight of the points that the placement scores.
        snugness: Points for every edge that the tile shares with others of its level.
    """

    height: float
    points: float
    snugness: float


EYES = {1: Eye(height=2.0, points=1.0, snugness=1.0)}
"""The level that judges by eye: the beginner wants to get up, and sees nothing of the tiles to come."""
HABITS = {
    1: Habits(turning=0.7, misjudging=1.0, carelessness=0.5),
    2: Habits(turning=0.65, misjudging=1.0, carelessness=1.0, lapses=0.2, lapse=6.0),
    3: Habits(turning=0.85, misjudging=0.7, carelessness=1.0),
    4: Habits(turning=1.0, misjudging=0.2, carelessness=0.2),
}
"""The levels below the champion's: docs/play.md says more of each."""
CHAMPION_NODES = 6_000
"""The placements that the champion evaluates for a move as the highest level; ``fast`` has 20,000."""
