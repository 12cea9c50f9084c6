"""Measures how many steps per second the environments make, next to PettingZoo's Connect Four.

    python benchmarks/environments.py [--rounds N] [--seconds S] [--json] [--write]

Every loop plays random legal actions, including their choice, and counts the steps of its players. The single
environments all choose in the same way, from the mask. All loops take turns, round after round, so that a
busy machine slows all of them; the table shows the median round. Seconds are those of the processor. Connect
Four needs pygame, which the extra "render" installs.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo.classic.connect_four import connect_four

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env import patchwork_v0
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork_v0 import SelfPlayBatch

NAME = "patchwork_env:Patchwork-v0"
NUM_GAMES, FEW_GAMES = 1024, 8
CONNECT_FOUR_RAW, CONNECT_FOUR = "connect_four_v3, raw_env()", "connect_four_v3, env()"
RAW, WRAPPED = "patchwork_v0, raw_env()", "patchwork_v0, env()"

RNG = np.random.default_rng()

Mask = npt.NDArray[np.int8]
Counts = Iterator[int]
"""The number of steps of each pass of a loop."""


def choose(mask: Mask) -> int:
    """A random legal action."""
    legal = np.flatnonzero(mask)
    return int(legal[int(random.random() * len(legal))])


def choose_many(masks: Mask) -> npt.NDArray[np.int64]:
    """A random legal action for each row."""
    num_games, num_actions = masks.shape
    legal = np.flatnonzero(masks.view(np.bool_))
    bounds = np.searchsorted(legal, np.arange(num_games + 1) * num_actions)
    counts = np.diff(bounds)
    chosen = (RNG.random(num_games) * counts).astype(np.int64)
    actions: npt.NDArray[np.int64] = legal[bounds[:-1] + chosen] % num_actions
    return actions


def turns(env: Any) -> Counts:
    """PettingZoo: last() and step() of one agent after the other."""
    while True:
        env.reset()
        count = 0
        while True:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(choose(observation["action_mask"]))
            count += 1
        yield count


def episodes(env: Any) -> Counts:
    """Gymnasium: the learner's steps against an opponent."""
    while True:
        info = env.reset()[1]
        count, over = 0, False
        while not over:
            _, _, terminated, truncated, info = env.step(choose(info["action_mask"]))
            count, over = count + 1, terminated or truncated
        yield count


def batches(envs: Any) -> Counts:
    """Gymnasium: the learner's steps in many games at once."""
    infos = envs.reset()[1]
    while True:
        infos = envs.step(choose_many(infos["action_mask"]))[4]
        yield envs.num_envs


def self_play(env: SelfPlayBatch) -> Counts:
    """Both players' steps in many games at once, choosing the action compiled."""
    while True:
        env.step(env.random_actions)
        yield env.num_envs


def vector_env(opponent: str, num_games: int = NUM_GAMES) -> Any:
    """The compiled batch of ``gymnasium.make_vec``."""
    return gymnasium.make_vec(NAME, num_games, vectorization_mode="vector_entry_point", opponent=opponent)


def loops() -> dict[str, Counts]:
    """Return the loops to measure."""
    games = f"{NUM_GAMES} games"
    theirs: Any = connect_four
    return {
        CONNECT_FOUR_RAW: turns(theirs.raw_env()),
        RAW: turns(patchwork_v0.raw_env()),
        CONNECT_FOUR: turns(theirs.env()),
        WRAPPED: turns(patchwork_v0.env()),
        "gymnasium.make, against random": episodes(gymnasium.make(NAME, opponent="random")),
        "gymnasium.make, against greedy": episodes(gymnasium.make(NAME, opponent="greedy")),
        f"gymnasium.make_vec, {FEW_GAMES} games, against random": batches(vector_env("random", FEW_GAMES)),
        f"gymnasium.make_vec, {games}, against random": batches(vector_env("random")),
        f"gymnasium.make_vec, {games}, against greedy": batches(vector_env("greedy")),
        f"SelfPlayBatch, {games}": self_play(SelfPlayBatch(NUM_GAMES)),
    }


def steps_per_second(loop: Counts, seconds: float) -> float:
    """Steps of whole passes in at least ``seconds`` of processor time."""
    steps, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < seconds:
        steps += next(loop)
    return steps / elapsed


def measure(rounds: int, seconds: float) -> dict[str, list[float]]:
    """Steps per second of every loop in every round."""
    measured = loops()
    for loop in measured.values():  # compile, and warm up
        next(loop)
    rates: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, loop in measured.items():
            rates[name].append(steps_per_second(loop, seconds))
    return rates


def ratio(rates: dict[str, list[float]], name: str, base: str) -> float:
    """The median over the rounds of how many times faster one loop is than another."""
    return statistics.median(one / other for one, other in zip(rates[name], rates[base], strict=True))


def positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    """A number above 0, for the command line."""

    def parse(text: str) -> float:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    return parse


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=positive(int), default=5, help="rounds (default: 5)")
    parser.add_argument(
        "--seconds", type=positive(float), default=0.5, help="per loop and round (default: 0.5)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    rates = measure(int(options.rounds), options.seconds)
    ratios = {RAW: ratio(rates, RAW, CONNECT_FOUR_RAW), WRAPPED: ratio(rates, WRAPPED, CONNECT_FOUR)}
    print(describe_setup(["numpy", "numba", "gymnasium", "pettingzoo"]))
    print()
    width = max(map(len, rates))
    print(f"{'steps per second, choosing the action included':{width}}  {'median':>10}")
    for name, values in rates.items():
        compared = f"   {ratios[name]:.1f} x Connect Four" if name in ratios else ""
        print(f"{name:{width}}  {statistics.median(values):10,.0f}{compared}")
    if options.write:
        medians = {name: statistics.median(values) for name, values in rates.items()}
        ratios = {f"{name}, times Connect Four": value for name, value in ratios.items()}
        keep("environments", of_unit("steps/s", medians) | of_unit("times", ratios), options.write)
    if options.json:
        medians = {name: round(statistics.median(values)) for name, values in rates.items()}
        print(json.dumps({"steps_per_second": medians, "times_connect_four": ratios}))


if __name__ == "__main__":
    main()
