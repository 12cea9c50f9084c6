"""What each level sees, misses and gets wrong. Only data is here; all numbers are in points of a game."""

from __future__ import annotations

from typing import NamedTuple


class Habits(NamedTuple):
    """How somebody looks at the moves of a position, and how wrong they are about them.

    Attributes:
        placements: The number of places of a patch that are looked at, the snuggest ones.
        turning: The chance that a patch is tried in each orientation to which it can be turned.
        flipping: The chance that it is tried in each orientation for which it has to be flipped as well.
        misjudging: How far off the worth of a patch, or of advancing, is judged: a standard deviation.
        carelessness: How far off the worth of a place is judged: a standard deviation.
        lapses: The share of moves that are made without much thought.
        lapse: How far off the worth of a patch, or of advancing, is judged in such a move.
        lookahead: The number of positions that are thought through ahead.
    """

    placements: int
    turning: float
    flipping: float
    misjudging: float
    carelessness: float
    lapses: float = 0.0
    lapse: float = 0.0
    lookahead: int = 0


class Eye(NamedTuple):
    """What somebody counts who judges a move by eye; 1 stands for as much as it is worth.

    Attributes:
        income: The weight of an income button at every income mark ahead.
        price: The weight of a button that is spent.
        time: The weight of a space that the token moves: advancing would earn a button there.
        cover: The weight of a covered cell, which saves two points.
        early: The share of this weight that a cell has at the start of the game; at the end it has all.
        snugness: Points for every pair of empty neighbors that a move keeps beyond what its size takes.
        turn: Points for being on turn again.
        special: The weight of the cell that a special patch will cover.
        bonus: The weight of the bonus tile that a move wins.
    """

    income: float
    price: float
    time: float
    cover: float
    early: float
    snugness: float
    turn: float
    special: float
    bonus: float


EYES = {
    1: Eye(
        income=0.8,
        price=1.1,
        time=0.8,
        cover=1.0,
        early=0.2,
        snugness=0.7,
        turn=0.0,
        special=0.0,
        bonus=0.0,
    ),
}
"""The levels that judge by eye. The beginner grudges buttons, thinks too little of time and income, and
overlooks special patches and the bonus tile."""
HABITS = {
    1: Habits(placements=16, turning=0.9, flipping=0.4, misjudging=0.5, carelessness=0.2),
    2: Habits(
        placements=16,
        turning=0.9,
        flipping=0.6,
        misjudging=0.5,
        carelessness=0.2,
        lapses=0.23,
        lapse=12.0,
    ),
    3: Habits(placements=16, turning=1.0, flipping=1.0, misjudging=0.2, carelessness=0.1),
    4: Habits(
        placements=16,
        turning=1.0,
        flipping=1.0,
        misjudging=0.0,
        carelessness=0.0,
        lapses=0.13,
        lapse=15.0,
        lookahead=300,
    ),
}
"""The levels below the champion's: of each more is said in docs/play.md."""
CHAMPION = "instant"
"""The level of the champion that is the highest one for people."""
