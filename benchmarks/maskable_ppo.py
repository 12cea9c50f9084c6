"""Compares MaskablePPO on the compiled batch with MaskablePPO on sb3-contrib's usual SubprocVecEnv.

python benchmarks/maskable_ppo.py [--envs N ...] [--rounds N] [--decisions N] [--threads N] [--json]
                                  [--write]

The first two ways use the same algorithm, network, minibatches and opponent: on processes with one Gymnasium
environment each, and on the batch. The third one uses the batch with the network of the game,
``PatchworkPolicy``, which skips illegal actions, as ``algorithm: maskable_ppo`` does. Iterations of the three
take turns, and figures are medians. Measure on an idle machine: other work slows the many processes less.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.integrations.sb3.policy import BoolMaskBuffer, PatchworkPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.learning.system import describe_setup, tune_malloc

OPPONENT = "random"
BATCH_SIZE = 512
EPOCHS = 4
NET_ARCH = [256, 256]


class Clock(BaseCallback):
    """Measures the seconds of the last rollout."""

    rollout = 0.0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._began = time.perf_counter()

    def _on_rollout_end(self) -> None:
        self.rollout = time.perf_counter() - self._began


def processes(num_envs: int) -> VecEnv:
    """One process per Gymnasium environment."""
    make = partial(gymnasium.make, "patchwork_env:Patchwork-v0", opponent=OPPONENT)
    return SubprocVecEnv([make] * num_envs)


def batch(num_envs: int) -> VecEnv:
    """All games in one compiled batch."""
    return SelfPlayVecEnv(num_envs, OPPONENT, seed=0)


Policy = str | type[MaskableActorCriticPolicy]


def make_model(env: VecEnv, policy: Policy, threads: int, decisions: int) -> MaskablePPO:
    """A model with sb3-contrib's policy and buffer, or with ours and threads."""
    policy_kwargs: dict[str, Any] = {"net_arch": NET_ARCH, "activation_fn": torch.nn.ReLU}
    options: dict[str, Any] = {}
    if policy != "MlpPolicy":
        policy_kwargs = {"threads": threads}
        options["rollout_buffer_class"] = BoolMaskBuffer
    model = MaskablePPO(
        policy,
        env,
        n_steps=decisions // env.num_envs,
        batch_size=BATCH_SIZE,
        n_epochs=EPOCHS,
        policy_kwargs=policy_kwargs,
        seed=0,
        device="cpu",
        **options,
    )
    model.set_logger(Logger(None, []))
    return model


def rates(num_envs: int, rounds: int, decisions: int, threads: int) -> dict[str, dict[str, float]]:
    """Decisions per second of every way: collecting them, and collecting and learning."""
    ways: dict[str, tuple[Callable[[int], VecEnv], Policy]] = {
        "MaskablePPO, SubprocVecEnv": (processes, "MlpPolicy"),
        "MaskablePPO, batch": (batch, "MlpPolicy"),
        "PatchworkPolicy, batch": (batch, PatchworkPolicy),
    }
    models = {
        name: make_model(env(num_envs), policy, threads, decisions) for name, (env, policy) in ways.items()
    }
    rollouts: dict[str, list[float]] = {name: [] for name in ways}
    iterations: dict[str, list[float]] = {name: [] for name in ways}
    clock = Clock()
    for number in range(1 + rounds):
        for name, model in models.items():
            began = time.perf_counter()
            model.learn(decisions, clock, reset_num_timesteps=False)
            if number > 0:  # the first one also starts and compiles
                iterations[name].append(time.perf_counter() - began)
                rollouts[name].append(clock.rollout)
    for model in models.values():
        cast(VecEnv, model.get_env()).close()
    return {
        name: {
            "collecting": decisions / statistics.median(rollouts[name]),
            "whole": decisions / statistics.median(iterations[name]),
        }
        for name in ways
    }


def kept(results: dict[str, dict[str, dict[str, float]]]) -> Figures:
    """Decisions per second of every way, and how many times those of the first way they are."""
    found = Figures()
    for number, ways in results.items():
        first = next(iter(ways.values()))
        for name, own in ways.items():
            for part, rate in own.items():
                found[f"{name}, {number}, {part}"] = figure(rate, "decisions/s")
                found[f"{name}, {number}, {part}, times"] = figure(rate / first[part], "times")
    return found


def print_table(figures: dict[str, dict[str, float]]) -> None:
    """Figures and how many times those of the first way they are."""
    first = next(iter(figures.values()))
    print(f"  {'decisions per second':<28} {'collecting':>16} {'whole loop':>18}")
    for name, own in figures.items():
        cells = [f"{own[part]:>10,.0f} {own[part] / first[part]:>5.1f}x" for part in ("collecting", "whole")]
        print(f"  {name:<28} {cells[0]} {cells[1]:>18}")
    print()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Compares MaskablePPO on the batch and on processes.")
    parser.add_argument("--envs", type=int, nargs="+", default=[16, 64], metavar="N", help="environments")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="iterations of each that count")
    parser.add_argument("--decisions", type=int, default=4096, metavar="N", help="in a rollout of all games")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads of PyTorch, or of our own loop"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    add_write_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tune_malloc()
    print(describe_setup(("torch", "stable-baselines3", "sb3-contrib")))
    print(f"rollouts of {options.decisions} decisions against {OPPONENT}, {EPOCHS} epochs of batches of")
    print(f"{BATCH_SIZE}, networks {NET_ARCH}, {options.threads} of PyTorch's threads\n")
    results = {}
    for num_envs in options.envs:
        print(f"{num_envs} environments")
        results[str(num_envs)] = rates(num_envs, options.rounds, options.decisions, options.threads)
        print_table(results[str(num_envs)])
    if options.write:
        keep("maskable_ppo", kept(results), options.write)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
