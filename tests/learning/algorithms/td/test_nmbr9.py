"""Learning the value of NMBR 9: whole games, targets as the lambda-return is defined, and the network."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from patchwork_env.agents.nmbr9 import greedy
from patchwork_env.agents.nmbr9.value import SCALE, evaluate, new_buffer, new_weights
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.algorithms.td.config import SoloTd, SoloTdConfig
from patchwork_env.learning.algorithms.td.nmbr9 import Nmbr9Value, Nmbr9ValueModule, rows_of
from patchwork_env.learning.config import Schedule
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9.figures import statistics_of_games

ROUNDS, GAMES = 20, 6


def play(**settings):
    weights = new_weights(2)
    weights["weights_3"] *= 30
    game = Nmbr9Value(SoloTdConfig(solo_td=SoloTd(**{"candidate_placements": 4} | settings)))
    played = game.play(weights, 0.0, seed_streams(np.uint64(4), GAMES))
    return weights, played.examples, played


def games_of(positions):
    """The positions of each game, and behind them the scores of its tables."""
    states = positions.states.reshape(-1, ROUNDS)
    games = [[Game.from_state(row, k) for k in range(ROUNDS)] for row in states]
    assert all([game.round for game in of_one] == list(range(ROUNDS)) for of_one in games)
    return games, [[game.scores()[0] for game in of_one] for of_one in games]


def test_targets_without_exploration():
    trace = 0.7
    weights, positions, _ = play(exploration=Schedule(start=0, end=0), td_lambda=trace)
    buffer, targets = new_buffer(), positions.targets.reshape(-1, ROUNDS)
    games, scores = games_of(positions)
    for g, of_one in enumerate(games):
        for k, (_, following) in enumerate(itertools.pairwise(of_one)):
            gain = scores[g][k + 1] - scores[g][k]
            promise = gain + evaluate(following.state, 0, 0, weights, buffer)
            expected = (1 - trace) * promise + trace * (gain + targets[g, k + 1])
            assert targets[g, k] == pytest.approx(expected, abs=1e-3)


def test_with_a_trace_of_one_targets_are_what_the_tiles_to_come_brought():
    _, positions, played = play(exploration=Schedule(start=0, end=0), td_lambda=1.0)
    targets = positions.targets.reshape(-1, ROUNDS)
    _, scores = games_of(positions)
    totals = np.array(scores) + targets
    np.testing.assert_allclose(totals, totals[:, :1].repeat(ROUNDS, 1), atol=1e-3)
    statistics = statistics_of_games(played.finals)
    assert totals[:, 0].mean() == pytest.approx(statistics["score"])
    assert statistics["levels"] > 2
    assert 0 < statistics["tiles_on_table"] < ROUNDS


def test_returns_do_not_pass_explored_actions():
    _, positions, _ = play(exploration=Schedule(start=1, end=1), temperature=100.0, td_lambda=1.0)
    _, scores = games_of(positions)
    totals = (np.array(scores) + positions.targets.reshape(-1, ROUNDS)).round(2)
    assert sum(len(set(row)) for row in totals) > GAMES * ROUNDS / 2


def test_positions_follow_each_other():
    _, positions, _ = play()
    games, _ = games_of(positions)
    for of_one in games[:2]:
        for game, following in itertools.pairwise(of_one):
            after = following.state.tobytes()
            assert any(_played(game, int(action)).state.tobytes() == after for action in game.legal_actions())


def _played(game, action):
    successor = game.clone()
    successor.play(action)
    return successor


def test_decks_differ_and_are_those_of_the_published_game():
    _, positions, _ = play()
    games, _ = games_of(positions)
    decks = {of_one[0].deck for of_one in games}
    assert len(decks) == GAMES
    assert all(sorted(deck) == sorted(2 * list(range(10))) for deck in decks)


# --- the network ------------------------------------------------------------------------------------------


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
