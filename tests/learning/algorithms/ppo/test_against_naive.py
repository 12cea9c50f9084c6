"""An update of PPO against a plain one: decision by decision, by the formulas of the papers, with Adam."""

import copy
import math

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import SelfPlay
from patchwork_env.learning.config import Reward, load_config
from patchwork_env.patchwork.rules import RULES
from tests.learning.algorithms.naive import NaiveAdam, means, naive_advantage, naive_gradients, naive_schedule

PROGRESS = 0.25
PLAIN = {"num_envs": 6, "rollout_steps": 12, "epochs": 2, "minibatch_size": 20, "max_gradient_norm": 1e6}
CASES = {
    "clipped": {},
    "hardly clipped": {"clip_range": 0.9},
    "wide": {"clip_range": 1e-6},
    "three epochs of whole batches": {"epochs": 3, "minibatch_size": 4096},
    "entropy": {"entropy_coefficient": {"start": 2.0, "end": 1.0}},
    "value": {"value_coefficient": 3.0},
    "short gradients": {"max_gradient_norm": 0.05},
    "learning rate": {"learning_rate": {"start": 0.02, "end": 0.004, "curve": "geometric"}},
    "discounted": {"gamma": 0.8, "gae_lambda": 0.5},
    "ends early": {"target_kl": 0.1, "learning_rate": {"start": 0.02, "end": 0.02}},
}


@pytest.fixture(scope="module")
def played():
    """A small network, and games that it and past selves played; it was another policy when it played."""
    torch.manual_seed(0)
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    env = SelfPlayBatch(RULES, 6, seed=0, masks=False, observations=False)
    for _ in range(30):  # some games end in the rollout
        env.step(env.random_actions)
    past_selves = {0: copy.deepcopy(network)}
    self_play = SelfPlay(env, Reward(margin=1.0, margin_scale=40.0, margin_cut=1.0), 0.5)
    rollout = self_play.collect(network, past_selves, 12, np.random.default_rng(0))
    changes = np.random.default_rng(1).normal(0, 0.3, rollout.actions.shape)
    rollout.log_probabilities += changes.astype(np.float32)
    assert rollout.decisions.dones.any()
    assert (rollout.decisions.learner_mask.mean(axis=0) < 1).any()
    return network, rollout


@pytest.mark.parametrize(
    ("changed", "threads"), [(case, 1 + k % 2) for k, case in enumerate(CASES.values())], ids=CASES
)
def test_weights_and_losses_are_those_of_a_plain_update(played, changed, threads):
    network, rollout = copy.deepcopy(played[0]), played[1]
    config = Ppo(**PLAIN | changed)
    expected, losses = naive_update(copy.deepcopy(network), rollout, config, np.random.default_rng(2))
    learner = PpoLearner(network, config, ThreadPool(threads))
    metrics = learner.update(rollout, PROGRESS, np.random.default_rng(2))
    assert {name: metrics[name] for name in losses} == pytest.approx(losses, rel=1e-3, abs=1e-5)
    for name, weights in network.state_dict().items():
        moved = (weights - played[0].state_dict()[name]).abs().max()
        torch.testing.assert_close(weights, expected[name], rtol=0, atol=1e-2 * float(moved))


def test_the_trained_policy_is_the_mean_of_iterations_by_a_power_of_their_number():
    small = ["network.width=8", "network.depth=1", "ppo.num_envs=6", "ppo.rollout_steps=8"]
    trainer, path = make_trainer(load_config("ppo", [*small, "ppo.averaging_power=2", "threads=1"])), []
    for _ in range(4):
        trainer.step()
        path.append({name: tensor.clone() for name, tensor in trainer.network.state_dict().items()})
    for name, tensor in trainer.trained.state_dict().items():
        mean = sum((k**3 - (k - 1) ** 3) / 4**3 * weights[name] for k, weights in enumerate(path, 1))
        torch.testing.assert_close(tensor, mean)
        assert torch.equal(trainer.agent().network.state_dict()[name], tensor)
    assert not torch.equal(trainer.trained.trunk[0].weight, trainer.network.trunk[0].weight)


