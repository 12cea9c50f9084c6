"""Measures how long the analysis of a position takes, over all positions of a game.

    python benchmarks/analysis.py [--agent SPEC] [--game FILE] [--every N] [--json] [--write]
    python benchmarks/analysis.py --changes N [--agent SPEC] [--json]

The first position is analyzed once beforehand, to load or compile the code. Times are of the clock.

With ``--changes`` it compares the probability to win of a move with that of the position after the move. In a
position of each of N games, a random one of the listed moves that have a probability is played. Then the next
position is analyzed in the same way.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env import agents
from patchwork_env.agents import ANALYST, Agent
from patchwork_env.learning.evaluation.results import position_after
from patchwork_env.learning.reports.review import read_game
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game
from patchwork_env.service.agents import analyses_of
from patchwork_env.service.fields import DEFAULT_LINES

_PLAYER = "champion:nodes=20"
"""The agent that plays the games for ``--changes``."""
_GAME = Path(__file__).parents[1] / "examples" / "game.txt"


def seconds(positions: list[Game], agent: Agent) -> list[float]:
    """The seconds that each analysis takes."""
    agents.analyse(positions[0], agent)
    times = []
    for position in positions:
        start = time.perf_counter()
        agents.analyse(position, agent)
        times.append(time.perf_counter() - start)
    return times


def changes(count: int, agent: Agent) -> list[float]:
    """The differences between the probabilities of a listed move and of the position after it, descending."""
    player, found = agents.load(_PLAYER), []
    for seed in range(count):
        random, game = np.random.default_rng(seed), Game(seed=seed)
        choices = []
        while not game.is_over:
            if len(game.legal_actions()) > 1:
                choices.append(game.clone())
            game.play(player.act(game))
        position = choices[random.integers(len(choices))]
        listed = [line for line in _analysis(position, agent)["lines"] if line["win"] is not None]
        line = listed[random.integers(len(listed))]
        position.play(line["action"])
        after = float(position.winner() == 0) if position.is_over else _analysis(position, agent)["win"]
        found.append(abs(after - line["win"]))
    return sorted(found, reverse=True)


def _analysis(game: Game, agent: Agent) -> dict[str, Any]:
    """The last analysis that the page shows of a position."""
    *_, last = analyses_of(game, agent, DEFAULT_LINES)
    return last


def report_changes(found: list[float], as_json: bool) -> None:
    figures = {
        "mean": statistics.mean(found),
        "one in twenty": found[max(len(found) // 20, 1) - 1],
        "most": found[0],
    }
    print(describe_setup())
    print(f"changes of the probability to win, in {len(found)} positions:")
    print("\n".join(f"{name}: {change:.1%}" for name, change in figures.items()))
    if as_json:
        print(json.dumps(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--agent", metavar="SPEC", default=ANALYST, help="the agent that analyzes (default: %(default)s)"
    )
    parser.add_argument("--game", type=Path, metavar="FILE", default=_GAME, help="default: examples/game.txt")
    parser.add_argument("--every", type=int, default=1, help="analyze every N-th position (default: 1)")
    parser.add_argument("--changes", type=int, metavar="N", help="measure changes in N games instead")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if min(options.every, options.changes or 1) < 1:
        parser.error("--every and --changes must be at least 1")
    try:
        agent, game = agents.load(options.agent), read_game(options.game)
        if options.changes:
            report_changes(changes(options.changes, agent), options.json)
            return
        turns = range(0, len(game.history), options.every)
        times = seconds([position_after(game, number) for number in turns], agent)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    figures = {"mean": statistics.mean(times), "most": max(times)}
    print(describe_setup())
    print(f"seconds per position, of {len(times)}: mean {figures['mean']:.2f}, most {figures['most']:.2f}")
    if options.write:
        keep("analysis", of_unit("s", figures), options.write)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
