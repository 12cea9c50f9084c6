"""Measures self-play by workers of Ray beside runs in one process.

python benchmarks/scaling.py [--configs FILE ...] [--set KEY=VALUE ...] [--workers N ...]
    [--rounds N] [--seconds S] [--json]

Needs Ray. Other work on the machine slows some turns, so the ways to run take turns in several rounds, and
figures are medians over the rounds. Processor times hardly depend on it.
"""

import argparse
import json
import pickle
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.common.workers import (
    IterationWork,
    RemoteTrainer,
    play_job,
)
from patchwork_env.learning.config import load_config
from patchwork_env.learning.distributed import RayPool, connected
from patchwork_env.learning.system import describe_setup, tune_malloc, versions

CONFIGS = (Path("configs/td.yaml"), Path("configs/alphazero_quick.yaml"))
TURNS_PER_GAME = 43
EMPTY_JOBS = 256
CALLS = 5

Figures = dict[str, float]


class Way(NamedTuple):
    """A way to run.

    Attributes:
        workers: The number of Ray's workers; 0 for a run in one process.
        threads: The threads of the run's own process.
        ahead: Whether workers play while the learner learns.
    """

    workers: int
    threads: int
    ahead: bool = False

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        if not self.workers:
            return f"no Ray, {threads}"
        return f"{self.workers} worker{'s' * (self.workers > 1)}, {threads}{', ahead' * self.ahead}"

    def settings(self) -> list[str]:
        """The settings of a configuration that run it in this way."""
        ahead = f"cluster.ahead={str(self.ahead).lower()}"
        return [f"threads={self.threads}", f"cluster.workers={self.workers}", ahead]


WAYS = (Way(0, 1), Way(0, 2), Way(1, 1), Way(1, 1, True), Way(2, 2), Way(2, 1, True))


class Runner:
    """A run that continues from turn to turn.

    Args:
        path: The file of its configuration.
        settings: Changes of the configuration, as ``key=value``.
        stack: The stack that ends the workers when it is closed.
    """

    def __init__(self, path: Path, settings: list[str], stack: ExitStack) -> None:
        self.trainer = shared_trainer(path, settings)
        stack.enter_context(self.trainer.workers())
        self.turn(0.0)

    def turn(self, seconds: float) -> Figures:
        """Measures iterations for a number of seconds, at least one; returns the figures."""
        trainer = self.trainer
        trainer.step()  # an iteration for which games are ready, if they are played ahead
        before, began, cpu = trainer.steps, time.perf_counter(), time.process_time()
        lines: list[Figures] = []
        while not lines or time.perf_counter() - began < seconds:
            lines.append(trainer.step())
        passed, cpu = time.perf_counter() - began, time.process_time() - cpu
        games = (trainer.steps - before) / TURNS_PER_GAME
        if trainer.playing is not None:
            trainer.playing.result()  # before the turn of another run
        return {
            "games_per_second": games / passed,
            "learner_idle_share": mean("time/share_of_time_collecting", lines),
            "own_ms_per_game": 1000 * cpu / games,
        }


def shared_trainer(path: Path, settings: list[str]) -> RemoteTrainer:
    """A fresh trainer."""
    config = load_config(path, settings)
    trainer = make_trainer(config)
    if not isinstance(trainer, RemoteTrainer):
        raise ValueError(f"algorithm is {config.algorithm!r}, which has no workers of this package")
    return trainer


def mean(name: str, lines: Sequence[Figures]) -> float:
    """The mean of a metric over iterations."""
    return statistics.fmean(line[name] for line in lines)


def measure_ways(
    path: Path, settings: list[str], ways: Sequence[Way], rounds: int, seconds: float
) -> dict[str, Figures]:
    """The figures of some ways to run, medians over rounds in which each has its turn."""
    with ExitStack() as stack:
        runners = {str(way): Runner(path, [*settings, *way.settings()], stack) for way in ways}
        turns = [{way: runner.turn(seconds) for way, runner in runners.items()} for _ in range(rounds)]
    return {way: medians([turn[way] for turn in turns]) for way in runners}


def medians(turns: Sequence[Figures]) -> Figures:
    """The median of every figure over the turns."""
    return {name: statistics.median(figures[name] for figures in turns) for name in turns[0]}


def measure_parts(path: Path, settings: list[str], workers: int) -> Figures:
    """Measure the time to play, and the learner's time for jobs, weights and results."""
    trainer = shared_trainer(path, [*settings, *Way(0, 1).settings()])
    config = trainer.config
    seed = np.uint64(1)
    jobs = trainer.jobs(seed, config.cluster.games_per_job)
    work = IterationWork(config, versions(), trainer.weights(), 0.0)
    with connected("local", workers) as ray:
        pool = RayPool(ray, workers)
        results = [result for _, result in sorted(pool.imap(play_job, work, jobs))]
        figures = {
            "seconds to play a job": timed(lambda: play_job(work, jobs[0])),
            "bytes of weights": float(len(pickle.dumps(work))),
            "seconds to share weights": timed(lambda: ray.put(ray.cloudpickle.dumps(work))),
            "bytes of results": float(len(pickle.dumps(results))),
            "seconds to join results": timed(lambda: trainer.combine(results)),
        }
        if isinstance(jobs[0], np.ndarray):  # jobs can be empty
            empty = [jobs[0][:0]] * EMPTY_JOBS
            seconds = timed(lambda: list(pool.imap(play_job, work, empty)))
            figures["seconds for an empty job"] = seconds / EMPTY_JOBS
    return figures


def timed(function: Callable[[], object]) -> float:
    """Median processor time of a call, in seconds, of all threads of this process."""
    times = []
    for _ in range(CALLS):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return statistics.median(times)


def show(path: Path, ways: dict[str, Figures], parts: Figures) -> None:
    """Prints tables."""
    print(f"\n{path}\n")
    heads = ("games/s", "ratio", "learner idle", "own ms/game")
    print(f"  {'':<28}" + "".join(f"{head:>13}" for head in heads))
    base = ways[str(WAYS[0])]["games_per_second"]
    for way, figures in ways.items():
        rate, idle = figures["games_per_second"], figures["learner_idle_share"]
        texts = [f"{rate:,.1f}", f"{rate / base:.2f}", f"{idle:.0%}", f"{figures['own_ms_per_game']:.2f}"]
        print(f"  {way:<28}" + "".join(f"{text:>13}" for text in texts))
    print("\n  processor time and sizes")
    for name, figure in parts.items():
        print(f"    {name:<28} {figure:>14,.5g}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Measures self-play by workers of Ray.")
    parser.add_argument("--configs", type=Path, nargs="+", default=CONFIGS, metavar="FILE")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change the configurations")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], metavar="N", choices=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="length of every turn")
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tune_malloc()
    ways = [way for way in WAYS if way.workers in (0, *options.workers)]
    measured = {}
    try:
        with connected("local", sum(way.workers for way in ways)):
            print(describe_setup(("torch", "numba", "ray")))
            for path in options.configs:
                parts = measure_parts(path, options.set, max(options.workers))
                figures = measure_ways(path, options.set, ways, options.rounds, options.seconds)
                show(path, figures, parts)
                measured[str(path)] = {"ways": figures, "parts": parts}
    except (ValueError, OSError, ImportError) as error:
        print(f"scaling.py: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
