"""Budgets of a move, and what to play for."""

from __future__ import annotations

from collections.abc import Mapping

from patchwork_env.agents import budgets
from patchwork_env.core.checks import check_between, check_one_of

LEVELS: Mapping[str, int] = {"instant": 22_000, "fast": 140_000, "strong": 2_800_000, "analysis": 15_000_000}
"""Budgets with a name, as effort: about as many evaluations. A million of them take 0.25 to 0.6 seconds."""
DEFAULT_LEVEL = "instant"
FEWEST_NODES, MOST_NODES = 2, 200_000
"""Of any search; the most take 150 MB."""

AIMS = ("win", "rich", "margin", "score")
"""To win is the strongest. Rich games are to be won, too, but neither grudges the other its points. For the
score, players hardly care who wins and build quilts."""
DEFAULT_AIM = "win"


def check_budget(level: str | None, nodes: int | None, seconds: float | None) -> None:
    """Checks that at most one budget is given.

    Args:
        level: One of :data:`LEVELS`, or None.
        nodes: ``FEWEST_NODES ... MOST_NODES``, or None.
        seconds: Above 0, or None.

    Raises:
        ValueError: An argument is not of these, or there is more than one budget.
    """
    budgets.check_budget(level=level, nodes=nodes, seconds=seconds)
    if level is not None:
        check_one_of(level, LEVELS, "level")
    if nodes is not None:
        check_between(nodes, FEWEST_NODES, MOST_NODES, "nodes")
