"""Measures the turns per second of ``ppo``, collecting and learning, on the CPU and on a GPU if there is one.

python benchmarks/accelerator.py [--config FILE] [--set KEY=VALUE ...] [--devices NAME ...] [--seconds N]
                                 [--json] [--write]

Collecting plays with the policy, learning updates it, and the whole is both in turn. The shares are those of
parts that are measured one by one on one thread. It needs no network and takes at most four minutes.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.keeping import Figures, add_write_option, figure, keep
from benchmarks.training_speed import parts
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.ppo.trainer import PpoTrainer
from patchwork_env.learning.config import load_config
from patchwork_env.learning.system import describe_setup, tune_malloc, usable_cores

_LEAST_ITERATIONS = 2


def measure(config: Path, overrides: list[str], device: str, seconds: float) -> dict[str, Any]:
    """Turns per second on a device and the shares of the parts, after one iteration that warms up."""
    trainer = make_trainer(load_config(config, [*overrides, f"device={device}"]))
    assert isinstance(trainer, PpoTrainer), f"{config} is no configuration of ppo"
    for _ in range(trainer.config.league.opponents):  # past selves, as later in training
        trainer.pool.add(trainer.network)
    trainer.step()
    iterations, collecting, began = 0, 0.0, time.perf_counter()
    while iterations < _LEAST_ITERATIONS or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        share = trainer.step()["time/share_of_time_collecting"]
        collecting += share * (time.perf_counter() - start)
        iterations += 1
    whole = time.perf_counter() - began
    turns = iterations * trainer.config.ppo.num_envs * trainer.config.ppo.rollout_steps
    times = parts(trainer)
    return {
        "collecting": turns / collecting,
        "learning": turns / (whole - collecting),
        "whole": turns / whole,
        "shares": {name: spent / sum(times.values()) for name, spent in times.items()},
    }


def table(measured: dict[str, dict[str, Any]]) -> str:
    """The figures as text, a column for each device."""
    rates = [
        [name, *(f"{of_device[name]:,.0f}" for of_device in measured.values())]
        for name in ("collecting", "learning", "whole")
    ]
    shares = [
        [name, *(f"{of_device['shares'][name]:.1%}" for of_device in measured.values())]
        for name in next(iter(measured.values()))["shares"]
    ]
    rows = [["turns per second", *measured], *rates, ["share of"], *shares]
    return "\n".join(f"{row[0]:<22}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Measures training on the CPU and on a GPU.")
    parser.add_argument("--config", type=Path, default=Path("configs/ppo.yaml"), metavar="FILE")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="keys of the configuration to change"
    )
    parser.add_argument("--devices", nargs="+", default=["cpu"] + ["cuda"] * torch.cuda.is_available())
    parser.add_argument("--threads", type=int, default=usable_cores(), metavar="N")
    parser.add_argument("--seconds", type=float, default=20, metavar="N", help="on each device")
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    add_write_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tune_malloc()
    overrides = [*options.set, f"threads={options.threads}"]
    measured = {
        device: measure(options.config, overrides, device, options.seconds) for device in options.devices
    }
    print(*(describe_setup(("torch", "numba"), device) for device in options.devices), sep="\n")
    print(" ".join([str(options.config), *options.set]) + f", {options.threads} threads\n")
    print(table(measured))
    if options.write:
        name = " ".join([options.config.stem, *options.set])
        keep("accelerator", _figures(name, measured), options.write)
    if options.json:
        print(json.dumps(measured))


def _figures(name: str, measured: dict[str, dict[str, Any]]) -> Figures:
    return {
        f"{name}, {device}, {part}": figure(of_device[part], "steps/s")
        for device, of_device in measured.items()
        for part in ("collecting", "learning", "whole")
    }


if __name__ == "__main__":
    main()
