"""Analyses a game by ``patchwork-env engine`` in a separate process, and lists the most costly moves.

One query sends all positions, and answers arrive as they are ready. The client starts the engine and ends it.
Any program with the protocol of ``docs/use/engine.md`` can replace the engine.

    python examples/engine_client.py examples/game.txt --nodes 2000
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from patchwork_env.errors import OpponentError
from patchwork_env.protocol.client import Client

ENGINE = [sys.executable, "-m", "patchwork_env.cli", "engine"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Analyses a game, and lists the moves that cost most.")
    parser.add_argument("game", type=Path, help="a file with a game of Patchwork in notation")
    parser.add_argument("--nodes", type=int, default=1000, help="the budget of a position (default: 1000)")
    parser.add_argument("--most", type=int, default=5, help="how many moves to list (default: 5)")
    parser.add_argument("--engine", nargs="+", default=ENGINE, help="the command of another engine")
    arguments = parser.parse_args()
    try:
        notation = arguments.game.read_text(encoding="utf-8")
        with Client(arguments.engine) as engine:
            found = analyse(engine, notation, arguments.nodes)
    except (OpponentError, OSError, ValueError) as error:
        parser.error(str(error))
    for loss, number, player, move, better in costs(found)[: arguments.most]:
        print(f"move {number:3} by player {player}: {move:8} lost {loss:5.1%}, better was {better}")


def analyse(engine: Client, notation: str, nodes: int) -> list[dict[str, Any]]:
    """Return an analysis of every position before a move, each with the ``move`` that was played."""
    whole = engine.ask("position", notation=notation)
    moves = [move for line in whole["notation"].splitlines()[1:] for move in line.split()]
    plies = list(range(len(moves)))
    query = engine.send("analyse", notation=notation, plies=plies, agent=f"champion:nodes={nodes}")
    found = {answer["ply"]: answer for answer in engine.answers(query)}
    return [{**found[ply], "move": moves[ply]} for ply in plies]


def costs(found: list[dict[str, Any]]) -> list[tuple[float, int, int, str, str]]:
    """Return the cost of every move in probability to win, the most costly first, with the better move."""
    listed = []
    for number, (before, after) in enumerate(pairwise(found), 1):
        player, better = before["player"], before["lines"][0]["word"]
        loss = before["win"] - after["win"] if player == 0 else after["win"] - before["win"]
        if before["move"] != better:
            listed.append((loss, number, player, before["move"], better))
    return sorted(listed, reverse=True)


if __name__ == "__main__":
    main()
