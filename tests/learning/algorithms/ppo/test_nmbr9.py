"""PPO of NMBR 9, alone for points."""

import numpy as np
import pytest

from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.nmbr9 import Game
from tests.learning.tiny_runs import PPO_OF_NMBR9


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(PPO_OF_NMBR9)
    return path


def test_every_point_is_a_reward(config):
    trainer = make_trainer(load_config(config, ["ppo.epochs=1"]))
    rollout = trainer.self_play.collect(trainer.network, {}, 30, trainer.random)
    decisions, scores = rollout.decisions, []
    for i in range(8):
        assert np.flatnonzero(decisions.dones[:, i]).tolist() == [19]
        game, points = Game.from_state(rollout.states[0], i), [0]
        for turn in range(20):
            game.play(rollout.actions[turn, i])
            points.append(game.scores()[0])
        np.testing.assert_allclose(decisions.rewards[:20, i, 0], np.diff(points) / 2)
        scores.append(points[-1])
    assert rollout.statistics["score"] == pytest.approx(np.mean(scores))
    assert decisions.learner_mask.all()
    assert (decisions.bootstrap_values != 0).all()
    assert not rollout.league.games
    for _ in range(trainer.config.league.snapshot_every):
        trainer.step()
    assert not trainer.pool.snapshots  # a single player has none


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ppo.points=0.0", "ppo.points is 0; nmbr9 is learned alone, from points"),
        ("game=patchwork", "ppo.points is 0.5; points are for games that are learned alone"),
        ("league.fraction=0.5", "league are for games of several players; nmbr9 is learned alone"),
        ("reward.margin=1.0", "reward and league are for games of several players"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(config, override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(config, [override])
