"""Runs of temporal-difference learning, from the command to the value that plays."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.patchwork.value import SCALES, WIN, evaluate, new_buffer, new_weights
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.common.value_learner import ValueLearner
from patchwork_env.learning.algorithms.td.value import PatchworkValueModule, rows_of
from patchwork_env.learning.config import load_config
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states
from tests.learning.algorithms.value_learning import (
    check_average,
    check_damaged_window,
    check_divergence,
    check_trained,
)
from tests.learning.same_runs import check_restored_trainer, check_resumed_run

TINY = """
algorithm: td
total_steps: 1500
checkpoint_every: 2
threads: 1
seed: 5
reward: {outcome: 0.5, margin: 1.0}
td: {games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64, averaging_power: 2}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
"""


def test_value_plays(finished):
    game = Game(seed=3)
    assert agents.load(f"{finished}/final").act(game) in game.legal_actions()
    info = json.loads((finished / "final" / "checkpoint.json").read_text())["info"]
    assert info["algorithm"] == "td"
    assert info["reward"]["outcome"] == 0.5


def test_metrics(finished):
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    played = [line for line in lines if "losses/score_loss" in line]
    assert played[-1]["steps"] >= 1500 > played[-2]["steps"]
    assert all(20 < line["games/turns_per_game"] < 112 for line in played)


def test_resumed_run_equals_the_uninterrupted_one_to_the_bit(finished, tmp_path):
    check_resumed_run(finished, tmp_path / "run")


def test_impossible_states_are_refused(config):
    check_damaged_window(*(make_trainer(load_config(config)) for _ in range(2)))


def test_restored_trainer_goes_on_as_the_saved_one(config):
    check_restored_trainer(config)


def test_the_value_comes_to_explain_the_results(config):
    settings = [
        "td={games: 32, gradient_steps: 16, minibatch_size: 256, warmup: 20, table_rate: 1, td_lambda: 0.9}",
        "td.exploration={start: 1.0, end: 1.0}",
        "td.temperature=10.0",
        "td.learning_rate={start: 5e-3, end: 5e-3}",
    ]
    trainer = make_trainer(load_config(config, settings))
    explained = [trainer.step()["losses/explained_variance"] for _ in range(9)]
    assert explained[0] < 0.2
    assert np.mean(explained[-3:]) > 0.4


# --- the module and the learner ---------------------------------------------------------------------------


@pytest.fixture
def weights():
    weights = new_weights(1)
    weights["weights_3"] *= 20
    return weights


def test_module_computes_what_the_kernels_compute(weights):
    states, buffer = many_states()[::5], new_buffer()
    outputs = PatchworkValueModule(weights)(states).detach().numpy() * SCALES
    for i in range(len(states)):
        margin, win = evaluate(states, i, weights, buffer)
        assert margin == pytest.approx(outputs[i, 0] - outputs[i, 1], abs=1e-3)
        assert win == pytest.approx(1 / (1 + np.exp(-outputs[i, WIN])), abs=1e-5)


def test_gradients_of_tables_against_plain_pytorch(weights):
    states = many_states()[::9]
    module = PatchworkValueModule(weights)
    module(states).square().sum().backward()
    quilt_rows, game_rows, counts = rows_of(states)
    plain = {name: p.detach().clone().requires_grad_() for name, p in module.named_parameters()}

    def leaky(x):
        return torch.nn.functional.leaky_relu(x, 1 / 8)

    quilts = leaky(plain["quilt_bias"] + plain["patterns"][torch.from_numpy(quilt_rows)].sum(1))
    own, other = quilts.view(len(states), 2, -1).unbind(1)
    chosen = [torch.from_numpy(row[:count]) for row, count in zip(game_rows, counts, strict=True)]
    game = torch.stack([plain["features"][rows].sum(0) for rows in chosen])
    hidden = leaky(plain["game_bias"] + game + own @ plain["own"] + other @ plain["others"])
    hidden_2 = leaky(plain["bias_2"] + hidden @ plain["weights_2"])
    (plain["bias_3"] + hidden_2 @ plain["weights_3"]).square().sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name].grad, rtol=1e-3, atol=1e-4)


def learner_and_positions(config, weights):
    trainer = make_trainer(load_config(config))
    positions, _ = trainer.self_play.play(weights, 0.0, np.random.default_rng(1))
    return ValueLearner(PatchworkValueModule(weights), trainer.config.td), positions


def test_learning_changes_the_weights_in_place_and_averages_them(config, weights):
    check_average(*learner_and_positions(config, weights), weights)


def test_the_trained_value_is_an_average_over_the_run(config, weights):
    check_trained(*learner_and_positions(config, weights), power=2.0)


def test_a_target_that_is_no_number_stops_with_the_batch(config, weights):
    check_divergence(*learner_and_positions(config, weights))
