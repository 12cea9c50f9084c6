"""The PPO in one file: it trains and measures, and its advantages are those of the definition."""

from __future__ import annotations

import re
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
import torch

from examples import cleanrl_ppo as example

NAME = "patchwork_env:Patchwork-v0"


@pytest.fixture
def collector():
    """A small one, with an agent of which all parts matter."""
    torch.manual_seed(0)
    envs = gymnasium.make_vec(NAME, 3, vectorization_mode="vector_entry_point", rewards="margin")
    return example.Collector(envs, example.Agent(307, width=16, channels=4), seed=1)


@pytest.mark.slow
def test_it_trains_and_measures(start):
    printed = start("cleanrl_ppo.py", "--total-steps", "4000", "--num-envs", "32", "--games", "4")
    steps = [int(number) for number in re.findall(r"^steps +(\d+)", printed, re.MULTILINE)]
    assert steps[-1] >= 4000
    assert all(before < after for before, after in pairwise(steps))
    for opponent in ("random", "greedy"):
        assert f"ppo against {opponent}: 4 games" in printed


def test_learning_changes_every_parameter(collector):
    agent = collector.agent
    before = [parameter.clone() for parameter in agent.parameters()]
    optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
    losses = example.learn(agent, optimizer, collector.collect())
    assert all(np.isfinite(list(losses.values())))
    assert losses["entropy"] > 0
    assert not any(map(torch.equal, before, agent.parameters()))


def test_steps_are_legal_and_have_the_probabilities_of_the_policy(collector):
    batch = collector.collect()
    assert batch.observations.shape == (3 * example.NUM_STEPS, 307)
    assert bool(batch.masks.gather(1, batch.actions[:, None]).all())
    policy = collector.agent.policy(batch.observations, batch.masks).detach()
    assert policy.exp()[~batch.masks].sum() == 0
    expected = policy.gather(1, batch.actions[:, None]).squeeze(1)
    np.testing.assert_allclose(batch.log_probabilities, expected, rtol=1e-5)


def test_advantages_end_with_the_game(monkeypatch):
    """Against the sum over the rest of the same game, step by step."""
    monkeypatch.setattr(example, "GAMMA", 0.9)
    monkeypatch.setattr(example, "GAE_LAMBDA", 0.8)
    rng = torch.Generator().manual_seed(5)
    rewards, values = torch.randn(12, 2, generator=rng), torch.randn(13, 2, generator=rng)
    dones = (torch.rand(12, 2, generator=rng) < 0.25).float()
    assert 2 < dones.sum() < 10
    expected = torch.empty(12, 2)
    for game in range(2):
        for t in range(12):
            total, weight = 0.0, 1.0
            for later in range(t, 12):
                goes_on = 1 - dones[later, game]
                following = 0.9 * goes_on * values[later + 1, game]
                total += weight * (rewards[later, game] + following - values[later, game])
                weight *= 0.9 * 0.8
                if not goes_on:
                    break
            expected[t, game] = total
    np.testing.assert_allclose(example.estimate(rewards, dones, values), expected, atol=1e-5)


def test_logits_stand_where_their_actions_are(collector):
    """A cell that is covered changes the placements whose window holds it, and no others of the same map."""
    agent = collector.agent
    observations = torch.zeros(2, 307)
    observations[1, 9 * 4 + 5] = 1
    agent.trunk[0].weight.data[:, :162] = 0  # so that the quilt has an effect through its windows alone
    masks = torch.ones(2, 2026, dtype=torch.bool)
    logits = agent.policy(observations, masks).detach()
    changed = (logits[1] - logits[0] - (logits[1] - logits[0])[0]).abs() > 1e-6
    near = [
        (row, column)
        for row in range(9)
        for column in range(9)
        if -1 <= 4 - row <= 5 and -1 <= 5 - column <= 5
    ]
    assert 0 < len(near) < 81
    for action in range(1, 2026):
        cell = divmod((action - 1) % 81, 9)
        assert not changed[action] or cell in near
    assert changed.sum() > 25 * len(near) / 2


def test_what_follows_the_end_of_a_game_is_the_next_one():
    """What the example relies on: the reward is the old game's, observation and mask are the new one's."""
    envs = gymnasium.make_vec(NAME, 4, vectorization_mode="vector_entry_point", seat=0, opponent="greedy")
    _, infos = envs.reset(seed=1)
    ended = 0
    for _ in range(60):
        observations, rewards, dones, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        assert (np.abs(rewards) == dones).all()
        assert (infos["action_mask"].sum(axis=1) > 0).all()
        for i in np.flatnonzero(dones).tolist():
            assert infos["final_info"]["action_mask"][i].sum() == 0
            np.testing.assert_array_equal(observations[i], envs.unwrapped.games()[i].observation(0))
            assert not np.array_equal(observations[i], infos["final_obs"][i])
        ended += int(dones.sum())
    assert ended >= 4
