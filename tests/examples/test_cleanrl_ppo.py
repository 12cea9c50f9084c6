"""The PPO in one file: it trains and measures, and its advantages are those of the definition."""

import gymnasium
import numpy as np
import pytest
import torch

from examples import cleanrl_ppo as example
from patchwork_env.learning import toolbox

NAME = "patchwork_env:Patchwork-v0"


@pytest.fixture
def network():
    torch.manual_seed(0)
    return toolbox.PatchworkNetwork(toolbox.NetworkConfig(width=16, depth=1))


@pytest.fixture
def batch(network):
    """A rollout of three games against the network itself."""
    opponent = toolbox.PolicyAgent(network, sample=True)
    envs = gymnasium.make_vec(NAME, 3, opponent=opponent, rewards="margin").unwrapped
    envs.reset(seed=1)
    return example.collect(envs, network, np.random.default_rng(0))


def test_learning_changes_every_parameter(network, batch):
    before = [parameter.clone() for parameter in network.parameters()]
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    losses = example.learn(network, optimizer, batch, np.random.default_rng(0))
    assert all(np.isfinite(list(losses.values())))
    assert losses["entropy"] > 0
    assert not any(map(torch.equal, before, network.parameters()))


def test_what_is_learned_from_is_what_was_played(network, batch):
    """Log-probabilities and values of a step are those of its state, and returns lead to the rewards."""
    assert batch["states"].shape == (example.NUM_STEPS, 3)
    rows = np.arange(3 * example.NUM_STEPS)
    flat = {name: array.reshape(-1) for name, array in batch.items()}
    inputs, legal = network.encode(flat["states"])
    output = network(inputs)
    chosen = legal.position_of(flat["actions"])
    expected = output.log_probabilities.detach().numpy()[chosen]
    np.testing.assert_allclose(flat["log_probabilities"], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(flat["values"], output.values.detach().numpy(), rtol=1e-4, atol=1e-5)
    parts = example.losses(network, flat, rows)  # the ratio is 1: normalized advantages, whose mean is 0
    np.testing.assert_allclose(parts["policy"].item(), 0, atol=1e-5)
    np.testing.assert_allclose(parts["value"].item(), np.square(flat["advantages"]).mean(), rtol=1e-4)
    ends = batch["dones"]
    margins = batch["margins"][ends]
    assert len(margins) > 1
    rewards = np.sign(margins) + np.clip(100 * margins / 40, -1, 1)
    with_ends = batch["advantages"][ends] + batch["values"][ends]
    np.testing.assert_allclose(with_ends, rewards, rtol=1e-5)


def test_advantages_end_with_the_game(monkeypatch):
    """Against the sum over the rest of the same game, step by step."""
    monkeypatch.setattr(example, "GAMMA", 0.9)
    monkeypatch.setattr(example, "GAE_LAMBDA", 0.8)
    rng = np.random.default_rng(5)
    rewards, values = rng.normal(size=(12, 2)), rng.normal(size=(13, 2)).astype(np.float32)
    dones = rng.random((12, 2)) < 0.25
    assert 2 < dones.sum() < 10
    expected = np.empty((12, 2))
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
    found = example.estimate(rewards, dones, values[:-1], values[-1])
    np.testing.assert_allclose(found, expected, atol=1e-5)
