"""The command that exports a policy."""

import sys

import onnxruntime
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.patchwork.policy import mlp
from patchwork_env.agents.patchwork.policy.agent import save_policy
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.core.files import write_folder
from patchwork_env.learning.commands import export
from patchwork_env.learning.evaluation.matches import play_matches
from tests.agents.positions import many_states


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """One for each kind of policy."""
    base = tmp_path_factory.mktemp("run")
    torch.manual_seed(2)
    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4, features=False))
    save_policy(base / "network", network, {"steps": 7})
    perceptron = mlp.MlpNetwork(mlp.MlpConfig(net_arch=(8,)))
    write_folder(base / "maskable_ppo", lambda folder: mlp.write_policy(folder, perceptron, {"steps": 7}))
    return base


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "choice"), [("network", "most probable placement"), ("maskable_ppo", "the most probable action")]
)
def test_the_file_plays_like_the_checkpoint(checkpoints, tmp_path, capsys, kind, choice):
    checkpoint, out = checkpoints / kind, tmp_path / "policy.onnx"
    out.write_text("an older one")
    assert export.main([str(checkpoint), "--out", str(out), "--overwrite"]) == 0
    assert str(out) in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["policy.onnx"]
    exported, original = agents.load(out), agents.load(checkpoint)
    assert exported.name == "policy.onnx"
    properties = onnxruntime.InferenceSession(out).get_modelmeta().custom_metadata_map
    assert properties["info"] == '{"steps": 7}'
    assert choice in properties["choice"]
    states = many_states()
    assert exported.act_batch(states).tolist() == original.act_batch(states).tolist()
    # Where both sides play the same, the two games of a pair are one and the same, from the other seat.
    games = play_matches(str(out), str(checkpoint), 20).games
    assert (games.scores[0::2] == games.scores[1::2, ::-1]).all()


def test_what_cannot_be_exported_is_an_error_before_anything_is_done(tmp_path, capsys):
    (tmp_path / "folder.onnx").mkdir()
    refused = "cannot be exported; give the checkpoint of a policy"
    for spec, out, message in (
        ("greedy", "policy.onnx", f"'greedy' {refused}"),
        ("ppo-quick:sample=true", "policy.onnx", f"'ppo-quick:sample=true' {refused}"),
        ("ppo-quick:simulations=4", "policy.onnx", f"'ppo-quick:simulations=4' {refused}"),
        (str(tmp_path), "policy.onnx", f"the folder '{tmp_path}' is no checkpoint"),
        ("none", "policy.pt", "its name must end with .onnx"),
        ("none", "missing/policy.onnx", "there is no folder"),
        ("none", "folder.onnx", "is a folder"),
    ):
        assert export.main([spec, "--out", str(tmp_path / out)]) == 2
        assert message in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["folder.onnx"]


def test_without_onnx_an_error_says_what_to_install(checkpoints, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.agents.patchwork.policy.onnx_export", raising=False)
    assert export.main([str(checkpoints / "network"), "--out", str(tmp_path / "policy.onnx")]) == 2
    assert "need onnx: pip install onnx" in capsys.readouterr().err
