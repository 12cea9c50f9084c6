"""Measures how many steps per second our Pgx environments make, next to games of Pgx's own.

    taskset -c 0 python benchmarks/jax_speed.py [--num-envs N …] [--steps N] [--write]

A step is ``jax.jit(jax.vmap(env.step))`` with a random legal action for each game, drawn before the clock
starts; games that are over are reset between steps. A speed is that of the median step. With
``taskset`` JAX has one core.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import jax
import numpy as np
import pgx

from benchmarks.keeping import Figures, add_write_option, keep, of_unit
from patchwork_env.integrations.pgx import Nmbr9, Patchwork
from patchwork_env.learning.system import describe_setup

GAMES: dict[str, Any] = {
    "Patchwork": Patchwork,
    "NMBR 9": Nmbr9,
    "Pgx's Connect Four": lambda: pgx.make("connect_four"),
    "Pgx's backgammon": lambda: pgx.make("backgammon"),
    "Pgx's chess": lambda: pgx.make("chess"),
}


def steps_per_second(env: Any, num_envs: int, steps: int) -> float:
    """The speed of a batch, of the median step."""
    init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))
    rng, times = np.random.default_rng(0), []
    keys = jax.random.split(jax.random.key(0), num_envs)
    state = init(keys)
    for _ in range(steps):
        if state.terminated.any():
            state = init(keys)
        mask = np.asarray(state.legal_action_mask)
        actions = jax.device_put((mask * rng.random(mask.shape, np.float32)).argmax(-1).astype(np.int32))
        jax.block_until_ready((state, actions))
        began = time.perf_counter()
        state = jax.block_until_ready(step(state, actions, keys))
        times.append(time.perf_counter() - began)
    return num_envs / statistics.median(times[1:])  # the first one compiles


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--num-envs", type=int, nargs="+", default=[1024, 4096], metavar="N")
    parser.add_argument("--steps", type=int, default=40, help="of each batch (default: %(default)s)")
    add_write_option(parser)
    options = parser.parse_args()
    print(describe_setup(("jax", "pgx")), end="\n\n")
    print("| game | games at once | steps per second |\n|---|---:|---:|")
    figures = Figures()
    for name, make in GAMES.items():
        for num_envs in options.num_envs:
            speed = steps_per_second(make(), num_envs, options.steps)
            figures |= of_unit("steps/s", {f"{name}, {num_envs} games": speed})
            print(f"| {name} | {num_envs:,} | {speed:,.0f} |", flush=True)
    if options.write:
        keep("jax_speed", figures, options.write)


if __name__ == "__main__":
    main()
