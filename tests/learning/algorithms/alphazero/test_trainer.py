"""Runs of AlphaZero from the command to the policy that plays."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.learning.algorithms.alphazero.learner import AlphaZeroLearner
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.commands import train
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from tests.learning.same_runs import check_restored_trainer, check_resumed_run

TINY = """
algorithm: alphazero
total_steps: 768
checkpoint_every: 2
threads: 1
seed: 5
network: {width: 16, depth: 1, channels: 4}
alphazero:
  {num_envs: 16, rollout_steps: 8, simulations: 4, max_considered: 4, window: 3, gradient_steps: 2,
   minibatch_size: 32, evaluation_simulations: 4}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
"""


def test_policy_plays_with_and_without_search(finished):
    game = Game(seed=3)
    for spec in (f"{finished}/final", f"{finished}/final:simulations=8"):
        assert agents.load(spec).act(game) in game.legal_actions()
    info = json.loads((finished / "final" / "checkpoint.json").read_text())["info"]
    assert info["algorithm"] == "alphazero"
    assert info["reward"]["margin_scale"] == 40.0


def test_metrics(finished):
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [line["steps"] for line in lines if "losses/kl_to_search" in line] == list(range(128, 769, 128))
    assert any("games/winner_score" in line for line in lines)
    assert any("evaluation/win_rate_against_random" in line for line in lines)


def test_resumed_run_equals_the_uninterrupted_one_to_the_bit(finished, tmp_path):
    check_resumed_run(finished, tmp_path / "run")


def test_restored_trainer_goes_on_as_the_saved_one(config):
    check_restored_trainer(config)


@pytest.mark.slow
def test_a_first_iteration_without_a_decision(config):
    """With one game and one turn an iteration may have nothing to learn from."""
    trainer = make_trainer(load_config(config, ["alphazero={num_envs: 1, rollout_steps: 1, window: 1}"]))
    losses = ["losses/loss" in trainer.step() for _ in range(100)]
    assert set(losses) == {True, False}


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
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 2
    assert "training diverged: values or policies" in capsys.readouterr().err
    assert (run / "divergence" / "step_0000000128" / "batch.npz").is_file()


def test_evaluation_without_search(config):
    override = ["alphazero.evaluation_simulations=0"]
    assert type(make_trainer(load_config(config, override)).agent()).__name__ == "PolicyAgent"


def test_section_of_another_algorithm_is_refused(config, tmp_path, capsys):
    arguments = ["--config", str(config), "--run-dir", str(tmp_path / "run"), "--set", "ppo.epochs=3"]
    assert train.main(arguments) == 2
    assert "section 'ppo' is of no use to the algorithm 'alphazero'" in capsys.readouterr().err


@pytest.mark.slow
def test_self_play_gets_better(config, tmp_path):
    """Some seconds of training with one seed; runs this short differ much, and not every seed gets so far."""
    settings = [
        "seed=1",
        "total_steps=24576",
        "network={width: 48, depth: 1, channels: 16}",
        "alphazero={num_envs: 64, rollout_steps: 32, simulations: 8, max_considered: 8, gradient_steps: 24}",
        "alphazero.minibatch_size=512",
        "alphazero.learning_rate={start: 4e-3, end: 2e-3}",
        "reward={outcome: 0, margin: 1}",
        "evaluation.opponents=[]",
    ]
    run = tmp_path / "run"
    assert train.main(["--config", str(config), "--run-dir", str(run), "--set", *settings]) == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scores = [line["games/score"] for line in lines if "games/score" in line]
    assert np.mean(scores[-3:]) > np.mean(scores[:3]) + 2.5
