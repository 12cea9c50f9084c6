"""Trains best responses: policies that learn against one frozen agent only.

python benchmarks/best_response.py [--opponent SPEC] [--start SPEC] [--steps N] [--seeds N ...] [--games N]
                                   [--write]

A policy that learned by self-play may have weaknesses that its usual opponents never find. A learner that
plays only against it finds them. The share of games that this best response wins is a lower bound of how
exploitable the policy is. The learner is MaskablePPO with the network of the game, from nothing or with the
weights of a frozen policy.
"""

import argparse
import sys
from typing import cast

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from benchmarks.environments import positive
from benchmarks.keeping import add_write_option, figure, keep
from patchwork_env import agents
from patchwork_env.agents.networks import PolicyAgent, PolicyNetwork
from patchwork_env.integrations.sb3 import PatchworkPolicy, SelfPlayVecEnv, evaluate
from patchwork_env.learning.evaluation import MatchResult
from patchwork_env.learning.evaluation.statistics import mean_of_runs
from patchwork_env.learning.toolbox import Reward


def network_of(spec: str) -> PolicyNetwork:
    """Return the network of a frozen policy; SystemExit for another agent."""
    agent = agents.load(spec)
    if not isinstance(agent, PolicyAgent):
        sys.exit(f"--start must be a policy such as ppo-v1, got {spec!r}")
    return agent.network


def best_response(
    opponent: str, start: PolicyNetwork | None, steps: int, seed: int, games: int
) -> MatchResult:
    """Return the match of a policy with the opponent, after a number of decisions against it."""
    reward = Reward(outcome=1.0, margin=1.0, margin_scale=40.0, margin_cut=1.0)
    env = SelfPlayVecEnv(64, opponent, seed=seed, rewards=reward)
    model = MaskablePPO(
        PatchworkPolicy,
        env,
        n_steps=32,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.9,
        learning_rate=lambda left: 1e-4 * 10**left,
        seed=seed,
        policy_kwargs={"network": start.config.model_dump()} if start else {},
    )
    if start:
        cast(PatchworkPolicy, model.policy).network.load_state_dict(start.state_dict())
    return evaluate(model.learn(steps), opponent, games)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--opponent", default="ppo-v1", metavar="SPEC", help="(default: %(default)s)")
    parser.add_argument("--start", metavar="SPEC", help="a policy to start from, such as ppo-v1")
    parser.add_argument(
        "--steps", type=positive(int), default=2_621_440, help="decisions (default: %(default)s)"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2), help="(default: 0 1 2)")
    parser.add_argument("--games", type=positive(int), default=1000, help="at the end (default: %(default)s)")
    add_write_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)  # more threads are slower with networks of this size
    start = network_of(options.start) if options.start else None
    results = []
    for seed in options.seeds:
        results.append(result := best_response(options.opponent, start, options.steps, seed, options.games))
        low, high = result.interval
        print(f"seed {seed}: wins {result.win_rate:.1%} ({low:.1%} to {high:.1%})", flush=True)
    if options.write:
        won = np.array([[[result.win_rate] for result in results]])
        mean = mean_of_runs(won, np.full_like(won, options.games))
        more = {"lowest": won.min(), "highest": won.max(), "runs": won.size, "decisions": options.steps}
        share = figure(won.mean(), "share", mean.interval() or results[-1].interval, **more)
        keep("best_response", {options.opponent: share}, options.write)


if __name__ == "__main__":
    main()
