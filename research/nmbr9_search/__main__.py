"""Measures the scores of the NMBR 9 champion's search by its number of evaluations and its rollouts.

    python -m research.nmbr9_search [--checkpoint FOLDER] [--evaluations N …] [--depths N …]
                                    [--candidates N …] [--widths N …] [--decks N] [--first K] [--processes P]
                                    [--seed S]

All combinations play the same decks of nmbr9_decks.txt, unknown to the agent, and are compared with the value
without a search. Times are those of the clock: run nothing else. Needs the package without extras.
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

from benchmarks.nmbr9_decks import FILE, DecksResult, play_decks, read_decks
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.nmbr9.champion import SETTINGS, ChampionAgent, ValueAgent
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.learning.system import describe_setup


def main() -> int:
    options = parse()
    every = read_decks(FILE)
    end = options.first + options.decks
    if not 0 <= options.first < end <= len(every):
        print(f"nmbr9_search: there are decks 0 to {len(every) - 1}", file=sys.stderr)
        return 2
    decks = dict(enumerate(every[options.first : end], options.first))
    weights = read_value(read_checkpoint(options.checkpoint))
    print(
        f"{describe_setup()}, {options.processes} processes; {options.checkpoint.name}, {len(decks)} decks\n"
    )
    print("evaluations  depth  candidates  width    mean score      more than without    s per move  longest")
    base = play_decks(ValueAgent(weights), decks, seed=options.seed, workers=options.processes)
    show("no search", base, base)
    combinations = itertools.product(options.evaluations, options.depths, options.candidates, options.widths)
    for evaluations, depth, candidates, width in combinations:
        settings = SETTINGS._replace(depth=depth, candidates=candidates, width=width)
        agent = ChampionAgent(weights, evaluations=evaluations, settings=settings)
        result = play_decks(agent, decks, seed=options.seed, workers=options.processes)
        show(f"{evaluations:<11,}  {depth:>5} {candidates:>11} {width:>6}", result, base)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--checkpoint", type=Path, metavar="FOLDER", default=SHIPPED_FOLDER / "nmbr9_champion"
    )
    parser.add_argument("--evaluations", type=int, metavar="N", nargs="+", default=[5_000, 20_000])
    parser.add_argument("--depths", type=int, metavar="N", nargs="+", default=[SETTINGS.depth])
    parser.add_argument("--candidates", type=int, metavar="N", nargs="+", default=[SETTINGS.candidates])
    parser.add_argument("--widths", type=int, metavar="N", nargs="+", default=[SETTINGS.width])
    parser.add_argument("--decks", type=int, metavar="N", default=50, help="(default: %(default)s)")
    parser.add_argument("--first", type=int, metavar="K", default=0, help="deck (default: %(default)s)")
    parser.add_argument("--processes", type=int, metavar="P", default=1, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the agents (default: %(default)s)")
    return parser.parse_args()


def show(name: str, result: DecksResult, base: DecksResult) -> None:
    """Prints a line; ranges are standard errors."""
    scores, more = result.scores, result.scores - base.scores
    root = np.sqrt(len(scores))
    longest = max(game.longest for game in result.games)
    print(
        f"{name:<37} {scores.mean():>7.2f} ± {scores.std() / root:.2f}  {more.mean():>+7.2f} ± "
        f"{more.std() / root:.2f}  {result.seconds_per_move:>14.4f}  {longest:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
