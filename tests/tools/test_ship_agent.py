"""The policy of a run becomes an agent of the package, with any algorithm."""

import numpy as np
import yaml

from patchwork_env.agents import checkpoints
from patchwork_env.agents.checkpoints import read_checkpoint, write_checkpoint
from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.value.network import ONE, new_weights, quantized, read_value
from tools import ship_agent


def test_runs_without_rewards_are_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SHIPPED_FOLDER", tmp_path / "shipped")
    final = tmp_path / "run" / "final"
    final.mkdir(parents=True)
    write_checkpoint(final, "nmbr9", "value", {}, {}, {"steps": 7})
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump({"algorithm": "solo_td", "device": "cpu"}))
    info = read_checkpoint(ship_agent.ship(tmp_path / "run", "solo")).info
    assert info["algorithm"] == "solo_td"
    assert info["steps"] == 7
    assert "reward" not in info


def test_rounded_values_of_patchwork_play_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SHIPPED_FOLDER", tmp_path / "shipped")
    final = tmp_path / "run" / "final"
    final.mkdir(parents=True)
    weights = new_weights(1)
    write_weights(final, "patchwork", weights)
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump({"algorithm": "td", "device": "cpu"}))
    shipped = read_value(read_checkpoint(ship_agent.ship(tmp_path / "run", "rounded")))
    assert quantized(shipped) == quantized(weights)
    assert np.array_equal(shipped["features"] * ONE % 1, np.zeros_like(weights["features"]))
