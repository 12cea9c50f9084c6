"""Tianshou on the PettingZoo environment: what it receives, and self-play with it.

Runs where Tianshou is installed: ``make test-libraries``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

pytest.importorskip("tianshou")

from tianshou.algorithm import PPO
from tianshou.algorithm.multiagent.marl import MultiAgentOnPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from torch import nn

from examples import tianshou_self_play as example
from patchwork_env import agents, patchwork_v0
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy import load_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import Game

pytestmark = pytest.mark.libraries

AGENTS = ["player_0", "player_1"]


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    return PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))


@pytest.fixture(scope="module")
def games(network):
    """What Tianshou collects of some games: one buffer row per decision, in order."""
    envs = DummyVectorEnv([example.make_env] * 2)
    envs.seed(3)
    buffer = VectorReplayBuffer(2000, 2)
    collector = Collector(example.make_algorithm(network), envs, buffer)
    collector.collect(n_episode=6, reset_before_collect=True)
    return buffer


def test_it_trains_saves_and_measures(start, tmp_path):
    printed = start("tianshou_self_play.py", "--steps", "1000", "--games", "4", "--out", "policy")
    for opponent in ("random", "greedy"):
        assert f"policy against {opponent}: 4 games" in printed
    assert agents.load(tmp_path / "policy").act(Game(seed=1)) in Game(seed=1).legal_actions()
    torch.manual_seed(0)  # the example's own seed
    before, (network, info) = PatchworkNetwork().state_dict(), load_policy(tmp_path / "policy")
    after = network.state_dict()
    assert info["steps"] == 1000
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    assert not any(torch.equal(before[name], after[name]) for name in before)


def test_the_example_replaces_nothing(start, tmp_path):
    (tmp_path / "policy").mkdir()
    with pytest.raises(AssertionError, match="policy exists already"):
        start("tianshou_self_play.py", "--steps", "1000", "--out", "policy")


def test_the_wrapper_shows_the_player_to_move():
    """Agent, observation and mask, also where one player moves several times in a row."""
    rng = np.random.default_rng(7)
    wrapped = PettingZooEnv(patchwork_v0.env())
    repeated = 0
    for seed in range(3):
        obs, _ = wrapped.reset(seed=seed)
        over, before = False, None
        while not over:
            game = wrapped.unwrapped.env.unwrapped.game
            assert obs["agent_id"] == AGENTS[game.current_player]
            np.testing.assert_array_equal(obs["obs"], game.observation())
            np.testing.assert_array_equal(obs["mask"], game.action_mask() == 1)
            repeated += obs["agent_id"] == before
            before = obs["agent_id"]
            obs, rewards, over, truncated, _ = wrapped.step(int(rng.choice(game.legal_actions())))
            assert not truncated
            if not over:
                assert rewards == [0, 0]
        winner = wrapped.unwrapped.env.unwrapped.game.winner()
        assert rewards == ([1, -1] if winner == 0 else [-1, 1])
    assert repeated > 10


def test_a_buffer_holds_whole_games_with_a_reward_for_each_player(games):
    rows, _ = games.sample(0)
    assert rows.rew.shape == (len(rows), 2)
    assert rows.done.sum() == 6
    assert bool(rows.done[-1])
    assert (rows.rew[~rows.done] == 0).all()
    assert (rows.rew[rows.done, 0] == -rows.rew[rows.done, 1]).all()
    assert set(rows.obs.agent_id) == set(AGENTS)
    assert all(rows.obs.mask[i, action] for i, action in enumerate(rows.act))


def test_both_players_get_their_reward(games):
    """Without discount and with values of 0, every decision is worth what its player got in the end."""
    rows, _ = games.sample(0)
    movers = np.searchsorted(AGENTS, rows.obs.agent_id)
    advantages = example.advantages_of_players(movers, rows.rew, rows.done, np.zeros(len(rows)), 1.0, 1.0)
    begin = 0
    for end in np.flatnonzero(rows.done):
        for t in range(begin, end + 1):
            assert advantages[t] == rows.rew[end, movers[t]]
        begin = end + 1


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


def test_a_game_without_an_end_is_an_error():
    with pytest.raises(ValueError, match="collect whole games"):
        example.advantages_of_players(
            np.zeros(2, int), np.zeros((2, 2)), np.zeros(2, bool), np.zeros(2), 1, 1
        )


def test_the_algorithm_uses_these_advantages(games, network):
    algorithm = example.make_algorithm(network)
    rows, indices = games.sample(0)
    rows = algorithm._preprocess_batch(rows, games, indices)
    movers = np.searchsorted(AGENTS, rows.obs.agent_id)
    with torch.no_grad():
        values = algorithm.critic(rows.obs).flatten().double().numpy()
    expected = example.advantages_of_players(movers, rows.rew, rows.done, values, 1.0, 0.95)
    np.testing.assert_allclose(rows.adv, expected, atol=1e-5)
    np.testing.assert_allclose(rows.returns, expected + values, atol=1e-5)


class Zero(nn.Module):
    """A critic that expects nothing."""

    def forward(self, obs):
        return torch.zeros(len(obs.obs), 1)


def test_the_multi_agent_algorithm_of_tianshou_loses_rewards(network):
    """Why the example does without it. If this fails, Tianshou has mended it."""
    env = example.make_env()
    algorithms = [
        PPO(
            policy=example.make_algorithm(network).policy,
            critic=Zero(),
            optim=AdamOptimizerFactory(),
            gamma=1.0,
            gae_lambda=1.0,
        )
        for _ in AGENTS
    ]
    stock = MultiAgentOnPolicyAlgorithm(algorithms=algorithms, env=env)
    buffer, envs = VectorReplayBuffer(300, 1), DummyVectorEnv([example.make_env])
    envs.seed(3)  # a game whose margin, and so its reward, is not 0
    torch.manual_seed(3)
    Collector(stock, envs, buffer).collect(n_episode=1, reset_before_collect=True)
    rows, indices = buffer.sample(0)
    last = rows.obs.agent_id[-1]
    (other,) = set(AGENTS) - {last}
    of_agents = stock._preprocess_batch(rows, buffer, indices)
    assert (rows.rew[-1] != 0).all()
    assert (of_agents[last].returns == rows.rew[-1, AGENTS.index(last)]).all()
    assert (of_agents[other].returns == 0).all()
