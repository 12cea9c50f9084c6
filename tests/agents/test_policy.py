"""The network prepared for many evaluations says what the network says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import NetworkEvaluator
from tests.agents.positions import many_states


@pytest.fixture(scope="module")
def states():
    return many_states()


@pytest.fixture(scope="module", params=[True, False], ids=["features", "maps"])
def network(request):
    torch.manual_seed(1)
    network = PatchworkNetwork(NetworkConfig(width=32, depth=2, channels=8, features=request.param))
    heads = [network.value, network.kind, network.modulation]
    with torch.no_grad():  # the first weights of the heads are tiny
        for head in [*heads, network.placement] if request.param else heads:
            head.weight.normal_(std=0.3)
            head.bias.normal_(std=0.3)
    return network


def directly(network, states):
    inputs, legal = PatchworkNetwork.encode(states)
    with torch.inference_mode():
        output = network(inputs)
    return legal, output.log_probabilities.numpy(), output.values.numpy()


def test_equals_the_network(network, states):
    legal, log_probabilities, values = directly(network, states)
    evaluation = NetworkEvaluator(network, torch.float32)(states)
    np.testing.assert_array_equal(evaluation.counts, legal.counts)
    np.testing.assert_array_equal(evaluation.actions, legal.actions)
    np.testing.assert_allclose(evaluation.log_probabilities, log_probabilities, atol=1e-4)
    np.testing.assert_allclose(evaluation.values, values, atol=1e-4)


def test_half_the_precision_changes_probabilities_a_little_and_values_not_at_all(network, states):
    _, log_probabilities, values = directly(network, states)
    evaluation = NetworkEvaluator(network)(states)
    np.testing.assert_allclose(evaluation.log_probabilities, log_probabilities, atol=0.15)
    np.testing.assert_allclose(evaluation.values, values, atol=1e-4)
    assert np.abs(evaluation.log_probabilities - log_probabilities).max() > 1e-4


def test_probabilities_of_every_state_sum_to_one(network, states):
    evaluation = NetworkEvaluator(network)(states)
    begins = np.cumsum(evaluation.counts) - evaluation.counts
    sums = np.add.reduceat(np.exp(evaluation.log_probabilities.astype(np.float64)), begins)
    np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_no_states(network, states):
    evaluation = NetworkEvaluator(network)(states[:0])
    assert [len(array) for array in evaluation] == [0, 0, 0, 0]


def test_later_weights_do_not_matter(states):
    network = PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))
    evaluator = NetworkEvaluator(network)
    before = evaluator(states)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    for one, other in zip(before, evaluator(states), strict=True):
        np.testing.assert_array_equal(one, other)
