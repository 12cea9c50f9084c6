"""PPO in one file, to read and to change, with Gymnasium's vector environment.

    pip install ".[train]"
    python examples/cleanrl_ppo.py --seed 0

In the style of CleanRL, one script shows every detail of the algorithm. Special about Patchwork:

* Of 2026 actions 79 are legal on average. ``network.encode`` lists those of ``envs.states``, so illegal
  actions have no logit. Your own network can read ``observations`` and ``infos["action_mask"]``, and give
  illegal actions the logit ``-1e8``.
* The opponent's moves, however many, are part of ``step``: a step is a turn of the learner. Here the opponent
  is the learner itself, with its present weights.
* The next game starts in the step in which one ends (``AutoresetMode.SAME_STEP``): the reward belongs to the
  game that has ended, but the states are those of the next game, so their values must not count.

What to expect: after these 1.2 million steps, three minutes of the processor on one core of an AMD EPYC, the
policy wins 75.9%, 79.3% and 79.2% of 1000 games against greedy with the seeds 0, 1 and 2.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

from patchwork_env.learning.toolbox import (
    PatchworkNetwork,
    PolicyAgent,
    play_matches,
    sample,
    save_policy,
    tune_malloc,
)

NUM_STEPS, EPOCHS, MINIBATCHES = 32, 2, 4
GAMMA, GAE_LAMBDA, CLIP, VALUE, ENTROPY, MAX_GRADIENT = 1.0, 0.95, 0.2, 0.5, 0.005, 0.5
Array = np.ndarray
Batch = dict[str, Array]
"""Steps of all games by name, arrays ``(NUM_STEPS, games)``."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a policy for Patchwork with PPO, in one file.")
    parser.add_argument(
        "--total-steps", type=int, default=1_200_000, help="turns of the learner in all games"
    )
    parser.add_argument(
        "--opponent", default="self", help="self, or an agent: greedy, ppo, a checkpoint's path"
    )
    parser.add_argument("--num-envs", type=int, default=128, help="games at once")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="at first; it falls to a tenth")
    parser.add_argument("--games", type=int, default=1000, help="of the match at the end")
    parser.add_argument("--out", type=Path, help="a new folder for the policy, which is then an agent")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.out and args.out.exists():
        parser.error(f"{args.out} exists already")
    if args.games % 2:
        parser.error(f"--games is {args.games}; it must be even: each circle is played from both seats")
    return args


@torch.no_grad()
def collect(envs: Any, network: PatchworkNetwork, rng: np.random.Generator) -> Batch:
    """Play the next ``NUM_STEPS`` steps of every game."""
    steps = []
    for _ in range(NUM_STEPS):
        states = envs.states
        inputs, legal = network.encode(states)  # legal.actions: of all games, concatenated
        output = network(inputs)
        log_probabilities, values = output.log_probabilities.numpy(), output.values.numpy()
        chosen = sample(legal.counts, log_probabilities, rng.random(len(states)))
        actions = legal.actions[chosen]
        _, margins, dones, _, _ = envs.step(actions)
        steps.append((states, actions, log_probabilities[chosen], values, margins, dones))
    names = "states", "actions", "log_probabilities", "values", "margins", "dones"
    batch = dict(zip(names, map(np.stack, zip(*steps, strict=True)), strict=True))
    # The winner, and the margin up to 40 points; the environment's margin is in hundreds of points.
    rewards = np.sign(batch["margins"]) + (2.5 * batch["margins"]).clip(-1, 1)
    last_values = network(network.encode(envs.states)[0]).values.numpy()
    advantages = estimate(rewards, batch["dones"], batch["values"], last_values)
    return batch | {"advantages": advantages, "returns": advantages + batch["values"]}


def estimate(rewards: Array, dones: Array, values: Array, last_values: Array) -> Array:
    """Return generalized advantage estimates (Schulman et al., 2016), float32 ``(steps, games)``.

    Args:
        rewards: ``(steps, games)``.
        dones: ``(steps, games)``, whether a game ended with the step.
        values: ``(steps, games)``, of the states before the steps.
        last_values: ``(games,)``, of the states after the last step.
    """
    advantages, following, advantage = np.empty_like(values), last_values, np.zeros_like(last_values)
    for t in reversed(range(len(rewards))):
        goes_on = GAMMA * ~dones[t]  # after an end, the next value is that of another game
        error = rewards[t] + goes_on * following - values[t]
        advantages[t] = advantage = error + goes_on * GAE_LAMBDA * advantage
        following = values[t]
    return advantages


def losses(network: PatchworkNetwork, batch: Batch, rows: Array) -> dict[str, torch.Tensor]:
    """Return the policy loss, value loss and entropy of some steps of a flat batch."""
    inputs, legal = network.encode(batch["states"][rows])
    output = network(inputs)
    names = "log_probabilities", "advantages", "returns"
    before, advantages, returns = (torch.from_numpy(batch[name][rows]) for name in names)
    chosen = torch.from_numpy(legal.position_of(batch["actions"][rows]))
    ratio = (output.log_probabilities.index_select(0, chosen) - before).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP) * advantages
    return {
        "policy": -torch.minimum(ratio * advantages, clipped).mean(),
        "value": (output.values - returns).square().mean(),
        "entropy": output.entropies.mean(),
    }


def learn(
    network: PatchworkNetwork, optimizer: torch.optim.Optimizer, batch: Batch, rng: np.random.Generator
) -> dict[str, float]:
    """Learn from a rollout in shuffled minibatches; return the last losses."""
    flat = {name: array.reshape(-1) for name, array in batch.items()}
    parts: dict[str, torch.Tensor] = {}
    for _ in range(EPOCHS):
        for rows in np.array_split(rng.permutation(len(flat["actions"])), MINIBATCHES):
            parts = losses(network, flat, rows)
            optimizer.zero_grad()
            torch.autograd.backward(parts["policy"] + VALUE * parts["value"] - ENTROPY * parts["entropy"])
            nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT)
            optimizer.step()
    return {name: part.item() for name, part in parts.items()}


def main() -> None:
    args = parse_arguments()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # small networks are slower with more threads
    tune_malloc()
    rng, network = np.random.default_rng(args.seed), PatchworkNetwork()
    agent = PolicyAgent(network, "ppo")  # plays the most probable action, with the present weights
    opponent = PolicyAgent(network, "itself", sample=True) if args.opponent == "self" else args.opponent
    options: dict[str, Any] = {"opponent": opponent, "rewards": "margin"}
    envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", args.num_envs, **options).unwrapped
    envs.reset(seed=args.seed)
    optimizer = torch.optim.Adam(network.parameters(), args.learning_rate, eps=1e-5)
    num_rollouts = -(-args.total_steps // (args.num_envs * NUM_STEPS))
    for rollout in range(1, num_rollouts + 1):
        optimizer.param_groups[0]["lr"] = args.learning_rate * 0.1 ** ((rollout - 1) / num_rollouts)
        parts = learn(network, optimizer, collect(envs, network, rng), rng)
        if rollout % 20 == 0 or rollout == num_rollouts:
            figures = "  ".join(f"{name} {part:.3f}" for name, part in parts.items())
            steps, seconds = rollout * NUM_STEPS * args.num_envs, time.process_time()
            strength = play_matches(agent, "greedy", min(100, args.games)).summary()
            print(f"steps {steps:8}  seconds {seconds:5.0f}  {figures}  {strength}", flush=True)
    if args.out:
        save_policy(args.out, network, {"made_by": "cleanrl_ppo.py"})
    print(play_matches(agent, "greedy", args.games, seed=1).table())


if __name__ == "__main__":
    main()
