"""Budgets of searches, of which at most one is given, and the specs that name them."""

from __future__ import annotations

import math
from typing import Any

from patchwork_env.agents import specs
from patchwork_env.core.checks import check_between

BUDGETS = ("level", "nodes", "seconds", "simulations")
"""The options of specs that are budgets."""
MOST_SIMULATIONS = 10**6
"""The most simulations of a move; searches have memory for each of them."""


def check_budget(**budgets: Any) -> dict[str, Any]:
    """The budgets that are given, one or none; those that are not given are None.

    Raises:
        ValueError: More than one is given; or a number is not above 0 and finite, or there are too many
            simulations.
    """
    given = {name: value for name, value in budgets.items() if value is not None}
    if len(given) > 1:
        words = " and ".join(f"{name}={value}" for name, value in given.items())
        raise ValueError(f"the budgets are {words}; give one of them")
    for name, value in given.items():
        if name == "simulations":
            check_between(value, 1, MOST_SIMULATIONS, name)
        elif not isinstance(value, str) and not 0 < value < math.inf:
            raise ValueError(f"{name} is {value}; it must be above 0 and finite")
    return given


def with_budget(spec: str, **budgets: Any) -> str:
    """A spec with another budget in place of its own; the same spec if none is given.

    Raises:
        ValueError: More than one is given, or see :func:`patchwork_env.agents.specs.parse`.
    """
    given = check_budget(**budgets)
    if not given:
        return spec
    name, options = specs.parse(spec)
    kept = {key: text for key, text in options.items() if key not in BUDGETS}
    return spec_of(name, **kept, **given)


def spec_of(name: str, **options: Any) -> str:
    """The spec of an agent with those options that are not None; a level stands there by its name alone."""
    given = {key: value for key, value in options.items() if value is not None}
    if list(given) == ["level"]:
        return f"{name}:{given['level']}"
    words = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in given.items()
    ]
    return f"{name}:{','.join(words)}" if words else name
