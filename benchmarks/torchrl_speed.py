"""Measures how many steps per second the environments of TorchRL make with random legal actions.

    python benchmarks/torchrl_speed.py [--game nmbr9] [--num-envs N …] [--rounds N] [--write]

``steps`` draws an action for every game and plays it, with resets where games end (``rand_action`` and
``step_and_maybe_reset``). ``rollout`` also stacks the results of 16 such steps into a tensordict. ``batch``
is the compiled batch alone, without TorchRL. Speeds are those of the best round, by the processor time of one
thread, so that other work of the machine changes them little. Needs the extra ``torchrl``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.keeping import Figures, add_write_option, keep, of_unit
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.games import GAMES, PATCHWORK, rules_of
from patchwork_env.integrations.torchrl import GamesEnv, make_env
from patchwork_env.learning.system import describe_setup

TURNS = 16
Play = Callable[[], Any]


def stepping(env: GamesEnv) -> Play:
    """Random steps with resets."""
    tensordict = env.reset()

    def play() -> None:
        nonlocal tensordict
        for _ in range(TURNS):
            tensordict = env.step_and_maybe_reset(env.rand_action(tensordict))[1]

    return play


def loops(game: str, num_envs: int) -> dict[str, Play]:
    """Return the functions to measure, which play ``TURNS`` steps of all games."""
    env, batch = make_env(game, num_envs, seed=1), SelfPlayBatch(rules_of(game), num_envs, seed=1)

    def play_batch() -> None:
        for _ in range(TURNS):
            batch.step(batch.random_actions)

    return {
        "steps": stepping(make_env(game, num_envs, seed=1)),
        "rollout": lambda: env.rollout(TURNS, break_when_any_done=False),
        "batch": play_batch,
    }


def steps_per_second(play: Play, num_envs: int, rounds: int) -> float:
    """The speed of the best of some rounds."""
    play()  # compiles
    best = 0.0
    for _ in range(rounds):
        began = time.process_time()
        play()
        best = max(best, TURNS * num_envs / (time.process_time() - began))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures TorchRL's environments.")
    parser.add_argument("--game", choices=GAMES, default=PATCHWORK)
    parser.add_argument("--num-envs", type=int, nargs="+", default=[64, 1024, 4096], metavar="N")
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    add_write_option(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(describe_setup(("torch", "tensordict", "torchrl")), end="\n\n")
    print("| games | steps | rollout | batch |\n|---|---|---|---|")
    figures = Figures()
    for num_envs in arguments.num_envs:
        plays = loops(arguments.game, num_envs).values()
        speeds = [steps_per_second(play, num_envs, arguments.rounds) for play in plays]
        names = [f"{arguments.game}, {num_envs} games, {what}" for what in ("steps", "rollout", "batch")]
        figures |= of_unit("steps/s", dict(zip(names, speeds, strict=True)))
        print(f"| {num_envs} | {' | '.join(f'{speed:,.0f}' for speed in speeds)} |", flush=True)
    if arguments.write:
        keep("torchrl", figures, arguments.write)


if __name__ == "__main__":
    main()
