"""What the losses of moves say: the names of the moves, and the accuracy of a player.

A loss is the probability to win that a move took from the player who made it, 0-1. The page of
``patchwork-env play`` has the same figures, in ``page/js/analysis/review.js``; a test compares both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Name = Literal["inaccuracy", "mistake", "blunder"]
NAMES: dict[Name, float] = {"inaccuracy": 0.05, "mistake": 0.1, "blunder": 0.2}
"""What moves are called that lose at least so much of the probability to win, the mildest first."""

_PLURALS: dict[Name, str] = {"inaccuracy": "inaccuracies", "mistake": "mistakes", "blunder": "blunders"}
_LEAST_ACCURACY = 1.0
"""The accuracy that a move has at least in the harmonic mean, which a single 0 would bring to 0."""


def name_of(loss: float) -> Name | None:
    """What a move is called that lost so much; None if it lost less than an inaccuracy."""
    reached: list[Name] = [name for name, least in NAMES.items() if loss >= least]
    return reached[-1] if reached else None


def counts(losses: Sequence[float]) -> dict[Name, int]:
    """How many moves have each name."""
    names = [name_of(loss) for loss in losses]
    return {name: names.count(name) for name in NAMES}


def counts_text(counted: dict[Name, int]) -> str:
    """Counts in words."""
    return ", ".join(f"{n} {name if n == 1 else _PLURALS[name]}" for name, n in counted.items())


def accuracy(losses: Sequence[float]) -> float | None:
    """How well a player played, 0-100, from the losses of all its moves; None without any.

    The mean of two means of the moves' accuracies: of the arithmetic one, in which every move counts the
    same, and of the harmonic one, which a single blunder lowers much.
    """
    if not losses:
        return None
    accuracies = [move_accuracy(loss) for loss in losses]
    arithmetic = math.fsum(accuracies) / len(accuracies)
    harmonic = len(accuracies) / math.fsum(1 / max(one, _LEAST_ACCURACY) for one in accuracies)
    return (arithmetic + harmonic) / 2


def move_accuracy(loss: float) -> float:
    """The accuracy of a move, 0-100, by the formula of lichess: https://lichess.org/page/accuracy."""
    if loss <= 0:
        return 100.0
    return max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669)
