"""An agent as a separate program, with the standard library alone; it could be in any language.

It reads one query per line and writes one answer per line, as in ``docs/use/engine.md``. It knows
only the notation of moves: it buys if it can, and keeps patches or tiles close together.

    patchwork-env evaluate "program:python examples/foreign_engine.py" --against random --games 20
"""

from __future__ import annotations

import json
import random
import re
import sys
from typing import Any

BUY = re.compile(r"\d+/\d@([a-i])([1-9])")
SPECIAL = re.compile(r"\*([a-i])([1-9])")
PLACE = re.compile(r"\d/\d@(-?\d+),(-?\d+)")


def main() -> None:
    for line in sys.stdin:
        query = json.loads(line)
        print(json.dumps({"id": query.get("id"), **answer(query)}), flush=True)


def answer(query: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the answer to a query, without the id."""
    if query.get("method") != "choose":
        return {"error": "this program only chooses moves"}
    draw = random.Random(query.get("seed"))  # the same seed gives the same game
    return {"move": min(query["legal_moves"], key=lambda move: (cost(move), draw.random()))}


def cost(move: str) -> float:
    """Return the distance of a move from the corner, or from the first tile; waiting is the last resort."""
    if match := BUY.fullmatch(move) or SPECIAL.fullmatch(move):
        column, row = match.groups()
        return max(ord(column) - ord("a"), int(row) - 1)
    if match := PLACE.fullmatch(move):
        row, column = match.groups()
        return abs(int(row)) + abs(int(column))
    return 100


if __name__ == "__main__":
    main()
