"""Measures how strong agents are: each one given against each opponent, in paired games.

    python benchmarks/strength.py [AGENT …] [--against AGENT …] [--games N] [--seed S] [--workers N]

Every circle is played from both seats. Without arguments: greedy against random. The last columns say how the
agent played: its mean score, the difference to the opponent's, its empty cells, and microseconds per move of
both sides together.
"""

import argparse
import time

from machine import describe

from patchwork_env import agents
from training.matches import Result, play_matches
from training.results import AGENT

_HEAD = "win rate  95% interval    score  difference  empty cells  us/move"


def print_row(result: Result, seconds: float, width: int) -> None:
    """One line of the table."""
    low, high = result.interval
    mine = result.means(AGENT)
    cells = (
        f"{result.win_rate:8.1%}",
        f"{low:5.1%} to {high:6.1%}",
        f"{mine['score']:5.1f}",
        f"{result.score_difference:+10.1f}",
        f"{mine['empty_cells']:11.1f}",
        f"{1e6 * seconds / result.games.turns.sum():7.1f}",
    )
    print("  ".join([f"{result.agent:<{width}}", f"{result.opponent:<{width}}", *cells]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agent", nargs="*", default=["greedy"], help="agents to measure (default: greedy)")
    parser.add_argument("--against", nargs="+", default=["random"], metavar="AGENT", help="default: random")
    parser.add_argument(
        "--games", type=int, default=1000, help="per opponent, an even number (default: 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of circles and agents (default: 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args()
    specs = [*options.agent, *options.against]
    width = max(map(len, specs))
    try:
        for spec in specs:
            agents.load(spec)
        print(describe())
        print(f"{options.games} games per line, every circle from both seats, seed {options.seed}\n")
        print(f"{'agent':<{width}}  {'against':<{width}}  {_HEAD}")
        for agent in options.agent:
            for opponent in options.against:
                play_matches(agent, opponent, 2)  # compiles
                began = time.perf_counter()
                result = play_matches(agent, opponent, options.games, options.seed, workers=options.workers)
                print_row(result, time.perf_counter() - began, width)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
