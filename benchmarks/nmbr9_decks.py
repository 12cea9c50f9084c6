"""Measures what an agent scores alone at NMBR 9, with the decks of nmbr9_decks.txt.

    python benchmarks/nmbr9_decks.py AGENT [--decks N] [--first K] [--known] [--processes N]
                                     [--cluster ADDRESS] [--keep DIR] [--json FILE]
    python benchmarks/nmbr9_decks.py --write

The file holds 1000 decks of the published game, shuffled with seed 9. They are unknown to the agent unless
--known is given. With --keep every game is kept as soon as it has ended, and the same command goes on after a
stop. Needs numpy, numba, gymnasium and pettingzoo; and what the agent needs.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.errors import WorkerError
from patchwork_env.learning.distributed.jobs import add_worker_options, workers_of
from patchwork_env.learning.evaluation.decks import (
    DeckGame,
    decks_text,
    open_decks,
    play_decks,
    read_decks,
    shuffled_decks,
)
from patchwork_env.learning.evaluation.players import HELP, Entrant
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
    except (ValueError, OSError, ImportError, WorkerError) as error:
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
    parser.add_argument("--seed", type=int, default=0, help="seed of the agent (default: 0)")
    add_worker_options(parser, 1, "--processes")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep all games, to go on after a stop")
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
    entrant, order = Entrant.load(options.agent), "known" if options.known else "unknown"
    wanted = {number: decks[number] for number in range(options.first, end)}
    with ExitStack() as stack:
        store = None
        if options.keep:
            about = entrant, order, options.seed, options.file.name
            store = stack.enter_context(open_decks(options.keep, *about))
        done, workers = reporter(len(wanted)), workers_of(options)
        result = play_decks(entrant.agent, wanted, order, options.seed, workers, done, store)
    print(describe_setup())
    print(result.table())
    if options.json:
        write_text(options.json, json.dumps(result.as_dict(), indent=1) + "\n")


def reporter(number: int) -> Callable[[DeckGame], None]:
    """What says now and then how many of a number of decks have been played."""
    said, scores = monotonic(), []

    def report(game: DeckGame) -> None:
        nonlocal said
        scores.append(game.score)
        if monotonic() - said > _PAUSE:
            said = monotonic()
            mean = sum(scores) / len(scores)
            print(f"{len(scores)} of {number} decks, mean {mean:.2f}", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    sys.exit(main())
