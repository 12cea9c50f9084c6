"""Measures how many positions a policy evaluates per second of one core, in PyTorch and as an ONNX file.

    python benchmarks/inference.py [--policy FOLDER] [--batches N …] [--rounds N] [--seconds S]
        [--json] [--write]

Without a policy, the network is new and has the default size. "Network" is the network alone with encoded
inputs, "move" the whole agent from states to actions. They take turns, round after round; the table shows the
median round. Seconds are those of the processor, on one thread, so that other work
on the machine matters little.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env.agents.base import views_of
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.networks import PolicyAgent, read_network
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.patchwork.policy.onnx_agent import INPUTS, OnnxAgent
from patchwork_env.agents.patchwork.policy.onnx_export import policy_to_onnx
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork_v0 import SelfPlayBatch

_TURNS = 20
"""The turns of random play before the evaluated positions: the middle of the game."""

Call = Callable[[], object]
Rates = dict[str, dict[int, float]]
"""Positions per second, by function and size of the batch."""


def positions(number: int) -> States:
    """States from the middle of games."""
    env = SelfPlayBatch(number, seed=1, masks=False, observations=False)
    for _ in range(_TURNS):
        env.step(env.random_actions)
    return env.states.copy()


def calls(network: PatchworkNetwork, exported: OnnxAgent, states: States) -> dict[str, Call]:
    """Return the functions to measure; each evaluates all states once."""
    learned = PolicyAgent(network)
    inputs, feed = PatchworkNetwork.encode(states)[0], dict(zip(INPUTS, views_of(states), strict=True))

    def in_pytorch() -> None:
        with torch.inference_mode():
            network(inputs)

    return {
        "network, PyTorch": in_pytorch,
        "network, onnxruntime": lambda: exported.workspace().run(None, feed),
        "move, PyTorch": lambda: learned.act_batch(states),
        "move, onnxruntime": lambda: exported.act_batch(states),
    }


def calls_per_second(call: Call, seconds: float) -> float:
    """Return the calls per second of processor time, measured for at least ``seconds``."""
    count, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < seconds:
        call()
        count += 1
    return count / elapsed


def measure(network: PatchworkNetwork, batches: list[int], rounds: int, seconds: float) -> Rates:
    """The median round of every function and size."""
    exported = OnnxAgent(policy_to_onnx(network))
    rates: Rates = {}
    for size in batches:
        measured = calls(network, exported, positions(size))
        samples: dict[str, list[float]] = {name: [] for name in measured}
        for call in measured.values():  # warm up
            call()
        for _ in range(rounds):
            for name, call in measured.items():
                samples[name].append(size * calls_per_second(call, seconds))
        for name, values in samples.items():
            rates.setdefault(name, {})[size] = statistics.median(values)
    return rates


def print_table(rates: Rates) -> None:
    """One line for every function."""
    width = max(map(len, rates))
    sizes = next(iter(rates.values()))
    print(f"{'positions per second':{width}}" + "".join(f"{f'batch {size}':>12}" for size in sizes))
    for name, by_size in rates.items():
        print(f"{name:{width}}" + "".join(f"{rate:12,.0f}" for rate in by_size.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--policy", type=Path, metavar="FOLDER", help="a checkpoint (default: a new network)")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 256], metavar="N")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="each and per round (default: 0.5)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if min(*options.batches, options.rounds) < 1:
        parser.error("--batches and --rounds must be at least 1")
    torch.set_num_threads(1)
    network = PatchworkNetwork().eval()
    if options.policy:
        network = read_network(read_checkpoint(options.policy), PatchworkNetwork)
    rates = measure(network, options.batches, options.rounds, options.seconds)
    print(describe_setup(("torch", "onnxruntime", "numba")))
    print(f"one thread, {network.config}\n")
    print_table(rates)
    if options.write:
        named = {f"{name}, batch {size}": rate for name in rates for size, rate in rates[name].items()}
        keep("inference", of_unit("positions/s", named), options.write)
    if options.json:
        print(json.dumps(rates))


if __name__ == "__main__":
    main()
