"""Policies as ONNX files: they equal the network, and their agent needs no PyTorch and validates files.

An export takes many seconds, so the agent is tested with a small handmade model.
"""

import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from patchwork_env import agents
from patchwork_env.agents.base import views_of
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.agents.patchwork.policy.dense import DensePolicy
from patchwork_env.agents.patchwork.policy.features import NUM_KINDS
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.agents.patchwork.policy.onnx_agent import FORMAT, OUTPUTS, OnnxAgent
from patchwork_env.agents.patchwork.policy.onnx_export import policy_to_onnx
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states

SMALL = NetworkConfig(width=24, depth=2, channels=8)
WEIGHTS = np.random.default_rng(1).normal(size=(307, 2026)).astype(np.float32)


def new_network(config=SMALL):
    """A network with random weights in all parts; a new one is nearly uniform."""
    torch.manual_seed(3)
    network = PatchworkNetwork(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network.eval()


@pytest.fixture(scope="module")
def states():
    return np.concatenate([many_states(seed) for seed in (3, 4, 5)])


# --- what is exported ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_exported_policy_is_the_network(states):
    """The file describes itself and holds its weights; the network does not change."""
    network = new_network()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.train()
    model = policy_to_onnx(network, {"algorithm": "ppo"})
    assert network.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    network.eval()
    proto = onnx.load_from_string(model)
    assert not any(tensor.external_data for tensor in proto.graph.initializer)
    properties = {entry.key: entry.value for entry in proto.metadata_props}
    assert (properties["version"], properties["info"]) == ("1", '{"algorithm": "ppo"}')
    assert "most probable placement" in properties["choice"]
    exported = OnnxAgent(model, "small")
    chosen = exported.act_batch(states)
    assert chosen.tolist() == PolicyAgent(network).act_batch(states).tolist()
    assert set(PatchworkNetwork.kinds_of(chosen).tolist()) == set(range(NUM_KINDS))
    inputs, legal = PatchworkNetwork.encode(states)
    with torch.inference_mode():
        expected = network(inputs)
    log_probabilities, values = exported._run(states, "log_probabilities", "value")
    of_legal = log_probabilities[legal.rows, legal.actions]
    np.testing.assert_allclose(of_legal, expected.log_probabilities.numpy(), atol=1e-4, rtol=0)
    np.testing.assert_allclose(values, expected.values.numpy(), atol=1e-4, rtol=0)
    assert np.isneginf(log_probabilities).sum(axis=1).tolist() == (2026 - legal.counts).tolist()


@pytest.mark.parametrize("reads", [{"features": False}, {"channels": 0}, {"channels": 0, "offers": True}, {}])
def test_the_dense_policy_is_the_network_in_pytorch_too(states, reads):
    network, states = new_network(SMALL.model_copy(update=reads)), states[::15]
    observations, masks = map(torch.from_numpy, views_of(states))
    with torch.inference_mode():
        actions, dense, values = DensePolicy(network)(observations, masks)
        inputs, legal = PatchworkNetwork.encode(states)
        expected = network(inputs)
    np.testing.assert_allclose(dense[legal.rows, legal.actions], expected.log_probabilities, atol=1e-4)
    assert dense.isneginf().sum(1).tolist() == (2026 - legal.counts).tolist()
    np.testing.assert_allclose(values, expected.values, atol=1e-6)
    assert actions.tolist() == PolicyAgent(network).act_batch(states).tolist()


# --- the agent ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    """One layer: a softmax over the legal actions, and the mean of the observation as the value."""
    sizes = {"observation": (TensorProto.FLOAT, 307), "action_mask": (TensorProto.INT8, 2026)}
    results = {"action": (TensorProto.INT64,), "log_probabilities": (TensorProto.FLOAT, 2026)}
    results["value"] = (TensorProto.FLOAT,)
    inputs, outputs = (
        [helper.make_tensor_value_info(name, kind, ["n", *shape]) for name, (kind, *shape) in of.items()]
        for of in (sizes, results)
    )
    nodes = [
        helper.make_node("MatMul", ["observation", "weights"], ["scores"]),
        helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", "scores", "never"], ["masked"]),
        helper.make_node("LogSoftmax", ["masked"], ["log_probabilities"]),
        helper.make_node("ArgMax", ["masked"], ["action"], axis=1, keepdims=0),
        helper.make_node("ReduceMean", ["observation", "columns"], ["value"], keepdims=0),
    ]
    constants = {"weights": WEIGHTS, "never": np.float32(-np.inf), "columns": np.array([1])}
    stored = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, stored)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    helper.set_model_props(proto, {"format": FORMAT, "version": "1", "game": "patchwork"})
    return proto.SerializeToString()


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "small.onnx"
    path.write_bytes(model)
    return path


