"""The options of agents in specs: readers of their texts, and the budgets of searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

LEVELS = ("instant", "fast", "strong", "analysis")
"""The budgets of searches with a learned value that have a name, from the smallest to the largest."""
FEWEST_NODES, MOST_NODES = 2, 200_000
"""The limits of the nodes of such a search; in Patchwork the most take 150 MB."""
MOST_THREADS = 64
"""The most threads of such a search, more than help it."""
FEWEST_SIMULATIONS, MOST_SIMULATIONS = 2, 10**6
"""The limits of the simulations of a move: one would compare nothing, and searches have memory for each."""
AIMS = ("win", "rich", "margin", "score")
"""The aims of a search of Patchwork with a learned value. ``win`` is the strongest. ``rich`` is to win
too, but with many points for both players. ``margin`` is the difference of the scores. ``score`` is the
own points, with little regard to who wins."""
Reader = Callable[[str], Any]
"""Makes the value of an option from its text; the ValueError that it raises says what is allowed."""


def boolean(text: str) -> bool:
    """Read ``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def seconds(text: str) -> float:
    """Read a time in seconds."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise ValueError("a number above 0, such as 0.5")
    return float(text)


def integer(lowest: int, highest: int = 10**6) -> Reader:
    """Return a reader of integers of ``lowest ... highest``."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise ValueError(f"an integer of {lowest} to {highest}")
        return int(text)

    return read


def one_of(*words: str) -> Reader:
    """Return a reader of some words alone."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return text

    return read


VALUE_OPTIONS: Mapping[str, Reader] = {
    "level": one_of(*LEVELS),
    "nodes": integer(FEWEST_NODES, MOST_NODES),
    "seconds": seconds,
}
"""The options of agents that play by a learned value."""


# --- budgets ----------------------------------------------------------------------------------------------


def check_budget(**budgets: Any) -> dict[str, Any]:
    """Return the budget that is not None, by its name; empty if there is none. ValueError for several."""
    given = {name: value for name, value in budgets.items() if value is not None}
    if len(given) > 1:
        words = " and ".join(f"{name}={value}" for name, value in given.items())
        raise ValueError(f"the budgets are {words}; give one of them")
    return given


def spec_of(name: str, **options: Any) -> str:
    """Return the spec of an agent with the options that are not None; a level by its value alone."""
    given = {key: value for key, value in options.items() if value is not None}
    texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in given.items()}
    if list(texts) == ["level"]:
        return f"{name}:{texts['level']}"
    return f"{name}:{','.join(f'{key}={text}' for key, text in texts.items())}" if texts else name
