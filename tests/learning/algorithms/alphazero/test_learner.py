"""The learning step of AlphaZero."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero, AlphaZeroConfig
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, Examples
from patchwork_env.learning.algorithms.alphazero.trainer import AlphaZeroTrainer
from patchwork_env.learning.config import Schedule
from patchwork_env.patchwork import Game

RATE = Schedule(start=3e-3, end=3e-3)


def make_network(seed=0):
    torch.manual_seed(seed)
    return PatchworkNetwork(NetworkConfig(width=32, depth=1, channels=8))


def examples_of(favorites):
    """First positions in which the policy is certain of one legal action, with returns of 0.5."""
    states = np.concatenate([Game(seed=seed).state for seed in range(len(favorites))])
    counts, policies = [], []
    for i, favorite in enumerate(favorites):
        legal = Game.from_state(states, i).legal_actions()
        counts.append(len(legal))
        policies.append((np.arange(len(legal)) == favorite).astype(np.float16))
    return Examples(states, np.array(counts), np.concatenate(policies), np.full(len(states), 0.5, np.float32))


@pytest.mark.parametrize("name", Examples._fields)
def test_examples_from_outside_fit_their_states(name):
    """Kernels would read beyond arrays that are too short, and policies of other actions."""
    examples = examples_of([0, 1])
    check = AlphaZeroTrainer(AlphaZeroConfig(alphazero=AlphaZero(num_envs=1))).check_examples
    check(examples)
    with pytest.raises(ValueError, match="the examples have"):
        check(examples._replace(**{name: getattr(examples, name)[:-1]}))
    with pytest.raises(ValueError, match="the examples have"):
        check(examples._replace(counts=examples.counts + np.array([1, -1])))


def test_what_is_learned_of_one_placement_is_learned_of_all_turned_ones():
    """On the empty quilt turned placements are equivalent: certainty about one becomes a share for each."""
    game = Game(seed=0)
    legal = game.legal_actions()
    by_cells = {game.decode(action).cells: k for k, action in enumerate(legal)}
    placement = next(k for cells, k in by_cells.items() if len(cells) > 1)
    examples = _repeated(examples_of([placement]), 64)
    network = make_network()
    settings = AlphaZero(gradient_steps=60, minibatch_size=64, learning_rate=RATE)
    AlphaZeroLearner(network, settings).update(examples, 0.0, np.random.default_rng(1))
    with torch.inference_mode():
        probabilities = (
            network(PatchworkNetwork.encode(examples.states[:1])[0]).log_probabilities.exp().numpy()
        )
    cells = game.decode(legal[placement]).cells
    images = {frozenset(_image(cells, g)) for g in range(8)}
    turned = [by_cells[image] for image in images]
    assert len(turned) > 1
    assert probabilities[turned].sum() > 0.8
    assert probabilities[turned].min() > 0.3 / len(turned)


def _repeated(examples, times):
    return Examples(*(np.tile(array, times) for array in examples))


def _image(cells, g):
    for row, column in cells:
        r, c = (row, 8 - column) if g >= 4 else (row, column)
        for _ in range(g % 4):
            r, c = c, 8 - r
        yield r, c


def test_without_an_example_there_is_nothing_to_learn():
    network = make_network()
    before = [parameter.clone() for parameter in network.parameters()]
    learner = AlphaZeroLearner(network, AlphaZero())
    assert learner.update(NO_EXAMPLES, 0.0, np.random.default_rng(1)) == {}
    assert all(torch.equal(*pair) for pair in zip(before, network.parameters(), strict=True))


def test_divergence_is_noticed():
    examples = examples_of([0])
    broken = examples._replace(returns=np.array([np.inf], np.float32))
    learner = AlphaZeroLearner(make_network(), AlphaZero(gradient_steps=1))
    with pytest.raises(DivergenceError, match="loss"):
        learner.update(broken, 0.0, np.random.default_rng(1))
