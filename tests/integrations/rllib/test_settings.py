"""What can be said of RLlib's runs where Ray is not installed: their configurations, and what is missing."""

from __future__ import annotations

import sys

import pytest

from patchwork_env.errors import ConfigError
from patchwork_env.learning.commands.train import main
from patchwork_env.learning.config import CONFIGS, load_config

NAMES = ["rllib_ppo", "rllib_ppo_quick", "rllib_nmbr9"]


@pytest.mark.parametrize("name", NAMES)
def test_configurations_that_come_along(name):
    config = load_config(CONFIGS / f"{name}.yaml")
    assert config.algorithm == "rllib_ppo"
    assert load_config(CONFIGS / f"{name}.yaml", ["cluster.workers=3"]).cluster.workers == 3


@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        ("rllib_ppo", "rllib_ppo.players=3", "other numbers than 2 are for NMBR 9"),
        ("rllib_ppo", "rllib_ppo.points=1.0", "points are for NMBR 9 alone"),
        ("rllib_ppo", "rllib_ppo.minibatch_size=9999", "minibatch_size is 9999, and batch_size 4096"),
        ("rllib_ppo", "reward={outcome: 0.0, margin: 0.0}", "there would be nothing to learn"),
        ("rllib_nmbr9", "rllib_ppo.points=0.0", "who plays NMBR 9 alone learns from points"),
        ("rllib_nmbr9", "rllib_ppo.players=5", "less than or equal to 4"),
    ],
)
def test_settings_that_cannot_be_are_refused(name, override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(CONFIGS / f"{name}.yaml", [override])


def test_without_ray_a_run_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("patchwork_env.integrations.rllib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    arguments = ["--config", CONFIGS / "rllib_ppo_quick.yaml", "--run-dir", tmp_path / "run"]
    assert main(list(map(str, arguments))) == 2
    said = capsys.readouterr().err
    assert "rllib_ppo needs ray" in said
    assert "pip install 'ray[rllib]'" in said
    assert not (tmp_path / "run").exists()
