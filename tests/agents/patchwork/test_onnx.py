"""Exported policies: the same moves, probabilities and values as the network's, without PyTorch."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dense import DensePolicy
from patchwork_env.agents.patchwork.onnx_agent import FORMAT, INPUTS, OUTPUTS, OnnxAgent
from patchwork_env.agents.patchwork.onnx_export import policy_to_onnx
from patchwork_env.agents.patchwork.policy import PolicyAgent
from patchwork_env.agents.patchwork.policy_features import NUM_KINDS
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import many_states

SMALL = NetworkConfig(width=24, depth=2, channels=8)


def new_network(config):
    """A network of which all parts matter; a fresh one is nearly uniform."""
    torch.manual_seed(3)
    network = PatchworkNetwork(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network.eval()


@pytest.fixture(scope="module")
def network():
    return new_network(SMALL)


@pytest.fixture(scope="module")
def model(network):
    """The network as a model, whose making leaves the network as it was."""
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.train()
    contents = policy_to_onnx(network, {"algorithm": "ppo"})
    assert network.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    network.eval()
    return contents


@pytest.fixture(scope="module")
def exported(model):
    return OnnxAgent(model, "small")


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "small.onnx"
    path.write_bytes(model)
    return path


@pytest.fixture(scope="module")
def states():
    return np.concatenate([many_states(seed) for seed in (3, 4, 5)])


def changed(model, **properties):
    """The same model with other metadata."""
    proto = onnx.load_from_string(model)
    values = {entry.key: entry.value for entry in proto.metadata_props}
    onnx.helper.set_model_props(proto, {**values, **properties})
    return proto.SerializeToString()


# --- the model --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_model_is_valid_and_says_what_it_is(model):
    proto = onnx.load_from_string(model)
    onnx.checker.check_model(proto, full_check=True)
    assert [node.name for node in proto.graph.input] == list(INPUTS)
    assert [node.name for node in proto.graph.output] == list(OUTPUTS)
    properties = {entry.key: entry.value for entry in proto.metadata_props}
    assert properties["format"] == FORMAT
    assert properties["version"] == "1"
    assert properties["game"] == "patchwork"
    assert properties["info"] == '{"algorithm": "ppo"}'
    assert "most probable placement" in properties["choice"]


def test_the_weights_are_in_the_file(model, network):
    assert len(model) > 4 * sum(parameter.numel() for parameter in network.parameters())
    proto = onnx.load_from_string(model)
    assert not any(tensor.external_data for tensor in proto.graph.initializer)


def test_the_same_moves(network, exported, states):
    _, legal = PatchworkNetwork.encode(states)
    assert len(states) > 1000
    assert (states["pending_special"] == 1).sum() > 100
    assert (states["first_finisher"] != NOBODY).sum() > 60
    chosen = exported.act_batch(states)
    assert chosen.dtype == np.int64
    assert chosen.tolist() == PolicyAgent(network).act_batch(states).tolist()
    assert set(PatchworkNetwork.kinds_of(chosen).tolist()) == set(range(NUM_KINDS))
    assert set(PatchworkNetwork.kinds_of(legal.actions).tolist()) == set(range(NUM_KINDS))


def test_the_same_probabilities_and_values(network, exported, states):
    inputs, legal = PatchworkNetwork.encode(states)
    with torch.inference_mode():
        expected = network(inputs)
    log_probabilities, values = exported.evaluate(states)
    assert log_probabilities.shape == (len(states), 2026)
    of_legal = log_probabilities[legal.rows, legal.actions]
    np.testing.assert_allclose(of_legal, expected.log_probabilities.numpy(), atol=1e-4, rtol=0)
    np.testing.assert_allclose(values, expected.values.numpy(), atol=1e-4, rtol=0)
    assert np.isneginf(log_probabilities).sum(axis=1).tolist() == (2026 - legal.counts).tolist()
    np.testing.assert_allclose(np.exp(log_probabilities).sum(axis=1), 1, atol=1e-4)


def test_whole_games_are_the_same(network, exported):
    learned = PolicyAgent(network)
    for seed in range(3):
        game = Game(seed=seed, special_patches="2014" if seed else "revised")
        while not game.is_over:
            action = exported.act(game)
            assert action == learned.act(game)
            game.play(action)


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_any_size_of_batch_gives_the_same(exported, states, size):
    some = states[:300]
    whole, values = exported.evaluate(some)
    parts = [exported.evaluate(some[i : i + size]) for i in range(0, 300, size)]
    np.testing.assert_allclose(np.concatenate([part[0] for part in parts]), whole, atol=1e-4, rtol=0)
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), values, atol=1e-4, rtol=0)
    moves = [exported.act_batch(some[i : i + size]) for i in range(0, 300, size)]
    assert np.concatenate(moves).tolist() == exported.act_batch(some).tolist()


def test_an_empty_batch(exported, states):
    assert len(exported.act_batch(states[:0])) == 0
    assert [len(array) for array in exported.evaluate(states[:0])] == [0, 0]


@pytest.mark.parametrize("reads", [{"features": False}, {"channels": 0}, {"channels": 0, "offers": True}, {}])
def test_the_dense_policy_is_the_network_in_pytorch_too(exported, states, reads):
    network, states = new_network(replace(SMALL, **reads)), states[::5]
    observations, masks = map(torch.from_numpy, exported.feed(states).values())
    with torch.inference_mode():
        _, dense, values = DensePolicy(network)(observations, masks)
        inputs, legal = PatchworkNetwork.encode(states)
        expected = network(inputs)
    np.testing.assert_allclose(dense[legal.rows, legal.actions], expected.log_probabilities, atol=1e-4)
    np.testing.assert_allclose(values, expected.values, atol=1e-6)


# --- the agent --------------------------------------------------------------------------------------------


def test_sampling_follows_the_policy(file, exported):
    game = Game(seed=2)
    first, same, other = (agents.load(f"{file}:sample=true", seed=seed) for seed in (5, 5, 6))
    few, states = np.repeat(game.state, 50), np.repeat(game.state, 2000)
    expected = first.act_batch(few).tolist()
    assert same.act_batch(few).tolist() == expected
    assert other.act_batch(few).tolist() != expected
    drawn = first.act_batch(states)
    expected = np.exp(exported.evaluate(game.state)[0][0].astype(np.float64))
    frequencies = np.bincount(drawn, minlength=2026) / len(drawn)
    assert frequencies[expected == 0].sum() == 0
    errors = np.sqrt(expected * (1 - expected) / len(drawn))
    assert (np.abs(frequencies - expected) <= 5 * errors + 1e-3).all()


def test_copies_and_pickles_play_the_same(file, states):
    states = states[::10]
    agent = agents.load(f"{file}:sample=true", seed=3)
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    expected = agent.act_batch(states).tolist()
    for other in copies:
        assert other.name == "small.onnx"
        assert other.act_batch(states).tolist() == expected


def test_a_game_that_is_over_is_an_error(exported):
    game = Game(seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    for call in (lambda: exported.act(game), lambda: exported.evaluate(game.state)):
        with pytest.raises(ValueError, match="the game is over"):
            call()


def test_it_plays_without_pytorch(file):
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"  # an import of it would fail
        "import gymnasium\n"
        "from patchwork_env import agents\n"
        "from patchwork_env.patchwork import Game\n"
        f"print(agents.load({str(file)!r}).act(Game(seed=4)))\n"
        f"env = gymnasium.make('patchwork_env:Patchwork-v0', opponent={str(file)!r}, seat=1)\n"
        "env.reset(seed=4)\n"
        "print(env.unwrapped.opponent.name, sys.modules['torch'], 'onnx' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = agents.load(file).act(Game(seed=4))
    assert done.stdout.splitlines() == [str(expected), "small.onnx None False"]


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(f"no ONNX file at '{tmp_path / 'missing.onnx'}'")):
        agents.load(tmp_path / "missing.onnx")
    folder = tmp_path / "folder.onnx"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"is no checkpoint: it holds no checkpoint\.json"):
        agents.load(folder)


def test_a_wrong_option_is_an_error_that_says_what_is_allowed(file):
    with pytest.raises(ValueError, match="has no option 'temperature'; its options: sample"):
        agents.load(f"{file}:temperature=2")


@pytest.mark.parametrize("damage", [lambda m: b"", lambda m: b"no model", lambda m: m[: len(m) // 2]])
def test_a_damaged_file_is_an_error_that_names_it(model, tmp_path, damage):
    path = tmp_path / "damaged.onnx"
    path.write_bytes(damage(model))
    with pytest.raises(ValueError, match=r"damaged\.onnx is no ONNX model that onnxruntime reads"):
        agents.load(path)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"format": "yolo"}, "format 'yolo'; it must be 'patchwork_env policy'"),
        ({"version": "2"}, "version '2'; it must be '1'"),
        ({"game": "nmbr9"}, "game 'nmbr9'; it must be 'patchwork'"),
    ],
)
def test_a_model_of_something_else_is_an_error_that_says_what(model, properties, message):
    with pytest.raises(ValueError, match=message):
        OnnxAgent(changed(model, **properties), "other")


def test_a_model_with_other_inputs_is_an_error_that_names_them(model):
    proto = onnx.load_from_string(model)
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 308
    proto.graph.ClearField("value_info")
    with pytest.raises(ValueError, match=r"308|onnxruntime reads"):
        OnnxAgent(proto.SerializeToString(), "other")


class _Foreign:
    """A model that computes whatever it likes."""

    def __init__(self, *results):
        self._results = results

    def run(self, outputs, feed):
        if not self._results:
            raise RuntimeError("Non-zero status code returned while running Gather node")
        return self._results


@pytest.mark.parametrize(
    ("sample", "results", "message"),
    [
        (False, (), "cannot be evaluated: .*Gather"),
        (False, (np.array(5),), r"gives as action int64 \(\), not int64 \('n',\)"),
        (False, (np.array([5.0]),), "gives as action float64"),
        (False, (np.array([2025]),), "chooses action 2025, which is not legal"),
        (False, (np.array([2**62]),), "chooses action 4611686018427387904, which is not legal"),
        (True, (np.zeros((1, 7), np.float32),), r"gives as log_probabilities float32 \(1, 7\)"),
        (True, (np.full((1, 2026), np.nan, np.float32),), "probabilities that are no numbers"),
    ],
)
def test_what_a_foreign_model_computes_is_checked(model, sample, results, message):
    agent = OnnxAgent(model, "foreign", sample=sample, seed=1)
    agent._workspace = _Foreign(*results)
    with pytest.raises(ValueError, match=message):
        agent.act(Game(seed=1))
