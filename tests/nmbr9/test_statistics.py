"""Random and greedy play have the published scores, within the sampling error of both samples.

The published figures are 1.3 points for random play, of unknown precision but for its rounding, and 52.7 with
a standard deviation of 13.2 in 2000 games for the highest level and then the most contact.
"""

import numpy as np

from patchwork_env.agents.nmbr9.greedy import choose_actions
from patchwork_env.core.batches import (
    begin_games,
    first_finished,
    first_illegal,
    loop,
    play_listed,
    sample_actions,
)
from patchwork_env.core.checks import seed_streams
from patchwork_env.nmbr9 import engine
from patchwork_env.nmbr9.rules import RULES
from tests.patchwork.test_statistics import STANDARD_ERRORS, assert_uniform


def new_games(n, seed):
    return begin_games(RULES, seed_streams(seed, n))


def scores_of(states):
    return np.array([engine.score(states, i, 0) for i in range(len(states))])


def test_random_play():
    states, stream = new_games(4000, 3), ~seed_streams(3, 1)
    actions = np.empty(len(states), np.int64)
    for _ in range(20):
        loop(sample_actions, RULES)(states, stream, actions)
        loop(play_listed, RULES)(states, np.arange(len(states)), actions)
    scores = scores_of(states)
    error = scores.std() / np.sqrt(len(scores))
    assert abs(scores.mean() - 1.3) <= STANDARD_ERRORS * error + 0.05


def test_greedy_play():
    states, actions = new_games(1000, 5), np.empty(1000, np.int64)
    for _ in range(20):
        choose_actions(states, actions)
        assert loop(first_illegal, RULES)(states, actions) == loop(first_finished, RULES)(states) == -1
        loop(play_listed, RULES)(states, np.arange(len(states)), actions)
    scores = scores_of(states)
    assert abs(scores.mean() - 52.7) <= STANDARD_ERRORS * 13.2 * np.sqrt(1 / 1000 + 1 / 2000) + 0.05
    assert 12.0 < scores.std() < 14.4


def test_decks_are_uniformly_random():
    """Every digit is at every place, and after every other digit, equally often."""
    decks = new_games(20_000, 7)["deck"][:, :20].astype(np.int64)
    places = np.zeros((10, 20), np.int64)
    np.add.at(places, (decks, np.arange(20)), 1)
    assert_uniform(places.ravel(), 9 * 19)
    pairs = np.zeros((10, 10), np.int64)
    np.add.at(pairs, (decks[:, :-1], decks[:, 1:]), 1)
    same = np.eye(10, dtype=bool)
    assert_uniform(pairs[~same], 89)
    assert abs(pairs[same].sum() / pairs.sum() - 1 / 19) < 0.002
