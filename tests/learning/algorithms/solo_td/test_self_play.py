"""Games played by a value: whole games, and targets as the definition of the lambda-return has them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from patchwork_env.agents.nmbr9.value import evaluate, new_buffer, new_weights
from patchwork_env.learning.algorithms.common.threads import ThreadPool
from patchwork_env.learning.algorithms.solo_td.config import SoloTd
from patchwork_env.learning.algorithms.solo_td.self_play import SelfPlay
from patchwork_env.learning.config import Schedule
from patchwork_env.nmbr9 import Game

ROUNDS, GAMES = 20, 6


def play(threads=1, **settings):
    config = SoloTd(**{"games": GAMES, "candidate_placements": 4} | settings)
    weights = new_weights(2)
    weights["weights_3"] *= 30
    positions, statistics = SelfPlay(config, ThreadPool(threads)).play(weights, 0.0, np.random.default_rng(4))
    return weights, positions, statistics


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
    _, positions, statistics = play(exploration=Schedule(start=0, end=0), td_lambda=1.0)
    targets = positions.targets.reshape(-1, ROUNDS)
    _, scores = games_of(positions)
    totals = np.array(scores) + targets
    np.testing.assert_allclose(totals, totals[:, :1].repeat(ROUNDS, 1), atol=1e-3)
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


def test_threads_change_nothing():
    one, two = (play(threads=n)[1] for n in (1, 2))
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.targets, two.targets)
