"""Policies of Stable-Baselines3: they play what they say, and their files are checkpoints."""

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.base import views_of
from patchwork_env.agents.patchwork.policy.mlp import MlpAgent, MlpConfig, MlpNetwork, write_policy
from patchwork_env.core.files import write_folder
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states

SMALL = MlpConfig(net_arch=(20, 12), activation="tanh")


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    network = MlpNetwork(SMALL)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


def test_it_plays_the_likeliest_action_of_a_softmax_over_the_legal_ones(network):
    states = many_states()[::5]
    observations, masks = map(torch.from_numpy, views_of(states))
    with torch.no_grad():
        _, log_probabilities, values = network(observations, masks)
        logits = network.logits(observations)
        assert torch.equal(values, network.values(observations))
    actions = MlpAgent(network).act_batch(states)
    for i, action in enumerate(actions):
        legal = Game.from_state(states, i).legal_actions()
        assert action == legal[logits[i][legal].argmax()]
        expected = torch.log_softmax(logits[i][legal], 0)
        np.testing.assert_allclose(log_probabilities[i][legal], expected, atol=1e-5)
        assert torch.isneginf(log_probabilities[i]).sum() == 2026 - len(legal)
    assert len(set(actions.tolist())) > 20


@pytest.mark.bounds
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"net_arch": ...}, "it must give net_arch, activation"),
        ({"net_arch": "20"}, "valid (tuple|integer)"),
        ({"net_arch": 20}, "valid tuple"),
        ({"net_arch": [20, 0]}, r"net_arch\.1 is 0: .* greater than or equal to 1"),
        ({"net_arch": [20, True]}, "valid (tuple|integer)"),
        ({"net_arch": [20] * 1000}, "at most 256 items"),
        ({"activation": "gelu"}, "activation"),
        ({"activation": ["tanh"]}, "activation"),
        ({"net_arch": [20, 13]}, "does not hold the weights"),
    ],
)
def test_damaged_descriptions(network, tmp_path, changes, message):
    write_folder(tmp_path / "mine", lambda target: write_policy(target, network))
    path = tmp_path / "mine" / "checkpoint.json"
    description = json.loads(path.read_text())
    sizes = {**description["network"], **changes}
    description["network"] = {name: size for name, size in sizes.items() if size is not ...}
    path.write_text(json.dumps(description))
    with pytest.raises(ValueError, match=message):
        agents.load(tmp_path / "mine")
