"""Self-play with Tianshou's PPO on the PettingZoo environment: one policy for both players.

    pip install ".[train]" "tianshou>=2.0.1,<3"
    python examples/tianshou_self_play.py --steps 60000

Tianshou's own ``PettingZooEnv`` wraps the environment, and rightly: ``agent_id``, observation and mask are
those of the player to move, also when one player moves several times in a row, and the reward is a vector
with an entry for each player. Its ``MultiAgentOnPolicyAlgorithm`` does not fit on top of it. It hands each
player the steps in which they moved, as if nothing happened in between, and so:

* The final reward lies on the last step of the game, which belongs to the last mover. The other player
  never gets a reward.
* The steps of that player do not hold the end of the game: advantages leak from one game into the one before.
* The observation after a step is the opponent's where the opponent moves next: its value has the wrong sign.

Here advantages are estimated from each decision to the next one of the same player, with all rewards in
between: see :func:`advantages_of_players`. Only whole games are collected, so that all of them have a result.

It trains the project's network, and saves it as a checkpoint, which is an agent:
``agents.load("runs/tianshou")``, ``patchwork-env export runs/tianshou``, ...

What to expect: after these 60,000 steps, some minutes on one core, the policy wins 84% of 100 games against
random (95% interval 74% to 89%) and 4% against greedy.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer, to_torch_as
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import ActionReprNet
from torch import Tensor, nn

from patchwork_env import patchwork_v0
from patchwork_env.agents.networks import Inputs, save_policy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.learning.evaluation import play_matches

Floats = npt.NDArray[np.float64]

NUM_ENVS, GAMES_PER_UPDATE = 16, 32
STEPS_PER_EPOCH = 20_000
LONGEST_GAME = 200
"""Steps for which the buffer has room, per game; games have some 45."""


class Actor(ActionReprNet):  # type: ignore[misc]
    """The policy of the project's network, with the interface of Tianshou."""

    def __init__(self, network: PatchworkNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Return log-probabilities ``(n, 2026)``, and the state, which is always None."""
        observations, masks = torch.as_tensor(obs.obs), torch.as_tensor(obs.mask)
        rows, actions = masks.nonzero(as_tuple=True)
        output = self.network(Inputs(observations, rows, actions))
        impossible = torch.full(masks.shape, -torch.inf)
        return impossible.index_put((rows, actions), output.log_probabilities), state


class Critic(nn.Module):
    """The value of the same network."""

    def __init__(self, network: PatchworkNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Any) -> Tensor:
        """Return the values that the players to move expect, ``(n,)``."""
        return self.network.values(torch.as_tensor(obs.obs))


class SelfPlayPPO(PPO):  # type: ignore[misc]
    """PPO whose advantages follow each player's own decisions."""

    def _add_returns_and_advantages(self, batch: Any, buffer: Any, indices: npt.NDArray[np.int64]) -> Any:
        with torch.no_grad():
            batch.v_s = self.critic(batch.obs)
        movers = np.searchsorted(["player_0", "player_1"], batch.obs.agent_id)
        values = batch.v_s.double().numpy()
        advantages = advantages_of_players(movers, batch.rew, batch.done, values, self.gamma, self.gae_lambda)
        batch.adv = to_torch_as(advantages, batch.v_s)
        batch.returns = to_torch_as(advantages + values, batch.v_s)
        return batch


def advantages_of_players(
    movers: npt.NDArray[np.int64],
    rewards: Floats,
    dones: npt.NDArray[np.bool_],
    values: Floats,
    gamma: float,
    gae_lambda: float,
) -> Floats:
    """Return advantages (GAE) from each decision to the next one of the same player.

    Args:
        movers: ``(n,)``, the player of each decision; whole games, concatenated.
        rewards: ``(n, 2)``, of both players after each decision.
        dones: ``(n,)``, where a game ended.
        values: ``(n,)``, expected by the player of the decision.
        gamma: Discount per decision.
        gae_lambda: Weight of longer estimates.

    Raises:
        ValueError: The last game is not whole.
    """
    if not dones[-1]:
        raise ValueError("the last game has no end; collect whole games")
    advantages = np.empty(len(values))
    next_values, next_advantages, since = np.zeros((3, 2))
    for t in reversed(range(len(values))):
        if dones[t]:  # neither player has a next decision
            next_values[:] = next_advantages[:] = since[:] = 0
        player = movers[t]
        since += rewards[t]
        error = since[player] + gamma * next_values[player] - values[t]
        advantages[t] = error + gamma * gae_lambda * next_advantages[player]
        next_values[player], next_advantages[player], since[player] = values[t], advantages[t], 0
    return advantages


def make_env() -> PettingZooEnv:
    """Return the environment for Tianshou; the reward "margin" is the score difference / 100."""
    return PettingZooEnv(patchwork_v0.env(rewards="margin", first_player="random"))


def make_algorithm(network: PatchworkNetwork) -> SelfPlayPPO:
    """Return PPO with one policy and one critic for both players."""
    return SelfPlayPPO(
        policy=DiscreteActorPolicy(actor=Actor(network), action_space=make_env().action_space),
        critic=Critic(network),
        optim=AdamOptimizerFactory(lr=5e-4),
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=0.01,
        max_grad_norm=0.5,
    )


def train(algorithm: SelfPlayPPO, steps: int, seed: int) -> None:
    """Play and learn until both players together have made ``steps``."""
    envs = DummyVectorEnv([make_env] * NUM_ENVS)
    envs.seed(seed)
    collector = Collector(algorithm, envs, VectorReplayBuffer(GAMES_PER_UPDATE * LONGEST_GAME, NUM_ENVS))
    parameters = OnPolicyTrainerParams(
        training_collector=collector,
        max_epochs=-(-steps // STEPS_PER_EPOCH),
        epoch_num_steps=min(steps, STEPS_PER_EPOCH),
        collection_step_num_env_steps=None,
        collection_step_num_episodes=GAMES_PER_UPDATE,
        update_step_num_repetitions=4,
        batch_size=256,
        # The progress bar shows one number as "rew". A player's own is 0 on average in self-play.
        multi_agent_return_reduction=lambda returns: np.abs(returns[:, 0]),
    )
    algorithm.run_training(parameters)


def main() -> None:
    parser = argparse.ArgumentParser(description="Self-play on Patchwork with Tianshou's PPO.")
    parser.add_argument(
        "--steps", type=int, default=60_000, help="turns of both players (default: %(default)s)"
    )
    parser.add_argument(
        "--games", type=int, default=100, help="of every match at the end (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/tianshou"), help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists already: name another folder with --out")
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # it warns repeatedly that rewards are vectors
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # small networks are slower with more threads
    network = PatchworkNetwork()
    train(make_algorithm(network), arguments.steps, arguments.seed)
    save_policy(arguments.out, network, {"algorithm": "PPO of Tianshou", "steps": arguments.steps})
    for opponent in ("random", "greedy"):
        print(play_matches(str(arguments.out), opponent, arguments.games, seed=arguments.seed).table())


if __name__ == "__main__":
    main()
