"""The command that exports a policy."""

from __future__ import annotations

import sys

import pytest

from patchwork_env import agents
from patchwork_env.agents.checkpoint import save_policy
from patchwork_env.agents.network import NetworkConfig, PatchworkNetwork
from training import export
from training.matches import play_matches


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    save_policy(folder, PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)), {"steps": 7})
    return folder


def test_the_file_plays_like_the_checkpoint(checkpoint, tmp_path, capsys):
    out = tmp_path / "policy.onnx"
    out.write_text("an older one")
    assert export.main([str(checkpoint), "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert agents.load(out).name == "policy.onnx"
    assert [path.name for path in tmp_path.iterdir()] == ["policy.onnx"]
    for opponent in (str(checkpoint), str(out)):
        games = play_matches(str(out), opponent, 20).games
        # Both sides play the same: the two games of a pair are one and the same, from the other seat.
        assert (games.scores[0::2] == games.scores[1::2, ::-1]).all()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("policy.pt", "its name must end with .onnx"),
        ("missing/policy.onnx", "there is no folder"),
        ("folder.onnx", "is a folder"),
    ],
)
def test_a_wrong_name_is_an_error_before_anything_is_done(tmp_path, capsys, out, message):
    (tmp_path / "folder.onnx").mkdir()
    assert export.main([str(tmp_path / "no_checkpoint"), "--out", str(tmp_path / out)]) == 2
    assert message in capsys.readouterr().err


def test_no_checkpoint_is_an_error_that_names_it(tmp_path, capsys):
    assert export.main([str(tmp_path), "--out", str(tmp_path / "policy.onnx")]) == 2
    assert f"{tmp_path} is no checkpoint" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_onnx_an_error_says_what_to_install(checkpoint, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "patchwork_env.agents.onnx_export", raising=False)
    assert export.main([str(checkpoint), "--out", str(tmp_path / "policy.onnx")]) == 2
    assert "exports need onnx: pip install 'patchwork-env[export]'" in capsys.readouterr().err
