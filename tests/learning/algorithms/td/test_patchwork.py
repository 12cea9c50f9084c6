"""Learning the value of Patchwork: whole games, targets as the lambda-return is defined, and the network."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from patchwork_env.agents.patchwork.value import (
    OTHER_EMPTY,
    OTHER_SCORE,
    OUTPUTS,
    OWN_EMPTY,
    OWN_SCORE,
    SCALES,
    WIN,
    evaluate,
    new_buffer,
    new_weights,
)
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.algorithms.td.config import Td, TdConfig
from patchwork_env.learning.algorithms.td.patchwork import PatchworkValue, PatchworkValueModule, rows_of
from patchwork_env.learning.config import Reward, Schedule
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.figures import statistics_of_games
from tests.agents.positions import many_states

SWAPPED = [OTHER_SCORE, OWN_SCORE, WIN, OTHER_EMPTY, OWN_EMPTY]


def play(games=6, **settings):
    td = Td(**{"openings": 0.0, "scripted_player_fraction": 0.0, "candidate_placements": 4} | settings)
    weights = new_weights(2)
    weights["weights_3"] *= 30
    game = PatchworkValue(TdConfig(td=td, reward=Reward(outcome=0.5, margin=1.0)))
    played = game.play(weights, 0.0, seed_streams(np.uint64(4), games))
    return weights, played.examples, played


def games_of(positions):
    """The positions of each game: it begins with an untouched circle."""
    starts = np.flatnonzero(
        (positions.states["num_patches"] == 33) & (positions.states["position"].sum(1) == 0)
    )
    return np.split(np.arange(len(positions.states)), starts[1:])


def turned(values):
    values = values[SWAPPED].copy()
    values[WIN] = 1 - values[WIN]
    return values


def test_targets_without_exploration():
    trace = 0.7
    weights, positions, _ = play(exploration=Schedule(start=0, end=0), td_lambda=trace)
    buffer, games = new_buffer(), games_of(positions)
    assert len(games) == 6
    for indices in games:
        for index, following in itertools.pairwise(indices):
            evaluate(positions.states, following, weights, buffer)
            promise, later = buffer[0]["outputs"].copy(), positions.targets[following]
            if positions.states["current_player"][index] != positions.states["current_player"][following]:
                promise, later = turned(promise), turned(later)
            expected = (1 - trace) * promise + trace * later
            np.testing.assert_allclose(positions.targets[index], expected, atol=1e-3)


@pytest.mark.parametrize("trace", [0.0, 1.0])
def test_last_targets_are_the_result(trace):
    """Whatever the trace: what the last action leads to is known."""
    _, positions, played = play(exploration=Schedule(start=0, end=0), td_lambda=trace)
    last = np.array([positions.targets[indices[-1]] for indices in games_of(positions)])
    statistics = statistics_of_games(played.finals)
    assert last[:, [OWN_SCORE, OTHER_SCORE]].mean() == pytest.approx(statistics["score"])
    assert last[:, [OWN_EMPTY, OTHER_EMPTY]].mean() == pytest.approx(statistics["empty_cells"])
    assert set(last[:, WIN].tolist()) <= {0.0, 1.0}
    draws = last[:, OWN_SCORE] == last[:, OTHER_SCORE]
    assert (((last[:, OWN_SCORE] > last[:, OTHER_SCORE]) == last[:, WIN]) | draws).all()


def test_with_a_trace_of_one_all_targets_of_a_game_are_its_result():
    _, positions, _ = play(exploration=Schedule(start=0, end=0), td_lambda=1.0)
    for indices in games_of(positions):
        player = positions.states["current_player"][indices[-1]]
        result = positions.targets[indices[-1]]
        for index in indices:
            same = positions.states["current_player"][index] == player
            expected = result if same else turned(result)
            np.testing.assert_allclose(positions.targets[index], expected, rtol=1e-5)


def test_returns_do_not_pass_explored_actions():
    """With exploration in every turn, the targets of a game differ although the trace is 1."""
    _, positions, _ = play(exploration=Schedule(start=1, end=1), temperature=100.0, td_lambda=1.0)
    changes = 0
    for indices in games_of(positions):
        wins = positions.targets[indices, WIN]
        changes += len(set(np.minimum(wins, 1 - wins).round(3)))
    assert changes > 60


def test_positions_follow_each_other():
    _, positions, played = play()
    assert positions.targets.shape == (len(positions.states), OUTPUTS)
    assert played.lengths.mean() == len(positions.states) / 6
    for indices in games_of(positions):
        for index, following in itertools.pairwise(indices):
            game = Game.from_state(positions.states, index)
            after = positions.states[following].tobytes()
            successors = (game.clone() for _ in game.legal_actions())
            reached = []
            for successor, action in zip(successors, game.legal_actions(), strict=True):
                successor.play(int(action))
                reached.append(successor.state[0].tobytes())
                if reached[-1] == after:
                    break
            assert after in reached


def test_nothing_is_learned_from_openings():
    _, positions, played = play(games=20, openings=1.0)
    assert len(played.finals) == len(played.lengths) == 0 < played.turns
    beginnings = positions.states["position"].sum(1) == 0
    assert 0 < len(positions.states) < 20 * 30
    assert beginnings.mean() < 0.02


def test_returns_do_not_pass_what_scripted_players_do():
    _, positions, played = play(
        games=12, scripted_player_fraction=1.0, exploration=Schedule(start=0, end=0), td_lambda=1.0
    )
    assert len(played.finals) == len(played.lengths) == 0 < played.turns
    changes = 0
    for indices in games_of(positions):
        wins = positions.targets[indices, WIN]
        changes += len(set(np.minimum(wins, 1 - wins).round(3)))
    assert changes > 12 * 5


# --- the network ------------------------------------------------------------------------------------------


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
