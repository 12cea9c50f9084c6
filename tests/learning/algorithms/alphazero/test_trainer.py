"""Runs of AlphaZero."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from tests.learning.same_runs import start_run
from tests.learning.tiny_runs import ALPHAZERO


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(ALPHAZERO)
    return path


def test_policy_plays_with_and_without_search(config, tmp_path):
    make_trainer(load_config(config)).write_policy(tmp_path)
    game = Game(seed=3)
    for spec in (f"{tmp_path}", f"{tmp_path}:simulations=8"):
        assert agents.load(spec).act(game) in game.legal_actions()
    info = json.loads((tmp_path / "checkpoint.json").read_text())["info"]
    assert info["reward"]["margin_scale"] == 40.0


@pytest.mark.slow
def test_an_iteration_without_a_decision(config):
    """With one game and one turn an iteration may have nothing to learn from."""
    trainer = make_trainer(load_config(config, ["alphazero={num_envs: 1, rollout_steps: 1, window: 1}"]))
    while "losses/loss" in trainer.step():
        assert trainer.steps < 100
    while "losses/loss" not in trainer.step():
        assert trainer.steps < 100


def test_weights_that_are_no_numbers_leave_a_divergence(config, tmp_path, monkeypatch, capsys):
    """Of the step before: its loss was a number."""
    update = AlphaZeroLearner.update

    def spoil(self, *arguments):
        losses = update(self, *arguments)
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter.fill_(torch.nan)
        return losses

    monkeypatch.setattr(AlphaZeroLearner, "update", spoil)
    run = tmp_path / "run"
    assert start_run(config, run) == 2
    assert "training diverged: values or policies" in capsys.readouterr().err
    assert (run / "divergence" / "step_0000000192" / "batch.npz").is_file()


def test_evaluation_without_search(config):
    override = ["alphazero.evaluation_simulations=0"]
    assert type(make_trainer(load_config(config, override)).agent()).__name__ == "PolicyAgent"


@pytest.mark.slow
def test_self_play_gets_better(config):
    """Some seconds of training with one seed; runs this short differ much, and not every seed gets so far."""
    settings = [
        "seed=1",
        "total_steps=24576",
        "network={width: 48, depth: 1, channels: 16}",
        "alphazero={num_envs: 64, rollout_steps: 32, simulations: 8, max_considered: 8, gradient_steps: 24}",
        "alphazero.minibatch_size=512",
        "alphazero.learning_rate={start: 4e-3, end: 2e-3}",
        "reward={outcome: 0, margin: 1}",
    ]
    trainer = make_trainer(load_config(config, settings))
    metrics = [trainer.step() for _ in range(12)]
    assert trainer.is_done
    scores = [line["games/score"] for line in metrics if "games/score" in line]
    assert np.mean(scores[-3:]) > np.mean(scores[:3]) + 2.5
