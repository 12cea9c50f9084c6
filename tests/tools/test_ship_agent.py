"""The policy of a run becomes an agent of the package, whatever the run's algorithm reads."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from patchwork_env.agents.checkpoints import read_description, write_checkpoint

SCRIPT = Path(__file__).parents[2] / "tools" / "ship_agent.py"


def test_runs_without_rewards_are_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("ship_agent", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    monkeypatch.setattr(tool, "SHIPPED_FOLDER", tmp_path / "shipped")
    final = tmp_path / "run" / "final"
    final.mkdir(parents=True)
    write_checkpoint(final, "nmbr9", "value", {}, {}, {"steps": 7})
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump({"algorithm": "solo_td", "device": "cpu"}))
    info = read_description(tool.ship(tmp_path / "run", "solo"))["info"]
    assert info["algorithm"] == "solo_td"
    assert info["steps"] == 7
    assert "reward" not in info
