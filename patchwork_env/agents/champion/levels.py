"""Budgets of a move."""

from __future__ import annotations

from collections.abc import Mapping

from patchwork_env._options import check_between

LEVELS: Mapping[str, int] = {"instant": 50, "fast": 1_000, "strong": 10_000, "analysis": 100_000}
"""Budgets with a name, in nodes: positions whose successors are evaluated, in some 0.1 ms each."""
DEFAULT_LEVEL = "instant"
FEWEST_NODES, MOST_NODES = 2, 200_000
"""Of any budget, that of seconds included; so many nodes take 150 MB."""


def most_nodes(level: str | None, nodes: int | None, seconds: float | None) -> int:
    """The most nodes that a budget allows.

    Args:
        level: One of :data:`LEVELS`, or None.
        nodes: ``FEWEST_NODES ... MOST_NODES``, or None.
        seconds: Above 0, or None. With all of them None the budget is :data:`DEFAULT_LEVEL`.

    Raises:
        ValueError: An argument is not of these, or there is more than one budget.
    """
    budgets = {"level": level, "nodes": nodes, "seconds": seconds}
    given = [f"{key}={value}" for key, value in budgets.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"the budgets are {' and '.join(given)}; give one of them")
    if seconds is not None:
        if not 0 < seconds < float("inf"):
            raise ValueError(f"seconds is {seconds}; it must be above 0 and finite")
        return MOST_NODES
    if nodes is not None:
        return check_between(nodes, FEWEST_NODES, MOST_NODES, "nodes")
    if level is not None and level not in LEVELS:
        raise ValueError(f"level is {level!r}; allowed are {', '.join(map(repr, LEVELS))}")
    return LEVELS[level or DEFAULT_LEVEL]
