"""Measures how strong agents are: a round robin of all that come with the package, or of those given.

    python benchmarks/strength.py [AGENT …] [--game NAME] [--games N] [--seed S] [--workers N]

Every circle of Patchwork is played from both seats, every deck of NMBR 9 once by both. The first table shows
ratings and figures of play, the second one win rates; see docs/measure/tournaments.md.
"""

import argparse
import tempfile
from pathlib import Path

from patchwork_env import agents
from patchwork_env.games import GAMES, PATCHWORK
from patchwork_env.learning.commands.match_options import add_worker_options
from patchwork_env.learning.evaluation import Tournament
from patchwork_env.learning.system import describe_setup, usable_cores

ANCHOR, ANCHOR_RATING = "greedy", 1000.0
"""The rating that fixes the scale if greedy takes part: that of the gauntlet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="default: all that come with the package")
    parser.add_argument("--game", choices=GAMES, default=PATCHWORK, help="(default: patchwork)")
    parser.add_argument("--games", type=int, default=1000, help="games of each pairing (default: 1000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of circles or decks, and of agents (default: 0)"
    )
    add_worker_options(parser, usable_cores())
    options = parser.parse_args()
    names = options.agents or list(agents.names(options.game))
    anchor, rating = (ANCHOR, ANCHOR_RATING) if ANCHOR in names else (None, 0.0)
    print(describe_setup())
    try:
        tournament = Tournament.enter(
            names,
            options.games,
            options.seed,
            anchor=anchor,
            anchor_rating=rating,
            game=options.game,
        )
        with tempfile.TemporaryDirectory() as folder:
            print(tournament.play(Path(folder), options.workers).table())
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
