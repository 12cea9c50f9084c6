"""The network: its policy is a distribution over the legal actions, and it is as documented."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import NetworkEvaluator
from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
from patchwork_env.agents.patchwork.policy import network as policy_network
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.patchwork.observation import LAYOUT
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import many_states

SMALL = NetworkConfig(width=24, depth=2, channels=8)


@pytest.fixture(scope="module")
def states():
    return many_states()


_PARTS = {
    "both": {},
    "features": {"channels": 0},
    "offers": {"channels": 0, "offers": True},
    "maps": {"features": False},
}


@pytest.fixture(scope="module", params=_PARTS)
def network(request):
    """A network with random weights in all parts; a new one is nearly uniform."""
    torch.manual_seed(3)
    network = PatchworkNetwork(SMALL.model_copy(update=_PARTS[request.param]))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


def evaluate(network, states):
    """Log-probabilities, entropies and values as arrays, and the legal lists."""
    inputs, legal = PatchworkNetwork.encode(states)
    with torch.inference_mode():
        return [tensor.numpy() for tensor in network(inputs)[:3]], legal


def sums_by_row(values, counts):
    return np.add.reduceat(values.astype(np.float64), np.cumsum(counts) - counts)


def test_values_alone_and_entropies_are_those_of_the_whole_policy(network, states):
    (logs, entropies, values), legal = evaluate(network, states)
    inputs, _ = PatchworkNetwork.encode(states)
    with torch.inference_mode():
        np.testing.assert_allclose(network.values(inputs.observations), values, rtol=1e-5, atol=1e-6)
    expected = sums_by_row(-np.exp(logs.astype(np.float64)) * logs, legal.counts)
    np.testing.assert_allclose(entropies, expected, atol=1e-4)
    np.testing.assert_allclose(entropies[legal.counts == 1], 0, atol=1e-6)


def test_windows_are_the_convolution_of_the_quilt_within_walls(network, states):
    if not network.config.channels:
        pytest.skip("this network has no windows")
    quilts = PatchworkNetwork.encode(states[::3])[0].observations[:, :81].view(-1, 9, 9)
    walled = functional.pad(quilts[:, None], (1, 5, 1, 5), value=1.0)
    with torch.inference_mode():
        expected = network.window(walled).flatten(2)
        matrix, walls, _ = network._map_factors()
        windows = (quilts.flatten(1) @ matrix + walls).view_as(expected)
        np.testing.assert_allclose(windows, expected, rtol=1e-5, atol=1e-5)


def test_a_batch_is_evaluated_one_by_one_and_may_be_empty(network, states):
    some = states[::25]
    together, _ = evaluate(network, some)
    single = [evaluate(network, some[i : i + 1])[0] for i in range(len(some))]
    for whole, alone in zip(together, zip(*single, strict=True), strict=True):
        np.testing.assert_allclose(whole, np.concatenate(alone), rtol=1e-5, atol=1e-5)
    output, legal = evaluate(network, states[:0])
    assert [len(array) for array in (*output, legal.actions)] == [0, 0, 0, 0]


def test_gradients_reach_every_parameter(states):
    torch.manual_seed(0)
    fresh = PatchworkNetwork(SMALL)
    _gradient(fresh, PatchworkNetwork.encode(states)[0])
    for name, parameter in fresh.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


def test_players_can_be_exchanged(network, states):
    """Exchanging the players changes nothing."""
    swapped = states.copy()
    for name in ("quilt", "buttons", "position", "income"):
        swapped[name] = states[name][:, ::-1]
    swapped["current_player"] = 1 - states["current_player"]
    for name in ("bonus_owner", "first_finisher"):
        swapped[name] = np.where(states[name] == NOBODY, NOBODY, 1 - states[name])
    (output, legal), (expected, expected_legal) = evaluate(network, swapped), evaluate(network, states)
    assert legal.actions.tolist() == expected_legal.actions.tolist()
    for array, other in zip(output, expected, strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("before", ["quilts", "circle", "specials"])
def test_a_new_entry_of_the_observation_changes_nothing(network, states, before, monkeypatch):
    inputs, _ = PatchworkNetwork.encode(states)
    features = network.features_of(inputs)
    with torch.inference_mode():
        expected = network(inputs, features=features)
    at, width, seen = policy_network.SLICES[before].start, 3, inputs.observations
    shifted = {
        name: part if part.stop <= at else slice(part.start + width, part.stop + width)
        for name, part in policy_network.SLICES.items()
    }
    for owner, name in ((policy_network, "SLICES"), (LAYOUT, "slices")):
        monkeypatch.setattr(owner, name, {"new": slice(at, at + width), **shifted})
    wider = torch.cat([seen[:, :at], torch.ones(len(seen), width), seen[:, at:]], 1)
    again = PatchworkNetwork(network.config)
    again.load_state_dict(network.state_dict())
    with pytest.raises(RuntimeError, match="Unexpected key"):
        again.load_state_dict({"new": seen, **network.state_dict()})
    with torch.inference_mode():
        outputs = again(inputs._replace(observations=wider), features=features)
    assert all(torch.equal(*pair) for pair in zip(outputs, expected, strict=True))


@pytest.mark.parametrize("network", [PatchworkNetwork, Nmbr9Network])
def test_new_networks_are_nearly_uniform(network):
    more = {"channels": 8, "lookahead": True} if network is PatchworkNetwork else {}
    layers = dict(network(NetworkConfig(width=64, **more)).named_children())
    heads = {"value", "kind", "choice", "placement", "modulation"} & layers.keys()
    for layer, gain in ((layers["trunk"][0], 2**0.5), *((layers[name], 0.01) for name in heads)):
        assert layer.weight.norm(dim=1).tolist() == pytest.approx([gain] * layer.out_features)
        assert not layer.bias.any()
    scales = {"kind_score": 0.01, "placement_score": 0.01, "keys": 0.1, "key_of_shape": 0.02, "ahead": 0.3}
    for name in scales.keys() & layers.keys():
        assert layers[name].weight.square().mean().sqrt().item() == pytest.approx(scales[name], rel=0.3)
        assert name != "key_of_shape" or not layers[name].bias.any()


def test_wrong_sizes():
    wrong = [{"width": 0}, {"depth": -1}, {"channels": 2.5}, {"width": True}, {"features": 1}]
    for sizes in (*wrong, {"channels": 0, "features": False}):
        with pytest.raises(ValueError, match=next(iter(sizes))):
            NetworkConfig(**sizes)
    for name in ("offers", "lookahead"):
        with pytest.raises(ValueError, match=rf"network\.{name} is true and network\.features is false"):
            NetworkConfig(channels=4, features=False, **{name: True})


def test_gradients_are_equal_to_the_bit_with_several_threads(states):
    """Atomic sums in the order of arrival would make every training run different."""
    torch.manual_seed(0)
    fresh = PatchworkNetwork(NetworkConfig(width=32, depth=1, channels=8))
    inputs, _ = PatchworkNetwork.encode(states)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        gradients = [_gradient(fresh, inputs) for _ in range(2)]
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(gradients[0], other) for other in gradients[1:])


def _gradient(network, inputs):
    network.zero_grad()
    output = network(inputs)
    weights = torch.linspace(-1, 1, len(output.log_probabilities))
    ((output.log_probabilities * weights).sum() + output.entropies.sum() + output.values.sum()).backward()
    return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])


@pytest.mark.parametrize("features", [True, False])
def test_half_the_precision_changes_probabilities_a_little_and_values_not_at_all(features, states):
    torch.manual_seed(1)
    network = PatchworkNetwork(NetworkConfig(width=32, depth=2, channels=8, features=features))
    heads = [network.value, network.kind, network.modulation, *([network.placement] if features else [])]
    with torch.no_grad():  # the first weights of the heads are tiny
        for head in heads:
            head.weight.normal_(std=0.3)
            head.bias.normal_(std=0.3)
    (logs, _, values), legal = evaluate(network, states)
    evaluators = NetworkEvaluator(network, torch.float32), NetworkEvaluator(network)
    with torch.no_grad():  # later weights do not matter
        for parameter in network.parameters():
            parameter.add_(1.0)
    exact, quick = (evaluator(states) for evaluator in evaluators)
    for evaluation, precision in ((exact, 1e-4), (quick, 0.15)):
        np.testing.assert_array_equal(evaluation.counts, legal.counts)
        np.testing.assert_array_equal(evaluation.actions, legal.actions)
        np.testing.assert_allclose(evaluation.log_probabilities, logs, atol=precision)
        np.testing.assert_allclose(evaluation.values, values, atol=1e-4)
    np.testing.assert_allclose(sums_by_row(np.exp(quick.log_probabilities), legal.counts), 1, atol=1e-4)
    assert np.abs(quick.log_probabilities - logs).max() > 1e-4
    assert [len(array) for array in NetworkEvaluator(network)(states[:0])] == [0, 0, 0, 0]
