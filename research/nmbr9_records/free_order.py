"""Searches for the highest score of NMBR 9 in free order, and keeps the best stack found.

    python -m research.nmbr9_records.free_order [--minutes M] [--processes P] [--file FILE]
                                          [--value FOLDER] [--seed S]

Every process searches towers of its own, with ratings drawn at random, or improves on the best stack so far,
whoever found it. The best is in FILE (default: best.json) at any time; the same command goes on from
there. What is written there replays by verify.py. Needs numpy, numba, gymnasium and pettingzoo.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from patchwork_env.agents.nmbr9.beam import Plan, as_solo_game
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.core.files import check_file_path, write_text
from patchwork_env.errors import WorkerError
from patchwork_env.learning.distributed import do_jobs
from patchwork_env.learning.system import describe_setup
from patchwork_env.nmbr9.game import Game
from research.nmbr9_records.improvement import improvements, random_rating
from research.nmbr9_records.stacks import plan_tower
from research.nmbr9_records.verify import FILE, SHIPPED_VALUE, read_stack, stack_text

FRESH = 0.6
"""Share of the searches that begin with nothing."""
NARROWEST, WIDEST = 100, 1500
QUICKEST = 10.0
"""No search takes fewer seconds."""
POLISHING = 20.0
"""Seconds in which the result of a search is improved."""
IMPROVING = 60.0
"""Seconds of a search that improves on the best."""


class Work(NamedTuple):
    """The data that all searches share."""

    value: Path
    file: Path
    seed: int
    end: float


def search(work: Work, number: int) -> Plan | None:
    """One search, or None if it is too late for another."""
    if time.time() >= work.end:
        return None
    rng = np.random.default_rng([work.seed, number])
    weights, _ = read_value(work.value)
    root = as_solo_game(Game(order="free").state)
    end = time.perf_counter() + work.end - time.time()
    width = int(NARROWEST * (WIDEST / NARROWEST) ** rng.random())
    if work.file.exists() and rng.random() > FRESH:
        plan, until = read_stack(work.file), min(end, time.perf_counter() + IMPROVING)
    else:
        plan = plan_tower(root, width, random_rating(rng), weights, int(rng.integers(1 << 32)), end)
        until = min(end, time.perf_counter() + POLISHING)
    return list(improvements(root, plan, width, weights, rng, end=until))[-1]


def run(options: argparse.Namespace) -> None:
    """Shows each improvement as it is found, and a table of all scores in the end."""
    best = read_stack(options.file) if options.file.exists() else Plan(-1, ())
    print(f"{describe_setup()}; best so far: {best.score if best.stack else 'none'}", flush=True)
    began, end = time.time(), time.time() + 60 * options.minutes
    work = Work(options.value, options.file, options.seed, end)
    jobs, scores = range(math.ceil(60 * options.minutes / QUICKEST + 1) * options.processes), []
    for number, plan in do_jobs(search, work, jobs, options.processes):
        if plan is None:
            continue
        scores.append(plan.score)
        if plan.score > best.score:
            best = plan
            write_text(options.file, stack_text(best))
            print(
                f"{(time.time() - began) / 60:6.1f} min  search {number:5}  {best.score} points", flush=True
            )
    quantiles = np.quantile(scores, (0, 0.5, 1)).astype(int) if scores else "none"
    print(f"{len(scores)} searches; lowest, median and highest score: {quantiles}; best: {best.score}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="(default: 5)")
    parser.add_argument("--processes", type=int, metavar="P", default=1, help="(default: 1)")
    parser.add_argument("--file", type=Path, default=FILE, help="the file of the best stack")
    parser.add_argument("--value", type=Path, default=SHIPPED_VALUE, help="checkpoint of a value")
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
