"""Measures how long the analysis of a position takes, over all positions of a game.

    python benchmarks/analysis.py [--agent SPEC] [--game FILE] [--every N] [--json] [--write]

The first position is analyzed once before, which loads or compiles the code. Times are what a user waits for.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env import agents
from patchwork_env.agents import ANALYST, Agent
from patchwork_env.learning.evaluation.results import position_after
from patchwork_env.learning.reports.review import read_game
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork import Game

_GAME = Path(__file__).parents[1] / "examples" / "game.txt"


def seconds(positions: list[Game], agent: Agent) -> list[float]:
    """Seconds that the analysis of each position takes."""
    agents.analyse(positions[0], agent)
    times = []
    for position in positions:
        start = time.perf_counter()
        agents.analyse(position, agent)
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--agent", metavar="SPEC", default=ANALYST, help="who analyzes (default: %(default)s)"
    )
    parser.add_argument("--game", type=Path, metavar="FILE", default=_GAME, help="default: examples/game.txt")
    parser.add_argument("--every", type=int, default=1, help="analyze every N-th position (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if options.every < 1:
        parser.error("--every must be at least 1")
    try:
        agent, game = agents.load(options.agent), read_game(options.game)
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
