"""Searches for the highest score of NMBR 9 in free order, and keeps the best stack found.

    python -m research.nmbr9_records.free_order [--minutes M] [--processes P] [--file FILE] [--seed S]

Search number 0 has the default rating of towers.py and levels of 1, 2, 2, 3, 3 and 4 tiles. Later searches
have random numbers of tiles, ratings and widths. All look for more points than the best stack of all
processes, which is always in FILE (default: best.json). Another seed continues from there with other
searches. verify.py replays the file.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.nmbr9.beam import Plan
from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.errors import WorkerError
from patchwork_env.learning.distributed import do_jobs
from patchwork_env.learning.system import describe_setup
from patchwork_env.nmbr9.game import Game
from research.nmbr9_records.stacks import better_stacks, complete
from research.nmbr9_records.towers import Rating
from research.nmbr9_records.verify import FILE, read_stack, stack_text

NUMBERS, WIDTH = (1, 2, 2, 3, 3, 4), 1000
"""Of the first search: the numbers of tiles of the levels above the table, from the top, and the width."""
FEWEST, MOST = 13, 16
"""The number of tiles above the table."""
NARROWEST, WIDEST = 300, 5000
QUICKEST = 1.0
"""The least seconds of a search."""


class Work(NamedTuple):
    """The data that all searches share."""

    file: Path
    seed: int
    end: float


def random_numbers(rng: np.random.Generator) -> tuple[int, ...]:
    """Draws the number of tiles of each level above the table, from the top, none less than above."""
    while True:
        numbers = [int(rng.integers(1, 3))]
        while sum(numbers) < FEWEST:
            numbers.append(max(2, numbers[-1] + int(rng.integers(2))))
        if sum(numbers) <= MOST:
            return tuple(numbers)


def random_rating(rng: np.random.Generator) -> Rating:
    """Draws the weights by which towers are compared."""
    return Rating(
        growth=rng.uniform(5.0, 7.0),
        factor=rng.uniform(1.0, 1.1),
        zero=rng.uniform(1.0, 4.0),
        partial=rng.uniform(0.2, 0.6),
        roughness=rng.uniform(0.2, 0.8),
        noise=rng.choice([0.0, 3.0, 8.0]),
        waste=int(rng.integers(6, 12)),
    )


def search(work: Work, number: int) -> Plan | None:
    """The best stack of one search that is better than all before, or None."""
    end = time.perf_counter() + work.end - time.time()
    rng = np.random.default_rng([work.seed, number])
    width, rating = int(NARROWEST * (WIDEST / NARROWEST) ** rng.random()), random_rating(rng)
    numbers = random_numbers(rng)
    if number == 0:
        numbers, width, rating = NUMBERS, WIDTH, Rating()
    least = read_stack(work.file).score if work.file.exists() else -1
    found = better_stacks(Game(order="free"), numbers, width, rating, number, least, end)
    plans = [complete(Game(order="free"), stack) for stack in found]
    return max(plans, key=lambda plan: plan.score, default=None)


def run(options: argparse.Namespace) -> None:
    """Shows each improvement as it is found."""
    best = read_stack(options.file) if options.file.exists() else Plan(-1, ())
    print(f"{describe_setup()}; best so far: {best.score if best.stack else 'none'}", flush=True)
    began, end = time.time(), time.time() + 60 * options.minutes
    work = Work(options.file, options.seed, end)
    jobs = range(math.ceil(60 * options.minutes / QUICKEST + 1) * options.processes)
    for number, plan in do_jobs(search, work, jobs, options.processes):
        if plan is not None and plan.score > best.score:
            best = plan
            write_text(options.file, stack_text(best))
            minutes = (time.time() - began) / 60
            print(f"{minutes:6.1f} min  search {number:5}  {best.score} points", flush=True)
    print(f"best: {best.score}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="(default: 5)")
    parser.add_argument("--processes", type=int, metavar="P", default=1, help="(default: 1)")
    parser.add_argument("--file", type=Path, default=FILE, help="the file of the best stack")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first search (default: 0)")
    options = parser.parse_args()
    try:
        check_file_path(options.file, "--file")
        run(options)
    except (ValueError, OSError, WorkerError) as error:
        print(f"free_order: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
