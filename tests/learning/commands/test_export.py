"""The command that exports a policy."""

import sys

import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.checkpoints import read_checkpoint
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import save_policy
from patchwork_env.agents.patchwork.policy import onnx_export
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.learning.commands import export
from patchwork_env.learning.evaluation.matches import play_matches
from tests.agents.positions import many_states


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "network"
    torch.manual_seed(2)
    save_policy(folder, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4, features=False)))
    return folder


@pytest.mark.slow
def test_the_file_plays_like_the_checkpoint(checkpoint, tmp_path, capsys):
    out = tmp_path / "policy.onnx"
    out.write_text("an older one")
    assert export.main([str(checkpoint), "--out", str(out), "--overwrite"]) == 0
    assert str(out) in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["policy.onnx"]
    exported, original = agents.load(out), agents.load(checkpoint)
    assert exported.name == "policy.onnx"
    states = many_states()
    assert exported.act_batch(states).tolist() == original.act_batch(states).tolist()
    # Where both sides play the same, the two games of a pair are one and the same, from the other seat.
    games = play_matches(str(out), str(checkpoint), 20).games
    assert (games.scores[0::2] == games.scores[1::2, ::-1]).all()


def test_the_command_exports_the_network_with_its_record(checkpoint, tmp_path, capsys, monkeypatch):
    exported, out = [], tmp_path / "policy.onnx"
    monkeypatch.setattr(onnx_export, "policy_to_onnx", lambda *two: exported.extend(two) or bytes(1_234_567))
    assert export.main([str(checkpoint), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 1.23 MB, the policy of {checkpoint}\n"
    assert out.read_bytes() == bytes(1_234_567)
    assert [type(exported[0]), exported[1]] == [PatchworkNetwork, read_checkpoint(checkpoint).info]


def test_what_cannot_be_exported_is_an_error_before_anything_is_done(tmp_path, capsys):
    (tmp_path / "folder.onnx").mkdir()
    refused = "cannot be exported; give the checkpoint of a policy"
    for spec, out, message in (
        ("greedy", "policy.onnx", f"'greedy' {refused}"),
        ("ppo-quick:sample=true", "policy.onnx", f"'ppo-quick:sample=true' {refused}"),
        ("ppo-quick:simulations=4", "policy.onnx", f"'ppo-quick:simulations=4' {refused}"),
        (str(tmp_path), "policy.onnx", f"the folder '{tmp_path}' is not a checkpoint"),
        ("none", "policy.pt", "its name must end with .onnx"),
        ("none", "missing/policy.onnx", "there is no folder"),
        ("none", "folder.onnx", "is a folder"),
    ):
        assert export.main([spec, "--out", str(tmp_path / out)]) == 2
        assert message in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["folder.onnx"]


def test_without_onnx_an_error_says_what_to_install(checkpoint, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.agents.patchwork.policy.onnx_export", raising=False)
    assert export.main([str(checkpoint), "--out", str(tmp_path / "policy.onnx")]) == 2
    assert "need onnx: pip install onnx" in capsys.readouterr().err
