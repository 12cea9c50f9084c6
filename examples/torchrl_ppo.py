"""PPO by self-play from TorchRL's parts: its collector, distribution, replay buffer and loss.

    pip install ".[train,torchrl]"
    python examples/torchrl_ppo.py --out mine
    patchwork-env evaluate mine --against greedy

Three lines are special about Patchwork: ``make_env`` plays all games in compiled calls, in which the player
to move acts; ``MaskedCategorical`` draws only legal actions; and ``TurnGAE`` replaces ``GAE``. In this game
one player may move several times in a row. ``GAE`` would take the opponent's value for the player's own, and
the loser would never get the reward of the defeat.

The network is the project's own. It reads lists of legal actions, some 80 of 2026. It is saved as a
checkpoint, which is an agent.

What to expect: after 100 seconds of processor time on one core of an AMD EPYC, the policy wins all of
1000 games against random (95% interval from 99.1%) and 69% against greedy (66% to 72%), with the seed 0.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import RewardScaling, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss

from patchwork_env.agents.networks import Inputs
from patchwork_env.integrations.torchrl import TurnGAE, make_env
from patchwork_env.learning import toolbox

TURNS, EPOCHS, MINIBATCH, LEARNING_RATE, MAX_GRADIENT = 32, 2, 512, 2e-3, 0.5
POINTS = 20
"""The margin that counts as 1."""


class Logits(nn.Module):
    """The network's policy as logits for TorchRL's distributions."""

    def __init__(self, network: toolbox.PatchworkNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor, action_mask: Tensor) -> Tensor:
        """Return the logits of all actions, ``(n, 2026)``, minus infinity for illegal ones."""
        rows, actions = action_mask.nonzero(as_tuple=True)
        listed = self.network(Inputs(observation, rows, actions)).log_probabilities
        return torch.full(action_mask.shape, -torch.inf).index_put((rows, actions), listed)


class Values(nn.Module):
    """The network's value."""

    def __init__(self, network: toolbox.PatchworkNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor) -> Tensor:
        """Return the values that the players to move expect, ``(*batch, 1)``."""
        return self.network.values(observation.flatten(0, -2)).view(*observation.shape[:-1], 1)


def learn(network: toolbox.PatchworkNetwork, steps: int, num_envs: int, seed: int) -> int:
    """Learn from about ``steps`` turns of self-play in whole rollouts; return the number of turns."""
    actor = ProbabilisticActor(
        TensorDictModule(Logits(network), ["observation", "action_mask"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},  # pyright: ignore[reportArgumentType]
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = TensorDictModule(Values(network), ["observation"], ["state_value"])
    estimate = TurnGAE(gamma=1.0, lmbda=0.95, value_network=critic)  # no discount: winning late is winning
    loss_of = ClipPPOLoss(actor, critic, entropy_coeff=0.01, critic_coeff=0.5, normalize_advantage=True)
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE, eps=1e-5)
    frames = num_envs * TURNS
    rollouts = max(1, steps // frames)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(frames), sampler=SamplerWithoutReplacement(), batch_size=MINIBATCH
    )
    # The margin says more than the winner, above all to a beginner. It is 1 for 20 points, so that the value
    # learns as fast as the policy.
    env = TransformedEnv(
        make_env("patchwork", num_envs, rewards="margin", seed=seed),
        RewardScaling(loc=0, scale=100 / POINTS, in_keys=["rewards"]),
    )
    collector = Collector(
        env,
        actor,
        frames_per_batch=frames,
        total_frames=rollouts * frames,
        auto_register_policy_transforms=False,
    )
    parts: dict[str, Tensor] = {}
    began = time.perf_counter()
    for rollout, data in enumerate(collector, 1):
        estimate(data)
        margins = data["next", "rewards"][data["next", "done"].squeeze(-1)].abs()
        buffer.extend(data.exclude("next", "logits").reshape(-1))
        for _ in range(EPOCHS):
            for sample in buffer:
                parts = loss_of(sample)
                loss = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT)
                optimizer.step()
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - rollout / rollouts)
        if rollout % 10 == 0 or rollout == rollouts:
            speed = rollout * frames / (time.perf_counter() - began)
            games = f"margin of the winners {POINTS * margins.mean():5.1f}"
            losses = f"entropy {parts['entropy']:.2f}  value loss {parts['loss_critic']:.4f}"
            print(f"steps {rollout * frames:8}  steps/s {speed:6.0f}  {games}  {losses}", flush=True)
    collector.shutdown()
    return rollouts * frames


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a policy for Patchwork with TorchRL's PPO.")
    parser.add_argument(
        "--steps", type=int, default=250_000, help="turns of all games (default: %(default)s)"
    )
    parser.add_argument("--num-envs", type=int, default=256, help="games at once (default: %(default)s)")
    parser.add_argument("--games", type=int, default=400, help="of a match, even (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("torchrl_ppo"), help="folder (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists already")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # small networks are slower with more threads
    network = toolbox.PatchworkNetwork()
    steps = learn(network, arguments.steps, arguments.num_envs, arguments.seed)
    toolbox.save_policy(arguments.out, network, {"made_by": "torchrl_ppo.py", "steps": steps})
    for opponent in ("random", "greedy"):
        agent = toolbox.PolicyAgent(network, "TorchRL's PPO")
        print(toolbox.play_matches(agent, opponent, arguments.games, seed=1).table())


if __name__ == "__main__":
    main()
