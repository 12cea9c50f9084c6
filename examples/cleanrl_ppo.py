"""PPO in one file, to read from top to bottom and to change: only PyTorch and the vector environment.

    pip install ".[train]"
    python examples/cleanrl_ppo.py --total-steps 500000 --opponent random

In the style of CleanRL: one script with every detail in sight. What is special about Patchwork:

* Of 2026 actions few are legal. The others get the logit ``-1e8``: they have no probability, no gradient and
  no part in the entropy.
* The opponent's moves, however many, are part of ``step``: each step is a decision of the learner.
* The next game starts in the step in which one ends (``AutoresetMode.SAME_STEP``): the reward belongs to the
  game that has ended, but observation and mask to the next one, so that their value must not count. No step
  has to be left out, as after the end of a game with ``AutoresetMode.NEXT_STEP``.

What to expect: after these 500,000 steps, some six minutes on one core of an AMD EPYC, the policy wins 92% of
200 games against random (95% interval 86% to 95%) and 10% against greedy.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from patchwork_env.learning.evaluation import play_matches
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.observation import OBSERVATION_SIZE

NUM_STEPS, EPOCHS, MINIBATCHES = 32, 4, 8
GAMMA, GAE_LAMBDA, CLIP, ENTROPY, MAX_GRADIENT = 1.0, 0.95, 0.2, 0.01, 0.5
NUM_MAPS = 25  # of 81 placements each: 3 slots in 8 orientations, then special patches, as actions are


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a policy for Patchwork with PPO, in one file.")
    parser.add_argument("--total-steps", type=int, default=500_000, help="of the learner, in all games")
    parser.add_argument("--opponent", default="random", help="random, greedy, ppo or a checkpoint's path")
    parser.add_argument("--num-envs", type=int, default=128, help="games at once")
    parser.add_argument("--learning-rate", type=float, default=5e-4, help="at the start; it falls to 0")
    parser.add_argument("--games", type=int, default=200, help="of every match at the end")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Agent(nn.Module):
    """A network for the policy and one for the value.

    The logit of a placement is the product of two vectors: one for the cell, from the 7x7 window of the own
    quilt around it, and one for the slot and orientation, from all that is observed. What is learned in one
    corner holds in the others; a plain layer of 2026 outputs would learn every placement by itself.
    """

    def __init__(self, num_inputs: int, width: int = 256, channels: int = 24) -> None:
        super().__init__()
        self.critic = nn.Sequential(*hidden_layers(num_inputs, width), nn.Linear(width, 1))
        self.trunk = nn.Sequential(*hidden_layers(num_inputs, width))
        self.advance = nn.Linear(width, 1)
        self.keys = nn.Sequential(
            nn.Linear(width, NUM_MAPS * channels), nn.Unflatten(1, (NUM_MAPS, channels))
        )
        walls = nn.ConstantPad2d((1, 5, 1, 5), 1.0)
        self.windows = nn.Sequential(walls, nn.Conv2d(1, channels, 7), nn.ReLU(), nn.Flatten(2))

    def policy(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Log-probabilities of all actions, ``(n, 2026)``; masks are booleans of the same shape."""
        features = self.trunk(observations)
        cells = self.windows(observations[:, :81].reshape(-1, 1, 9, 9))
        placements = (self.keys(features) @ cells).flatten(1)
        logits = torch.cat([self.advance(features), placements], 1)
        return torch.log_softmax(logits.masked_fill(~masks, -1e8), 1)

    def value(self, observations: Tensor) -> Tensor:
        """Expected returns, ``(n,)``."""
        return torch.squeeze(self.critic(observations), 1)