def test_batches_of_any_size_are_evaluated(model, states):
    agent, states = OnnxAgent(model), states[:300]  # more than are evaluated at once
    observations, masks = views_of(states)
    scores = np.where(masks, observations @ WEIGHTS, -np.inf)
    assert agent.act_batch(states).tolist() == scores.argmax(1).tolist()
    assert agent.act(Game.from_state(states, 7)) == scores[7].argmax()
    found, values = agent._run(states, "log_probabilities", "value")
    scores -= scores.max(1, keepdims=True)
    np.testing.assert_allclose(found, scores - np.log(np.exp(scores).sum(1, keepdims=True)), atol=1e-4)
    np.testing.assert_allclose(values, observations.mean(1), atol=1e-6)
    assert [len(array) for array in agent._run(states[:0], *OUTPUTS)] == [0, 0, 0]
    options = agent.workspace().get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_sampling_follows_the_policy(file):
    game, (agent, again) = Game(seed=2), (agents.load(f"{file}:sample=true", seed=5) for _ in range(2))
    copies = copy.deepcopy(agent), pickle.loads(pickle.dumps(agent)), again
    drawn = agent.act_batch(np.repeat(game.state, 2000))
    assert all(twin.act_batch(np.repeat(game.state, 50)).tolist() == drawn[:50].tolist() for twin in copies)
    expected = np.exp(agent._run(game.state, "log_probabilities")[0][0].astype(np.float64))
    frequencies = np.bincount(drawn, minlength=2026) / len(drawn)
    errors = np.sqrt(expected * (1 - expected) / len(drawn))
    assert (np.abs(frequencies - expected) <= 5 * errors + 1e-3).all()


@pytest.mark.slow
def test_it_plays_without_pytorch(file):
    code = (
        "import sys; sys.modules['torch'] = None\n"  # an import of it would fail
        "import gymnasium; from patchwork_env import agents; from patchwork_env.patchwork import Game\n"
        f"print(agents.load({str(file)!r}).act(Game(seed=4)))\n"
        f"env = gymnasium.make('patchwork_env:Patchwork-v0', opponent={str(file)!r}, seat=1)\n"
        "env.reset(seed=4)\n"
        "print(env.unwrapped.opponent.name, sys.modules['torch'], 'onnx' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = agents.load(file).act(Game(seed=4))
    assert done.stdout.splitlines() == [str(expected), "small.onnx None False"]


# --- what is refused ----------------------------------------------------------------------------------------


def test_specs_that_are_refused(file, tmp_path):
    (tmp_path / "folder.onnx").mkdir()
    missing = tmp_path / "missing.onnx"
    for spec, error, message in (
        (missing, FileNotFoundError, re.escape(f"no ONNX file at '{missing}'")),
        (tmp_path / "folder.onnx", FileNotFoundError, r"is not a checkpoint: it has no checkpoint\.json"),
        (f"{file}:temperature=2", ValueError, "has no option 'temperature'; its options: sample"),
    ):
        with pytest.raises(error, match=message):
            agents.load(spec)


def test_a_damaged_file_is_an_error_that_names_it(model, tmp_path):
    path, renamed = tmp_path / "damaged.onnx", model.replace(b"observation", b"\xffbservation")
    for damaged in (b"", b"no model", model[: len(model) // 2], renamed):
        path.write_bytes(damaged)
        reason = "a name in it is not UTF-8" if damaged is renamed else ".*protobuf"
        with pytest.raises(ValueError, match=rf"damaged\.onnx is not an ONNX model .* reads: {reason}"):
            agents.load(path)


def test_a_model_of_another_kind_is_an_error(model):
    for key, value, message in (
        ("format", "yolo", "format 'yolo'; it must be 'patchwork_env policy'"),
        ("version", "2", "version '2'; it must be '1'"),
        ("game", "nmbr9", "game 'nmbr9'; it must be 'patchwork'"),
    ):
        proto = onnx.load_from_string(model)
        properties = {entry.key: entry.value for entry in proto.metadata_props}
        helper.set_model_props(proto, {**properties, key: value})
        with pytest.raises(ValueError, match=message):
            OnnxAgent(proto.SerializeToString(), "other")
    proto = onnx.load_from_string(model)
    del proto.graph.output[1]
    with pytest.raises(ValueError, match=r"the outputs \['action', 'value'\]; they must include .*'log_prob"):
        OnnxAgent(proto.SerializeToString(), "other")
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "picture"
    proto.graph.node[-1].input[0] = "picture"
    with pytest.raises(ValueError, match=r"has the inputs .*picture.*; they must be"):
        OnnxAgent(proto.SerializeToString(), "other")


class _Foreign:
    """A model with given results."""

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
        (False, (np.array([2**62]),), "chooses action 4611686018427387904, which is not legal"),
        (True, (np.zeros((1, 7), np.float32),), r"gives as log_probabilities float32 \(1, 7\)"),
        (True, (np.resize(np.float32([0, np.nan]), (1, 2026)),), "probabilities that are not numbers"),
    ],
)
def test_results_of_a_model_are_validated(model, sample, results, message):
    agent = OnnxAgent(model, "foreign", sample=sample, seed=1)
    agent._workspace = _Foreign(*results)
    with pytest.raises(ValueError, match=message):
        agent.act(Game(seed=1))
