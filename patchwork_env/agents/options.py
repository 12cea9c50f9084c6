"""The options of agents in specs: their readers, and the budgets of searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

LEVELS = ("instant", "fast", "strong", "analysis")
"""The named budgets of searches with a learned value, in ascending order."""
FEWEST_NODES, MOST_NODES = 2, 200_000
"""The range of the option ``nodes`` of such a search; in Patchwork, the maximum takes 150 MB."""
MOST_THREADS = 64
"""The maximum of the option ``threads``; more threads do not help a search."""
FEWEST_SIMULATIONS, MOST_SIMULATIONS = 2, 10**6
"""The range of simulations per move: one would compare nothing, and each takes memory."""
AIMS = ("win", "rich", "margin", "score")
"""The aims of a search of Patchwork with a learned value. ``win`` is the strongest. ``rich`` also aims to
win, but with many points for both players. ``margin`` maximizes the difference of the scores, ``score`` the
player's own points."""
Reader = Callable[[str], Any]
"""Converts the text of an option to its value; the message of its ValueError is what is allowed."""


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
    """Return a reader of integers, ``lowest ... highest``."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise ValueError(f"an integer of {lowest} to {highest}")
        return int(text)

    return read


def one_of(*words: str) -> Reader:
    """Return a reader that allows only these words."""

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
    """Return the spec of an agent with the options that are not None; a level alone without ``level=``."""
    given = {key: value for key, value in options.items() if value is not None}
    texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in given.items()}
    if list(texts) == ["level"]:
        return f"{name}:{texts['level']}"
    return f"{name}:{','.join(f'{key}={text}' for key, text in texts.items())}" if texts else name
