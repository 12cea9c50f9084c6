"""MaskablePPO of NMBR 9, alone for points."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO

from patchwork_env import agents
from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.nmbr9 import Game
from tests.learning.tiny_runs import MASKABLE_PPO_OF_NMBR9


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(MASKABLE_PPO_OF_NMBR9)
    return path


def test_a_run_learns_from_points_and_its_policy_plays(config, tmp_path):
    trainer = make_trainer(load_config(config))
    metrics = trainer.step()
    returns = np.sum(trainer.model.rollout_buffer.rewards, axis=0)
    assert metrics["games/score"] == pytest.approx(returns.mean() / 0.5)
    assert metrics["games/decisions_per_game"] == 20
    while not trainer.is_done:
        trainer.step()
    assert trainer.self_play is None
    trainer.write_final(tmp_path)
    game = Game(seed=3)
    for source in (tmp_path, tmp_path / "model.zip"):
        assert agents.load(source).act(game) == trainer.agent().act(game)
    env = gymnasium.make("patchwork_env:Nmbr9-v0")
    model = MaskablePPO.load(tmp_path / "model.zip", env=env)
    observation, info = env.reset(seed=7)
    action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
    assert info["action_mask"][action]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("maskable_ppo.policy=mlp", "policy is mlp and fixed_opponents .*; NMBR 9 is learned by 'network'"),
        ("maskable_ppo.points=0.0", "maskable_ppo.points is 0: who plays NMBR 9 alone learns from points"),
        ("league.fraction=0.5", "league are for games of several players; NMBR 9 is played alone"),
    ],
)
def test_settings_that_cannot_be_are_refused(config, override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(config, [override])
