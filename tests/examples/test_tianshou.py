"""Tianshou on the PettingZoo environment: what it receives, and self-play with it.

Runs where Tianshou is installed: ``make test-libraries``.
"""

import itertools

import numpy as np
import pytest
import torch

pytest.importorskip("tianshou")

from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv

from examples import tianshou_self_play as example
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork

pytestmark = pytest.mark.libraries


def test_advantages_against_the_definition():
    """Each player's decisions taken out and estimated alone, with all rewards up to the next one."""
    rng = np.random.default_rng(2)
    movers, dones = rng.integers(0, 2, 60), rng.random(60) < 0.1
    dones[-1] = True
    rewards, values = rng.normal(size=(60, 2)), rng.normal(size=60)
    computed = example.advantages_of_players(movers, rewards, dones, values, 0.9, 0.8)
    begin = 0
    for end in np.flatnonzero(dones):
        for player in range(2):
            own = [t for t in range(begin, end + 1) if movers[t] == player]
            following = 0.0
            for t, after in reversed(list(itertools.zip_longest(own, own[1:]))):
                reward = rewards[t : end + 1 if after is None else after, player].sum()
                next_value = 0.0 if after is None else values[after]
                following = reward + 0.9 * next_value - values[t] + 0.9 * 0.8 * following
                assert computed[t] == pytest.approx(following)
        begin = end + 1
    with pytest.raises(ValueError, match="collect whole games"):
        example.advantages_of_players(
            np.zeros(2, int), np.zeros((2, 2)), np.zeros(2, bool), np.zeros(2), 1, 1
        )


def test_the_algorithm_uses_these_advantages():
    torch.manual_seed(1)
    algorithm = example.make_algorithm(PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4)))
    envs, games = DummyVectorEnv([example.make_env] * 2), VectorReplayBuffer(2000, 2)
    envs.seed(3)
    Collector(algorithm, envs, games).collect(n_episode=3, reset_before_collect=True)
    rows, indices = games.sample(0)
    rows = algorithm._preprocess_batch(rows, games, indices)
    movers = np.searchsorted(["player_0", "player_1"], rows.obs.agent_id)
    with torch.no_grad():
        values = algorithm.critic(rows.obs).flatten().double().numpy()
    expected = example.advantages_of_players(movers, rows.rew, rows.done, values, 1.0, 0.95)
    np.testing.assert_allclose(rows.adv, expected, atol=1e-5)
    np.testing.assert_allclose(rows.returns, expected + values, atol=1e-5)
