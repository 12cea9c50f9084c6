"""What holds for runs of every algorithm, from the command to the policy that plays."""

import json

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.games import rules_of
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from tests.learning.same_runs import check_resumed_run, metrics_of, start_run
from tests.learning.tiny_runs import TINY_RUNS


@pytest.fixture(scope="module", params=TINY_RUNS)
def config(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(TINY_RUNS[request.param])
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    run = tmp_path_factory.mktemp("runs") / "tiny"
    assert start_run(config, run) == 0
    return run


def test_a_run_has_metrics_up_to_its_end_and_its_policy_plays(config, finished):
    settings, lines = load_config(config), metrics_of(finished)
    iterations = [line for line in lines if "losses/loss" in line]
    steps = [line["steps"] for line in iterations]
    assert len(steps) >= 4
    assert min(np.diff([0, *steps])) > 0
    assert steps[-2] < settings.total_steps <= steps[-1]
    assert all(np.isfinite(list(line.values())).all() for line in iterations)
    assert all(line["time/steps_per_second"] > 0 for line in iterations)
    assert any("games/score" in line for line in lines)
    evaluated = [line["steps"] for line in lines if "evaluation/win_rate_against_random" in line]
    assert (evaluated[0], evaluated[-1]) == (steps[2], steps[-1])
    description = json.loads((finished / "final" / "checkpoint.json").read_text())
    assert description["game"] == settings.game
    assert description["info"]["algorithm"] == settings.algorithm
    assert description["info"]["steps"] == steps[-1]
    game = rules_of(settings.game).game(seed=3)
    assert agents.load(f"{finished}/final").act(game) in game.legal_actions()


def test_a_resumed_run_equals_the_uninterrupted_one_to_the_bit(finished, tmp_path):
    check_resumed_run(finished, tmp_path / "run")


def test_a_stored_policy_plays_as_the_trainer_does(config, tmp_path):
    trainer = make_trainer(load_config(config))
    trainer.step()
    trainer.write_policy(tmp_path)
    states = begin_games(rules_of(trainer.config.game), seed_streams(3, 8))
    expected = trainer.agent().act_batch(states)
    np.testing.assert_array_equal(agents.load(f"{tmp_path}{trainer.options}").act_batch(states), expected)
