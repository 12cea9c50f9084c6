"""Measures the speed of searches of Patchwork on one thread, and the time of the search itself.

    python benchmarks/search.py [--policy FOLDER] [--batches N …] [--simulations N] [--rounds N]
        [--json] [--write]

Positions are from the middle of games, with some 170 legal actions each. Without a policy, the network is new
and has the default size. "Search" is everything except the evaluations: the trees and the rules. Times are
processor times; the table shows the median round.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.keeping import add_write_option, keep, of_unit
from patchwork_env.agents import GreedyAgent
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.networks import NetworkEvaluator, read_network
from patchwork_env.agents.patchwork.policy.agent import PatchworkDynamics
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.learning.system import describe_setup
from patchwork_env.patchwork.state import States
from patchwork_env.patchwork_v0 import SelfPlayBatch
from patchwork_env.search import Evaluation, GumbelSearch

_TURNS = 20


def positions(number: int) -> States:
    """States from the middle of games, all with a choice."""
    env = SelfPlayBatch(number, seed=1, masks=False, observations=False)
    greedy = GreedyAgent()
    for turn in range(_TURNS):
        env.step(greedy.act_batch(env.states) if turn % 2 else env.random_actions)
    while (env.counts == 1).any():
        env.step(np.where(env.counts == 1, env.random_actions, greedy.act_batch(env.states)))
    return env.states.copy()


class Stopwatch:
    """An evaluator that adds up the processor time that it takes."""

    def __init__(self, network: PatchworkNetwork) -> None:
        self.evaluate = NetworkEvaluator(network)
        self.seconds = 0.0

    def __call__(self, states: States) -> Evaluation:
        """Policy and values, from the network."""
        start = time.thread_time()
        evaluation = self.evaluate(states)
        self.seconds += time.thread_time() - start
        return evaluation


def measure(network: PatchworkNetwork, batch: int, simulations: int, rounds: int) -> dict[str, float]:
    """Processor time per simulation of one game, in microseconds: in all, and of the search itself."""
    states, stopwatch = positions(batch), Stopwatch(network)
    dynamics = PatchworkDynamics()
    search = GumbelSearch(dynamics, simulations, value_range=dynamics.value_range, gumbel_scale=0.0)
    search.run(states, stopwatch)  # compiles
    totals, own = [], []
    for _ in range(rounds):
        stopwatch.seconds, start = 0.0, time.thread_time()
        search.run(states, stopwatch)
        totals.append((time.thread_time() - start) * 1e6 / (batch * simulations))
        own.append(totals[-1] - stopwatch.seconds * 1e6 / (batch * simulations))
    return {"total": statistics.median(totals), "search": statistics.median(own)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--policy", type=Path, metavar="FOLDER", help="a checkpoint (default: a new network)")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 256], metavar="N")
    parser.add_argument("--simulations", type=int, default=64, help="per game (default: 64)")
    parser.add_argument("--rounds", type=int, default=9, help="(default: 9)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    add_write_option(parser)
    options = parser.parse_args()
    if min(*options.batches, options.simulations, options.rounds) < 1:
        parser.error("--batches, --simulations and --rounds must be at least 1")
    torch.set_num_threads(1)
    network = PatchworkNetwork().eval()
    if options.policy:
        network = read_network(read_checkpoint(options.policy), PatchworkNetwork)
    print(describe_setup(("torch", "numba")))
    print(f"one thread, {options.simulations} simulations, {network.config}\n")
    print("games at once  us per simulation  of them the search  simulations per second")
    figures = {}
    for batch in options.batches:
        figures[batch] = row = measure(network, batch, options.simulations, options.rounds)
        print(
            f"{batch:13}  {row['total']:17.1f}  {row['search']:18.1f}  {1e6 / row['total']:22,.0f}",
            flush=True,
        )
    if options.write:
        named = {f"{batch} games, {part}": row[part] for batch, row in figures.items() for part in row}
        keep("search", of_unit("µs", named), options.write)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
