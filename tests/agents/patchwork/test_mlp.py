"""Policies of Stable-Baselines3 on disk: they play what they say, and whatever is damaged is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork import mlp, policy
from patchwork_env.agents.patchwork.mlp import MlpAgent, MlpConfig, MlpNetwork, load_policy, write_policy
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.core.files import write_folder
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states

pytestmark = pytest.mark.bounds

SMALL = MlpConfig((20, 12), "tanh")


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(1)
    network = MlpNetwork(SMALL)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


@pytest.fixture
def folder(tmp_path, network):
    """A good checkpoint."""
    folder = tmp_path / "good"
    write_folder(folder, lambda target: write_policy(target, network, {"steps": 5}))
    return folder


def change(folder, **entries):
    path = folder / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


# --- playing ------------------------------------------------------------------------------------------------


def test_round_trip(folder, network):
    loaded, info = load_policy(folder)
    assert (loaded.config, info) == (SMALL, {"steps": 5})
    weights = network.state_dict()
    assert all((tensor == weights[name]).all() for name, tensor in loaded.state_dict().items())
    assert list(weights)[:2] == ["mlp_extractor.policy_net.0.weight", "mlp_extractor.policy_net.0.bias"]
    assert {"action_net.weight", "value_net.bias", "mlp_extractor.value_net.2.bias"} <= set(weights)


def test_it_plays_the_likeliest_legal_action(network):
    states = many_states()[::5]
    actions = MlpAgent(network).act_batch(states)
    for i, action in enumerate(actions):
        game = Game.from_state(states, i)
        with torch.no_grad():
            logits = network.logits(torch.from_numpy(game.observation())[None])[0].numpy()
        legal = game.legal_actions()
        assert action == legal[logits[legal].argmax()]
        assert MlpAgent(network).act(game) == action
    assert len(set(actions.tolist())) > 20


def test_probabilities_are_a_softmax_over_the_legal_actions(network):
    states = many_states()[-50:]
    legal, log_probabilities = MlpAgent(network).policy(states)
    observations = np.stack([Game.from_state(states, i).observation() for i in range(50)])
    with torch.no_grad():
        logits = network.logits(torch.from_numpy(observations))
    begin = 0
    for row, count in enumerate(legal.counts):
        own = slice(begin, begin + count)
        expected = torch.log_softmax(logits[row][legal.actions[own]], 0).numpy()
        np.testing.assert_allclose(log_probabilities[own], expected, atol=1e-5)
        begin += count
    assert begin == len(legal.actions)


def test_samples(folder):
    states = many_states()[:300]
    specs = [f"{folder}:sample=true", f"{folder}:sample=true", str(folder)]
    one, again, likeliest = (agents.load(spec, seed=4) for spec in specs)
    actions = one.act_batch(states)
    assert (actions == again.act_batch(states)).all()
    assert (actions != likeliest.act_batch(states)).mean() > 0.3
    assert all(Game.from_state(states, i).action_mask()[action] for i, action in enumerate(actions))
    later = one.act_batch(states)
    assert (later != actions).any()
    one.reseed(4)
    assert (one.act_batch(states) == actions).all()


def test_games_that_are_over_are_refused(network):
    game = Game(seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    with pytest.raises(ValueError, match="is over"):
        MlpAgent(network).act(game)


def test_no_hidden_layers():
    network = MlpNetwork(MlpConfig(()))
    assert Game(seed=1).action_mask()[MlpAgent(network).act(Game(seed=1))]


@pytest.mark.slow
def test_it_plays_without_stable_baselines3(folder):
    code = (
        "import sys; from patchwork_env import agents; from patchwork_env.patchwork import Game; "
        f"agents.load({str(folder)!r}).act(Game(seed=1)); "
        "assert not {'stable_baselines3', 'sb3_contrib'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# --- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"network": {"net_arch": [20, 12]}}, "it must give net_arch, activation"),
        ({"network": [20]}, "it must give net_arch, activation"),
        ({"network": {"net_arch": "20", "activation": "tanh"}}, "must list the units"),
        ({"network": {"net_arch": [20, 0], "activation": "tanh"}}, "a layer of net_arch is 0"),
        ({"network": {"net_arch": [20, True], "activation": "tanh"}}, "must be an integer, not True"),
        ({"network": {"net_arch": [20, 12], "activation": "gelu"}}, "allowed are 'relu', 'tanh'"),
        ({"network": {"net_arch": [20, 12], "activation": ["tanh"]}}, "allowed are 'relu', 'tanh'"),
        ({"network": {"net_arch": [20, 13], "activation": "tanh"}}, "does not hold the weights"),
        ({"policy": "dqn"}, "'dqn'; this library plays of those for patchwork: 'network', 'maskable_ppo'"),
        ({"policy": ["dqn"]}, "['dqn'], not a kind's name"),
        ({"policy": "network"}, "it must give width, depth, channels"),
    ],
)
def test_damaged_descriptions(folder, entries, message):
    change(folder, **entries)
    with pytest.raises(ValueError, match=str(folder)) as caught:
        agents.load(folder)
    assert message in str(caught.value)


def test_kinds_of_policies_are_not_mixed_up(folder, tmp_path):
    other = tmp_path / "other"
    policy.save_policy(other, PatchworkNetwork(NetworkConfig(8, 1, 4)))
    with pytest.raises(ValueError, match="'maskable_ppo'; it must be 'network'"):
        policy.load_policy(folder)
    with pytest.raises(ValueError, match="'network'; it must be 'maskable_ppo'"):
        mlp.load_policy(other)


def test_missing_weights(folder):
    (folder / "weights.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"weights\.safetensors is missing"):
        agents.load(folder)


def test_it_does_not_plan(folder):
    with pytest.raises(ValueError, match="has no option 'simulations'; its options: sample"):
        agents.load(f"{folder}:simulations=16")
