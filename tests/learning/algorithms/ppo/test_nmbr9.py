"""PPO of NMBR 9, alone for points."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import CONFIGS, load_config
from patchwork_env.nmbr9 import Game
from tests.learning.same_runs import check_restored_trainer

TINY = """
game: nmbr9
algorithm: ppo
total_steps: 480
threads: 1
seed: 5
network: {width: 16, depth: 1, channels: 0}
ppo: {num_envs: 8, rollout_steps: 30, minibatch_size: 64, points: 0.5}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(TINY)
    return path


def test_every_point_is_a_reward(config):
    trainer = make_trainer(load_config(config))
    rollout = trainer.self_play.collect(trainer.network, {}, 30, trainer.random)
    decisions, scores = rollout.decisions, []
    for i in range(8):
        assert np.flatnonzero(decisions.ends[:, i]).tolist() == [19]
        game, gained = Game.from_state(rollout.states[0], i), []
        for turn in range(20):
            before = game.scores()[0]
            game.play(rollout.actions[turn, i])
            gained.append(game.scores()[0] - before)
        np.testing.assert_allclose(decisions.rewards[:20, i, 0], np.array(gained) / 2)
        scores.append(sum(gained))
    assert rollout.statistics["score"] == pytest.approx(np.mean(scores))
    assert decisions.learning.all()
    assert (decisions.last_values != 0).all()
    assert not rollout.league.games


def test_a_run_learns_and_its_policy_plays(config, tmp_path):
    trainer = make_trainer(load_config(config))
    for _ in range(2):
        metrics = trainer.step()
    assert trainer.is_done
    assert metrics["games/score"] >= 0
    assert not trainer.pool.snapshots
    folder = tmp_path / "policy"
    folder.mkdir()
    trainer.write_policy(folder)
    game = Game(seed=3)
    assert agents.load(folder).act(game) == trainer.agent().act(game)


def test_restored_trainer_goes_on_as_the_saved_one(config):
    check_restored_trainer(config)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.points=0.0", "ppo.points is 0: who plays NMBR 9 alone learns from points"),
        ("game=patchwork", "ppo.points is 0.5; points are for NMBR 9 alone"),
        ("league.fraction=0.5", "league are for games of several players; NMBR 9 is played alone"),
        ("reward.margin=1.0", "reward and league are for games of several players"),
    ],
)
def test_settings_that_cannot_be_are_refused(config, override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(config, [override])


def test_the_configuration_that_comes_along_is_valid():
    config = load_config(CONFIGS / "nmbr9_ppo.yaml")
    assert (config.game, config.algorithm) == ("nmbr9", "ppo")
