"""Measures an engine: steps per second of random play in batches, the choice of the action included.

    python benchmarks/engine.py [--game NAME] [--games N] [--repeats N] [--seconds S]
        [--json] [--write]

The modes differ in the outputs of a step: ``plain`` writes only the games, ``mask`` also the mask of all
actions, ``mask_observation`` also the observation of the player to move. Every figure is the median of
repeats, after compilation, in turn with those of the other modes. ``bytes`` are written by a step for each
game; ``of fill`` is their rate relative to filling a large array with a constant on one core.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import GAMES, PATCHWORK, rules_of
from patchwork_env.learning.system import describe_setup

MODES = {"plain": (False, False), "mask": (True, False), "mask_observation": (True, True)}
"""Whether masks and observations are written."""


MakeEnv = Callable[..., SelfPlayBatch]
"""Called with the number of games, and whether to write masks and observations."""
Rates = dict[str, float]
"""Steps per second by mode."""

_FILL_BYTES = 1 << 28


def begin(make: MakeEnv, mode: str, games: int) -> SelfPlayBatch:
    """A batch in a mode, compiled, after 100 steps."""
    masks, observations = MODES[mode]
    env = make(games, masks=masks, observations=observations)
    for _ in range(100):
        play(env)
    return env


def play(env: SelfPlayBatch) -> None:
    """One random action in every game."""
    env.step(env.random_actions)


def calls_per_second(function: Callable[[], object], seconds: float) -> float:
    """Return the calls per second of a function, measured over at least ``seconds``."""
    calls, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        function()
        calls += 1
    return calls / elapsed


def measure(make: MakeEnv, games: int, repeats: int, seconds: float) -> Rates:
    """Medians over the repeats."""
    environments = {mode: begin(make, mode, games) for mode in MODES}
    rates: dict[str, list[float]] = {mode: [] for mode in MODES}
    for _ in range(repeats):
        for mode, env in environments.items():
            rates[mode].append(games * calls_per_second(partial(play, env), seconds))
    return {mode: statistics.median(values) for mode, values in rates.items()}


def bytes_per_step(make: MakeEnv, mode: str) -> int:
    """Bytes of the record and of all outputs of one game."""
    env = begin(make, mode, games=1)
    arrays = (env.states, env.observations, env.masks, env.counts, env.random_actions)
    return sum(array.nbytes for array in arrays)


def fill_speed() -> float:
    """Bytes per second that one core writes when it fills an array much larger than the caches."""
    array = np.zeros(_FILL_BYTES, np.uint8)
    return _FILL_BYTES * max(calls_per_second(lambda: array.fill(7), 0.1) for _ in range(5))


def print_table(make: MakeEnv, rates: Rates) -> None:
    """One line for every mode."""
    fill = fill_speed()
    print(f"filling memory: {fill / 1e9:.1f} GB/s\n")
    print(f"{'million steps/s':<26}  bytes  of fill")
    for mode, rate in rates.items():
        size = bytes_per_step(make, mode)
        print(f"{mode:<16}  {rate / 1e6:8.2f}  {size:5}  {rate * size / fill:7.0%}")


def figures(make: MakeEnv, rates: Rates) -> Figures:
    """The figures that are kept: rates, and the bytes that they write."""
    fill, found = fill_speed(), Figures()
    for mode, rate in rates.items():
        size = bytes_per_step(make, mode)
        found[mode] = figure(rate, "steps/s", bytes=size)
        found[f"{mode}, of fill"] = figure(rate * size / fill, "share of whole")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--game", choices=GAMES, default=PATCHWORK, help="(default: patchwork)")
    parser.add_argument("--games", type=int, default=1024, help="games in the batch (default: 1024)")
    parser.add_argument("--repeats", type=int, default=7, help="measurements for each figure (default: 7)")
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="length of each measurement (default: 0.2)"
    )
    parser.add_argument("--json", action="store_true", help="print the rates as JSON, last")
    add_write_option(parser)
    options = parser.parse_args()
    if min(options.games, options.repeats) < 1 or options.seconds <= 0:
        parser.error("--games, --repeats and --seconds must be positive")
    make = partial(SelfPlayBatch, rules_of(options.game), seed=1)
    print(describe_setup())
    print(
        f"{options.game}, {options.games} games, medians of {options.repeats} repeats of {options.seconds} s"
    )
    rates = measure(make, options.games, options.repeats, options.seconds)
    print_table(make, rates)
    if options.write:
        name = "engine" if options.game == PATCHWORK else f"engine_{options.game}"
        keep(name, figures(make, rates), options.write)
    if options.json:
        print(json.dumps({"steps_per_second": {mode: round(rate) for mode, rate in rates.items()}}))


if __name__ == "__main__":
    main()
