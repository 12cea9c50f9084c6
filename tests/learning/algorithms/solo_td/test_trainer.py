"""Runs of NMBR 9, from the command to the value that plays."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from patchwork_env import agents
from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.value import SCALE, evaluate, new_buffer, new_weights
from patchwork_env.learning.algorithms.common.trainer import make_trainer
from patchwork_env.learning.algorithms.common.value_learner import ValueLearner
from patchwork_env.learning.algorithms.solo_td.value import Nmbr9ValueModule, rows_of
from patchwork_env.learning.config import load_config
from patchwork_env.nmbr9 import Game
from tests.learning.algorithms.value_learning import (
    check_average,
    check_damaged_window,
    check_divergence,
    check_trained,
)
from tests.learning.same_runs import check_restored_trainer, check_resumed_run

TINY = """
game: nmbr9
algorithm: solo_td
total_steps: 900
checkpoint_every: 2
threads: 1
seed: 5
solo_td: {games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
"""


def test_value_plays(finished):
    game = Game(seed=3)
    assert agents.load(f"{finished}/final").act(game) in game.legal_actions()
    description = json.loads((finished / "final" / "checkpoint.json").read_text())
    assert description["game"] == "nmbr9"
    assert description["info"]["algorithm"] == "solo_td"


def test_metrics(finished):
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    played = [line for line in lines if "losses/error" in line]
    assert [line["steps"] for line in played] == list(range(160, 1000, 160))
    assert all(0 <= line["games/score"] < 70 for line in played)


def test_resumed_run_equals_the_uninterrupted_one_to_the_bit(finished, tmp_path):
    check_resumed_run(finished, tmp_path / "run")


def test_impossible_states_are_refused(config):
    check_damaged_window(*(make_trainer(load_config(config)) for _ in range(2)))


def test_restored_trainer_goes_on_as_the_saved_one(config):
    check_restored_trainer(config)


@pytest.mark.slow
def test_the_value_comes_to_play_better_than_greedy(config):
    """Greedy scores 53, and so does a value of nothing with the most contact."""
    settings = [
        "solo_td={games: 64, candidate_placements: 6, gradient_steps: 24, minibatch_size: 512}",
        "solo_td.warmup=20",
        "solo_td.table_rate=0.3",
        "solo_td.learning_rate={start: 3e-3, end: 3e-3}",
        "solo_td.ema_decay=0.9",
    ]
    trainer = make_trainer(load_config(config, settings))
    metrics = [trainer.step() for _ in range(16)]
    assert metrics[0]["games/score"] < 57
    assert np.mean([m["games/score"] for m in metrics[-3:]]) > 60
    assert metrics[-1]["losses/explained_variance"] > 0.5


# --- the module and the learner ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def states():
    found = []
    for seed in range(4):
        game = Game(seed=seed)
        while not game.is_over:
            found.append(game.state.copy())
            game.play(greedy.choose_action(game.state, 0))
    return np.concatenate(found)


@pytest.fixture
def weights():
    weights = new_weights(1)
    weights["weights_3"] *= 20
    return weights


def test_module_computes_what_the_kernels_compute(weights, states):
    buffer = new_buffer()
    outputs = Nmbr9ValueModule(weights)(states).detach().numpy() * SCALE
    values = [evaluate(states, i, 0, weights, buffer) for i in range(len(states))]
    np.testing.assert_allclose(outputs, values, atol=1e-3)
    assert np.std(values) > 1


def test_gradients_of_tables_against_plain_pytorch(weights, states):
    module = Nmbr9ValueModule(weights)
    module(states).square().sum().backward()
    windows, window_counts, rows, counts, inputs = rows_of(states)
    plain = {name: p.detach().clone().requires_grad_() for name, p in module.named_parameters()}

    def leaky(x):
        return torch.nn.functional.leaky_relu(x, 1 / 8)

    def sums(table, listed, lengths):
        chosen = (torch.from_numpy(row[:length]) for row, length in zip(listed, lengths, strict=True))
        return torch.stack([plain[table][c].sum(0) for c in chosen])

    relief = leaky(plain["relief_bias"] + sums("windows", windows, window_counts))
    hidden = plain["bias"] + sums("features", rows, counts) + relief @ plain["weights_1"]
    hidden = leaky(hidden + torch.from_numpy(inputs) @ plain["numbers"])
    hidden_2 = leaky(plain["bias_2"] + hidden @ plain["weights_2"])
    (plain["bias_3"] + hidden_2 @ plain["weights_3"]).square().sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, plain[name].grad, rtol=1e-3, atol=1e-4)


def learner_and_positions(config, weights):
    trainer = make_trainer(load_config(config))
    positions, _ = trainer.self_play.play(weights, 0.0, np.random.default_rng(1))
    return ValueLearner(Nmbr9ValueModule(weights), trainer.config.solo_td), positions


def test_learning_changes_the_weights_in_place_and_averages_them(config, weights):
    check_average(*learner_and_positions(config, weights), weights)


def test_the_trained_value_is_what_played_last(config, weights):
    check_trained(*learner_and_positions(config, weights), power=math.inf)


def test_a_target_that_is_no_number_stops_with_the_batch(config, weights):
    check_divergence(*learner_and_positions(config, weights))