def test_a_run_that_is_resumed_without_averages_learns_from_its_own_weights():
    small = ["network.width=8", "network.depth=1", "ppo.num_envs=6", "ppo.rollout_steps=8", "threads=1"]
    trainer = make_trainer(load_config("ppo", [*small, "ppo.averaging_power=2"]))
    trainer.step()
    trainer.step()
    resumed = make_trainer(load_config("ppo", [*small, "ppo.averaging_power=null"]))
    resumed.load_state_dict(copy.deepcopy(trainer.state_dict()))
    for name, tensor in trainer.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], tensor)
        assert torch.equal(resumed.agent().network.state_dict()[name], tensor)


def naive_update(network, rollout, config, random):
    """The weights after an update, and the means of its metrics over minibatches."""
    batch, parameters = naive_batch(rollout, config), list(network.parameters())
    optimizer, rate = NaiveAdam(parameters, epsilon=1e-5), naive_schedule(config.learning_rate, PROGRESS)
    seen, updates = [], 0
    for minibatch in naive_minibatches(len(batch), config, random):
        losses = naive_losses(network, [batch[i] for i in minibatch], config)
        gradients, norm = naive_gradients(losses["loss"], parameters, config.max_gradient_norm)
        seen.append(losses | {"gradient_norm": norm})
        if config.target_kl is not None and losses["kl"] > 1.5 * config.target_kl:
            break
        optimizer.step(gradients, [rate] * len(parameters))
        updates += 1
    losses = means(seen)
    returns, values = (np.array([sample[k] for sample in batch]) for k in (4, 5))
    losses["explained_variance"] = 1 - np.var(returns - values) / np.var(returns)
    if config.target_kl is not None:
        assert 0 < updates == len(seen) - 1
        losses["updates"] = updates
    return network.state_dict(), losses


def naive_minibatches(size, config, random):
    """Even parts of at most the given size, of all decisions in a new order in every epoch."""
    for _ in range(config.epochs):
        yield from np.array_split(random.permutation(size), math.ceil(size / config.minibatch_size))


def naive_batch(rollout, config):
    """The learner's decisions: state, action, old log probability, normalized advantage, return, value."""
    decisions = rollout.decisions
    turns, games = decisions.players.shape
    found = []
    for turn in range(turns):
        for game in range(games):
            if decisions.learner_mask[turn, game]:
                advantage = naive_advantage(decisions, turn, game, config.gamma, config.gae_lambda)
                found.append((turn, game, advantage, advantage + float(decisions.values[turn, game])))
    estimates = [advantage for _, _, advantage, _ in found]
    mean, deviation = np.mean(estimates), np.std(estimates)
    return [
        (
            rollout.states[turn, game : game + 1],
            int(rollout.actions[turn, game]),
            float(rollout.log_probabilities[turn, game]),
            (advantage - mean) / (deviation + 1e-8),
            returned,
            float(decisions.values[turn, game]),
        )
        for turn, game, advantage, returned in found
    ]


def naive_losses(network, samples, config):
    """The objective of Schulman et al. (2017), equations 7 and 9, and its terms, as means over samples."""
    policy = value = entropies = divergence = clipped = torch.zeros(())
    for state, action, old, advantage, returned, _ in samples:
        inputs, _ = network.encode(state)
        output = network(inputs)
        log_probability = output.log_probabilities[inputs.actions.tolist().index(action)]
        ratio = torch.exp(log_probability - old)
        low, high = 1 - config.clip_range, 1 + config.clip_range
        within = torch.clip(ratio, low, high)
        policy = policy - torch.minimum(ratio * advantage, within * advantage)
        value = value + (output.values[0] - returned) ** 2
        entropies = entropies - (torch.exp(output.log_probabilities) * output.log_probabilities).sum()
        divergence = divergence + (ratio - 1) - (log_probability - old)
        clipped = clipped + float(not low <= float(ratio.detach()) <= high)
    size = len(samples)
    loss = (
        policy
        + config.value_coefficient * value
        - naive_schedule(config.entropy_coefficient, PROGRESS) * entropies
    )
    terms = {"loss": loss, "policy_loss": policy, "value_loss": value, "entropy": entropies, "kl": divergence}
    return {name: term / size for name, term in (terms | {"clip_fraction": clipped}).items()}
