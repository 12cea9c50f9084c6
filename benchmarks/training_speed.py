"""Measures the environment steps per second of a training, and the time of its parts.

python benchmarks/training_speed.py [--config FILE] [--set KEY=VALUE ...] [--iterations N] [--threads N]
                                    [--json] [--write]

An iteration is the play between two updates, and the update. The parts of ``ppo`` are measured afterwards one
by one, on one thread and with the states of one rollout.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.keeping import add_write_option, figure, keep
from patchwork_env.agents.networks import NetworkEvaluator
from patchwork_env.learning.algorithms.common.trainer import Trainer, make_trainer
from patchwork_env.learning.algorithms.ppo.trainer import PpoTrainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.system import describe_setup, tune_malloc, usable_cores


def seconds(function: Callable[[], object], rounds: int = 5) -> float:
    """The median time of a call, including its work on a GPU."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def rates(trainer: Trainer, iterations: int) -> tuple[float, float]:
    """Steps per second overall, and the share of the time that collecting takes; medians over iterations."""
    if isinstance(trainer, PpoTrainer) and not trainer.config.is_solo:  # past selves, as later in training
        for _ in range(trainer.config.league.opponents):
            trainer.pool.add(trainer.network)
    trainer.step()
    metrics = [trainer.step() for _ in range(iterations)]
    rate = statistics.median(m["time/steps_per_second"] for m in metrics)
    return rate, statistics.median(m["time/share_of_time_collecting"] for m in metrics)


def parts(trainer: PpoTrainer) -> dict[str, float]:
    """The seconds per iteration of each part."""
    ppo = trainer.config.ppo
    past_selves = {number: trainer.pool.policies[number] for number in trainer.self_play.past_selves_in_play}
    rollout = trainer.self_play.collect(trainer.network, past_selves, ppo.rollout_steps, trainer.random)
    decisions = rollout.states[rollout.decisions.learner_mask]
    acting = decisions[: ppo.num_envs]
    learning = decisions[: ppo.minibatch_size]
    per_rollout = len(decisions) / len(acting)
    per_update = ppo.epochs * len(decisions) / len(learning)
    device = trainer.network.device
    evaluator = NetworkEvaluator(trainer.network, torch.float32)
    shuffled = np.random.default_rng(0).permutation(len(decisions))[: len(learning)]
    inputs, features = rollout.kept.read(shuffled)
    successor_values = torch.zeros(len(learning), *trainer.network.successor_values_shape, device=device)

    def learn() -> None:
        output = trainer.network(inputs, successor_values, features)
        (output.values.sum() + output.entropies.sum() + output.log_probabilities.sum()).backward()

    return {
        "playing the games": ppo.rollout_steps
        * seconds(lambda: trainer.env.step(trainer.env.random_actions)),
        "acting": per_rollout * seconds(lambda: evaluator(acting)),
        "inputs for learning": per_update * seconds(lambda: rollout.kept.read(shuffled)),
        "network, learning": per_update * seconds(learn),
        "optimizer": per_update * seconds(trainer.learner.optimizer.step),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measures the speed of training.")
    parser.add_argument("--config", type=Path, default=Path("configs/quick.yaml"), metavar="FILE")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="keys of the configuration to change"
    )
    parser.add_argument("--iterations", type=int, default=8, metavar="N")
    parser.add_argument("--threads", type=int, default=usable_cores(), metavar="N")
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    add_write_option(parser)
    options = parser.parse_args()
    config = load_config(options.config, [*options.set, f"threads={options.threads}"])
    torch.set_num_threads(1)
    tune_malloc()
    trainer = make_trainer(config)
    rate, collecting = rates(trainer, options.iterations)
    print(describe_setup(("torch", "numba")))
    run = " ".join([str(options.config), *options.set])
    print(f"{run}, {options.threads} threads: {rate:,.0f} environment steps per second overall,")
    print(f"{collecting:.0%} of the time collecting and {1 - collecting:.0%} learning\n")
    times = parts(trainer) if isinstance(trainer, PpoTrainer) else {}
    shares = {name: time / sum(times.values()) for name, time in times.items()}
    for name, share in shares.items():
        print(f"  {name:<20} {share:6.1%}")
    if options.write:
        name = f"{' '.join([options.config.stem, *options.set])}, {options.threads} threads"
        measured = figure(rate, "steps/s", collecting=round(collecting, 3))
        keep("training_speed", {name: measured}, options.write)
    if options.json:
        print(json.dumps({"steps_per_second": rate, "share_collecting": collecting, "shares": shares}))


if __name__ == "__main__":
    main()