def hidden_layers(num_inputs: int, width: int) -> list[nn.Module]:
    return [nn.Linear(num_inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()]


class Batch(NamedTuple):
    """Steps and what is learned from them, tensors ``(steps * games, …)``."""

    observations: Tensor
    masks: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor


class Collector:
    """Plays the games and remembers where they stand between rollouts."""

    def __init__(self, envs: Any, agent: Agent, seed: int) -> None:
        self.envs, self.agent = envs, agent
        self.observations, self.infos = envs.reset(seed=seed)
        self.final_rewards: list[float] = []

    @torch.no_grad()
    def collect(self) -> Batch:
        """The next ``NUM_STEPS`` steps of every game."""
        steps, rewards, dones, values = [], [], [], []
        for _ in range(NUM_STEPS):
            observations = torch.from_numpy(self.observations)
            masks = torch.from_numpy(self.infos["action_mask"]).bool()
            policy = self.agent.policy(observations, masks)
            actions = torch.multinomial(policy.exp(), 1)
            steps.append((observations, masks, actions.squeeze(1), policy.gather(1, actions).squeeze(1)))
            values.append(self.agent.value(observations))
            self.observations, reward, done, _, self.infos = self.envs.step(actions.squeeze(1).numpy())
            rewards.append(torch.from_numpy(reward).float())
            dones.append(torch.from_numpy(done).float())
            self.final_rewards += reward[done].tolist()
        values.append(self.agent.value(torch.from_numpy(self.observations)))
        advantages = estimate(torch.stack(rewards), torch.stack(dones), torch.stack(values))
        stacked = [torch.stack(tensors) for tensors in zip(*steps, strict=True)]
        returns = advantages + torch.stack(values[:-1])
        return Batch(*(tensor.flatten(0, 1) for tensor in (*stacked, advantages, returns)))


def estimate(rewards: Tensor, dones: Tensor, values: Tensor) -> Tensor:
    """Generalized advantage estimation (Schulman et al., 2016), ``(steps, games)``.

    Args:
        rewards: ``(steps, games)``.
        dones: ``(steps, games)``, 1 where a game ended with the step.
        values: ``(steps + 1, games)``, of the observations before the steps and after the last.
    """
    advantages, following = torch.empty_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        goes_on = GAMMA * (1 - dones[t])  # after the end of a game, values[t + 1] is of the next one
        error = rewards[t] + goes_on * values[t + 1] - values[t]
        advantages[t] = following = error + goes_on * GAE_LAMBDA * following
    return advantages


def losses(agent: Agent, batch: Batch) -> dict[str, Tensor]:
    """Policy loss, value loss and entropy of a minibatch."""
    policy = agent.policy(batch.observations, batch.masks)
    ratio = (policy.gather(1, batch.actions[:, None]).squeeze(1) - batch.log_probabilities).exp()
    advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP) * advantages
    return {
        "policy": -torch.minimum(ratio * advantages, clipped).mean(),
        "value": (agent.value(batch.observations) - batch.returns).square().mean(),
        "entropy": -(policy.exp() * policy).sum(1).mean(),  # what is not legal has the probability 0
    }


def learn(agent: Agent, optimizer: torch.optim.Optimizer, batch: Batch) -> dict[str, float]:
    """Some passes over a rollout in shuffled minibatches; returns the last losses."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(batch.actions)).chunk(MINIBATCHES):
            parts = losses(agent, Batch(*(tensor[rows] for tensor in batch)))
            optimizer.zero_grad()
            torch.autograd.backward(parts["policy"] + 0.5 * parts["value"] - ENTROPY * parts["entropy"])
            nn.utils.clip_grad_norm_(agent.parameters(), MAX_GRADIENT)
            optimizer.step()
    return {name: part.item() for name, part in parts.items()}


def main() -> None:
    args = parse_arguments()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # for networks as small as these, more cost more than they bring
    options = {"opponent": args.opponent, "rewards": "margin"}  # which says more than who won
    envs = gymnasium.make_vec("patchwork_env:Patchwork-v0", args.num_envs, "vector_entry_point", **options)
    agent = Agent(OBSERVATION_SIZE)
    optimizer = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    collector, began = Collector(envs, agent, args.seed), time.perf_counter()
    num_rollouts = -(-args.total_steps // (args.num_envs * NUM_STEPS))
    for rollout in range(1, num_rollouts + 1):
        parts = learn(agent, optimizer, collector.collect())
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - rollout / num_rollouts)
        if rollout % 10 == 0 or rollout == num_rollouts:
            steps, margins = rollout * NUM_STEPS * args.num_envs, np.array(collector.final_rewards[-1000:])
            speed = steps / (time.perf_counter() - began)
            games = f"won {np.mean(margins > 0):4.0%}  score difference {100 * margins.mean():+6.1f}"
            training = "  ".join(f"{name} {part:.3f}" for name, part in parts.items())
            print(f"steps {steps:8}  steps/s {speed:6.0f}  {games}  {training}")

    def ppo(game: Game) -> int:
        """The policy as a player: any function from a game to an action is an agent."""
        observation, mask = torch.from_numpy(game.observation()), torch.from_numpy(game.action_mask()).bool()
        with torch.no_grad():
            return int(agent.policy(observation[None], mask[None]).argmax())

    for opponent in ("random", "greedy"):
        print(play_matches(ppo, opponent, args.games, seed=args.seed).table())


if __name__ == "__main__":
    main()
