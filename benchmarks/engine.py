"""Measures an engine: steps per second of random play in batches, the choice of the action included.

    python benchmarks/engine.py [--game NAME] [--games N] [--threads N] [--repeats N] [--seconds S]
        [--json] [--write]

The modes differ in what is written at every step: ``plain`` nothing but the games, ``mask`` also the mask of
all actions, ``mask_observation`` also the observation of the player to move. Every figure is the median of
repeats, taken in turn with those of the other modes, after compilation. ``bytes`` is what a step writes per
game, and ``of fill`` how that compares with filling a large array with a constant, on one core.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.core.cores import usable_cores
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import GAMES, PATCHWORK, rules_of
from patchwork_env.learning.system import describe_setup

MODES = {"plain": (False, False), "mask": (True, False), "mask_observation": (True, True)}
"""Whether masks and observations are written."""


MakeEnv = Callable[..., SelfPlayBatch]
"""Called with the number of games, of threads, and whether to write masks and observations."""
Rates = dict[tuple[str, int], float]
"""Steps per second by mode and number of threads."""

_FILL_BYTES = 1 << 28


def begin(make: MakeEnv, mode: str, games: int, threads: int = 1) -> SelfPlayBatch:
    """Games of a mode, compiled and in the middle of play."""
    masks, observations = MODES[mode]
    env = make(games, threads=threads, masks=masks, observations=observations)
    for _ in range(100):
        play(env)
    return env


def play(env: SelfPlayBatch) -> None:
    """One random action in every game."""
    env.step(env.random_actions)


def calls_per_second(function: Callable[[], object], seconds: float) -> float:
    """How often the function can be called, measured over at least ``seconds``."""
    calls, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        function()
        calls += 1
    return calls / elapsed


def measure(make: MakeEnv, games: int, threads: list[int], repeats: int, seconds: float) -> Rates:
    """Medians over the repeats."""
    environments = {(mode, number): begin(make, mode, games, number) for mode in MODES for number in threads}
    rates: dict[tuple[str, int], list[float]] = {key: [] for key in environments}
    for _ in range(repeats):
        for key, env in environments.items():
            rates[key].append(games * calls_per_second(partial(play, env), seconds))
    return {key: statistics.median(values) for key, values in rates.items()}


def bytes_per_step(make: MakeEnv, mode: str) -> int:
    """Bytes of the record and of all outputs of one game."""
    env = begin(make, mode, games=1)
    arrays = (env.states, env.observations, env.masks, env.counts, env.random_actions)
    return sum(array.nbytes for array in arrays)


def fill_speed() -> float:
    """Bytes per second that one core writes when it fills an array much larger than the caches."""
    array = np.zeros(_FILL_BYTES, np.uint8)
    return _FILL_BYTES * max(calls_per_second(lambda: array.fill(7), 0.1) for _ in range(5))


def print_table(make: MakeEnv, rates: Rates, threads: list[int]) -> None:
    """One line for every mode."""
    fill = fill_speed()
    more = [number for number in threads if number > 1]
    print(f"filling memory: {fill / 1e9:.1f} GB/s\n")
    head = f"{'million steps/s':<16}  1 thread  bytes  of fill"
    print(head + "".join(f"  {number} threads  ratio" for number in more))
    for mode in MODES:
        one, size = rates[mode, 1], bytes_per_step(make, mode)
        line = f"{mode:<16}  {one / 1e6:8.2f}  {size:5}  {one * size / fill:7.0%}"
        print(line + "".join(f"  {rates[mode, k] / 1e6:9.2f}  {rates[mode, k] / one:5.2f}" for k in more))


def figures(make: MakeEnv, rates: Rates, threads: list[int]) -> Figures:
    """What is kept: rates, what they write, and what threads gain."""
    fill, found = fill_speed(), Figures()
    for mode in MODES:
        one, size = rates[mode, 1], bytes_per_step(make, mode)
        found[mode] = figure(one, "steps/s", bytes=size)
        found[f"{mode}, of fill"] = figure(one * size / fill, "share of whole")
        found |= {f"{mode}, {k} threads": figure(rates[mode, k] / one, "times") for k in threads if k > 1}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--game", choices=GAMES, default=PATCHWORK, help="(default: patchwork)")
    parser.add_argument("--games", type=int, default=1024, help="games in the batch (default: 1024)")
    parser.add_argument("--threads", type=int, default=2, help="threads to compare with one (default: 2)")
    parser.add_argument("--repeats", type=int, default=7, help="measurements for each figure (default: 7)")
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="length of each measurement (default: 0.2)"
    )
    parser.add_argument("--json", action="store_true", help="print the rates of one thread as JSON, last")
    add_write_option(parser)
    options = parser.parse_args()
    if min(options.games, options.threads, options.repeats) < 1 or options.seconds <= 0:
        parser.error("--games, --threads, --repeats and --seconds must be positive")
    make = partial(SelfPlayBatch, rules_of(options.game), seed=1)
    threads = sorted({1, min(options.threads, usable_cores())})
    print(describe_setup())
    print(
        f"{options.game}, {options.games} games, medians of {options.repeats} repeats of {options.seconds} s"
    )
    rates = measure(make, options.games, threads, options.repeats, options.seconds)
    print_table(make, rates, threads)
    if options.write:
        name = "engine" if options.game == PATCHWORK else f"engine_{options.game}"
        keep(name, figures(make, rates, threads), options.write)
    if options.json:
        print(json.dumps({"steps_per_second": {mode: round(rates[mode, 1]) for mode in MODES}}))


if __name__ == "__main__":
    main()
