"""Budgets of a move, and what to play for."""

from __future__ import annotations

from collections.abc import Mapping

from patchwork_env.agents import specs
from patchwork_env.core.checks import check_between, check_one_of

LEVELS: Mapping[str, int] = {"instant": 22_000, "fast": 140_000, "strong": 2_800_000, "analysis": 15_000_000}
"""Budgets with a name, in units of effort: about one evaluation each. A million take 0.25 to 0.6 seconds."""
DEFAULT_LEVEL = "instant"
FEWEST_NODES, MOST_NODES = 2, 200_000
"""The limits of the nodes of a search; the most take 150 MB."""

AIMS = ("win", "rich", "margin", "score")
"""What an agent plays for. ``win`` is the strongest. ``rich`` is to win too, but with many points for both
players. ``margin`` is the difference of the scores. ``score`` is the player's own points, with little
regard to who wins."""
DEFAULT_AIM = "win"


def check_budget(level: str | None, nodes: int | None, seconds: float | None) -> None:
    """Checks that at most one budget is given: a level, nodes or seconds.

    Raises:
        ValueError: An argument is not allowed, or more than one budget is given.
    """
    specs.check_budget(level=level, nodes=nodes, seconds=seconds)
    if level is not None:
        check_one_of(level, LEVELS, "level")
    if nodes is not None:
        check_between(nodes, FEWEST_NODES, MOST_NODES, "nodes")
