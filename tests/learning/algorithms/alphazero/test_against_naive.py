"""An update of AlphaZero against a plain one: example by example, by the loss of the paper, with AdamW."""

import copy

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.rollout import Examples
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.symmetry import turn_quilts
from tests.learning.algorithms.naive import NaiveAdam, means, naive_gradients, naive_schedule

PROGRESS = 0.25
PLAIN = {"gradient_steps": 1, "minibatch_size": 6, "max_gradient_norm": 1e6}
CASES = {
    "plain": {},
    "all examples": {"minibatch_size": 100},
    "value": {"value_coefficient": 3.0},
    "short gradients": {"max_gradient_norm": 0.05},
    "learning rate": {"learning_rate": {"start": 0.02, "end": 0.004, "curve": "linear"}},
    "weight decay": {"weight_decay": 5.0},
    "two steps": {"gradient_steps": 2},
}


@pytest.fixture(scope="module")
def searched():
    """A small network, and decisions of random games with random policies in place of a search."""
    torch.manual_seed(0)
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    random, games = np.random.default_rng(0), [Game(seed=seed) for seed in range(9)]
    for turns, game in enumerate(games):
        for _ in range(4 * turns):
            game.play(random.choice(game.legal_actions()))
    policies = []
    for game in games:
        policy = random.dirichlet(np.full(len(game.legal_actions()), 0.2)).astype(np.float16)
        policies.append(np.where(policy < 1e-3, 0, policy))
    counts = np.array([len(policy) for policy in policies])
    returns = random.uniform(-1, 1, len(games)).astype(np.float32)
    states = np.concatenate([game.state for game in games])
    return network, Examples(states, counts, np.concatenate(policies), returns)


@pytest.mark.parametrize(
    ("changed", "threads"), [(case, 1 + k % 2) for k, case in enumerate(CASES.values())], ids=CASES
)
def test_weights_and_losses_are_those_of_a_plain_update(searched, changed, threads):
    network, examples = copy.deepcopy(searched[0]), searched[1]
    config = AlphaZero(**PLAIN | changed)
    expected, losses = naive_update(copy.deepcopy(network), examples, config, np.random.default_rng(2))
    learner = AlphaZeroLearner(network, config, ThreadPool(threads))
    metrics = learner.update(examples, PROGRESS, np.random.default_rng(2))
    assert metrics == pytest.approx(losses, rel=1e-3, abs=1e-5)
    rate = naive_schedule(config.learning_rate, PROGRESS)
    of_all, clear_of_all = [], []
    for parameter, twin in zip(network.parameters(), expected.parameters(), strict=True):
        of_all.append((parameter - twin).detach().abs().flatten() / (config.gradient_steps * rate))
        clear_of_all.append((parameter.grad.abs() > 1e-4 * parameter.grad.abs().max()).flatten())
    off, clear = torch.cat(of_all), torch.cat(clear_of_all)
    # Where the gradient is 0 but for rounding, Adam's steps are as long as elsewhere, either way.
    assert float(off.max()) < 2.1
    assert (off[clear] > 0.02).float().mean() < 0.03


def naive_update(network, examples, config, random):
    """The network after an update, and the means of its metrics over steps."""
    parameters, size = list(network.parameters()), min(config.minibatch_size, len(examples.states))
    optimizer = NaiveAdam(parameters, weight_decay=config.weight_decay)
    seen, rate = [], naive_schedule(config.learning_rate, PROGRESS)
    for _ in range(config.gradient_steps):
        chosen = random.choice(len(examples.states), size, replace=False, shuffle=False)
        symmetries = random.integers(8, size=(size, 2))
        losses = naive_losses(network, examples, config, chosen, symmetries)
        gradients, norm = naive_gradients(losses["loss"], parameters, config.max_gradient_norm)
        seen.append(losses | {"gradient_norm": norm})
        optimizer.step(gradients, [rate] * len(parameters))
    return network, means(seen)


def naive_losses(network, examples, config, chosen, symmetries):
    """Cross-entropy with the search's policy and squared error of the value, as means over examples."""
    begins = np.cumsum(examples.counts) - examples.counts
    policy_loss = value_loss = entropies = of_targets = torch.zeros(())
    for example, (own, other) in zip(chosen, symmetries, strict=True):
        state = examples.states[example : example + 1]
        policy = examples.policies[begins[example] :][: examples.counts[example]].astype(float)
        turned = state.copy()
        turn_quilts(turned, np.array([own]), np.array([other]))
        inputs, _ = network.encode(turned)
        output = network(inputs)
        logs = dict(zip(inputs.actions.tolist(), output.log_probabilities, strict=True))
        images = naive_images(Game.from_state(state), Game.from_state(turned), own)
        for action, share in zip(Game.from_state(state).legal_actions(), policy, strict=True):
            policy_loss = policy_loss - share * logs[images[action]]
            of_targets = of_targets - (share * np.log(share) if share > 0 else 0)
        value_loss = value_loss + (output.values[0] - float(examples.returns[example])) ** 2
        entropies = entropies - sum(torch.exp(log) * log for log in logs.values())
    losses = {
        "loss": policy_loss + config.value_coefficient * value_loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropies,
        "kl_to_search": policy_loss - of_targets,
    }
    return {name: loss / len(chosen) for name, loss in losses.items()}


def naive_images(game, turned, symmetry):
    """Each legal action of a game, and the one that covers the turned cells of the turned quilt."""
    found = {}
    for action in turned.legal_actions().tolist():
        move = turned.decode(action)
        found[move.kind, move.patch, move.cells] = action
    images = {}
    for action in game.legal_actions().tolist():
        move = game.decode(action)
        cells = frozenset(naive_turn(cell, symmetry) for cell in move.cells)
        images[action] = found[move.kind, move.patch, cells]
    return images


def naive_turn(cell, symmetry):
    """A cell after a flip from the fifth symmetry on, and clockwise quarter turns."""
    row, column = (cell[0], 8 - cell[1]) if symmetry >= 4 else cell
    for _ in range(symmetry % 4):
        row, column = column, 8 - row
    return row, column
