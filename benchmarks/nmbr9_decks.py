"""Measures what an agent scores alone at NMBR 9, with the decks of nmbr9_decks.txt.

    python benchmarks/nmbr9_decks.py AGENT [--decks N] [--first K] [--known] [--processes N]
                                     [--cluster ADDRESS] [--keep FILE] [--json FILE]
    python benchmarks/nmbr9_decks.py --write

The file holds 1000 decks of the published game, shuffled with seed 9. They are unknown to the agent unless
--known is given. With --keep every game is kept as soon as it has ended, and the same command goes on after a
stop. Needs numpy, numba, gymnasium and pettingzoo; and what the agent needs.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from patchwork_env import __version__
from patchwork_env.errors import TableEdgeError, WorkerError
from patchwork_env.learning.distributed.worker_options import add_options, workers_of
from patchwork_env.learning.evaluation.decks import decks_text, read_decks, shuffled_decks
from patchwork_env.learning.evaluation.players import HELP, fingerprint, load_player
from patchwork_env.learning.evaluation.solo import KeptGames, SoloGame, play_decks, result_of
from patchwork_env.learning.system.files import check_file_path, write_text
from patchwork_env.learning.system.machine import describe_setup

FILE = Path(__file__).with_name("nmbr9_decks.txt")
NUMBER, SEED = 1000, 9
_PAUSE = 10.0
"""Seconds between two reports of how far the games are."""


def main() -> int:
    options = parse()
    try:
        if options.write:
            write_text(FILE, decks_text(shuffled_decks(NUMBER, SEED)))
            return 0
        if options.json:
            check_file_path(options.json, "--json")
        run(options)
    except (ValueError, OSError, ImportError, TableEdgeError, WorkerError) as error:
        print(f"nmbr9_decks.py: {error}", file=sys.stderr)
        return 2
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], epilog=HELP)
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="who is measured")
    parser.add_argument("--decks", type=int, metavar="N", help="how many; default: all of the file")
    parser.add_argument("--first", type=int, metavar="K", default=0, help="number of the first (default: 0)")
    parser.add_argument("--file", type=Path, default=FILE, help="the decks (default: nmbr9_decks.txt)")
    parser.add_argument("--known", action="store_true", help="show the agent the whole deck")
    parser.add_argument("--seed", type=int, default=0, help="of the agent (default: 0)")
    add_options(parser, 1, "--processes")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep all games, to go on after a stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--write", action="store_true", help="write nmbr9_decks.txt anew")
    options = parser.parse_args()
    if options.write == bool(options.agent):
        parser.error("give an AGENT, or --write alone")
    return options


def run(options: argparse.Namespace) -> None:
    """Plays the decks that have not been played yet, and shows and writes the result."""
    decks = dict(enumerate(read_decks(options.file)))
    end = len(decks) if options.decks is None else options.first + options.decks
    if not 0 <= options.first < end <= len(decks):
        raise ValueError(f"decks {options.first} to {end - 1} are asked for; there are 0 to {len(decks) - 1}")
    agent, order = load_player(options.agent), "known" if options.known else "unknown"
    workers = workers_of(options)
    settings = {"agent": options.agent, "weights": fingerprint(options.agent), "order": order}
    settings |= {"seed": options.seed, "file": options.file.name, "package": __version__}
    kept = KeptGames(options.keep, settings) if options.keep else None
    wanted = range(options.first, end)
    games = [game for game in kept.games if game.deck in wanted] if kept else []
    there = {game.deck for game in games}
    left = {number: decks[number] for number in wanted if number not in there}
    report = reporter(games, len(wanted))

    def done(game: SoloGame) -> None:
        games.append(game)
        if kept:
            kept.add(game)
        report()

    if left:
        play_decks(agent, left, order, options.seed, workers, done)
    result = result_of(options.agent, order, games)
    print(describe_setup())
    print(result.table())
    if options.json:
        write_text(options.json, json.dumps(result.as_dict(), indent=1) + "\n")


def reporter(games: list[SoloGame], number: int) -> Callable[[], None]:
    """What says now and then how many of a number of games have been played."""
    said = monotonic()

    def report() -> None:
        nonlocal said
        if monotonic() - said > _PAUSE:
            said = monotonic()
            mean = sum(game.score for game in games) / len(games)
            print(f"{len(games)} of {number} decks, mean {mean:.2f}", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    sys.exit(main())
