"""Rewards of a step, by hand: those that all environments take from one place."""

import numpy as np
import pytest

from patchwork_env.core.batches import MARGIN, OUTCOME, SCORE, loop, reward_of
from patchwork_env.nmbr9 import Game
from tests.envs.cases import NMBR9


@pytest.fixture(scope="module")
def finished():
    """A game of three whose players have different scores, the second player the highest."""
    rng = np.random.default_rng(4)
    while True:
        game = Game(seed=int(rng.integers(1000)), players=3)
        while not game.is_over:
            game.play(rng.choice(game.legal_actions()))
        first, second, third = game.scores()
        if first < third < second:
            return game


def test_a_margin_is_that_to_the_best_of_the_others(finished):
    reward, (first, second, third) = loop(reward_of, NMBR9), finished.scores()
    margins = [reward(finished.state, 0, seat, MARGIN, 0) for seat in range(3)]
    assert margins == pytest.approx([(first - second) / 100, (second - third) / 100, (third - second) / 100])
    assert [reward(finished.state, 0, seat, OUTCOME, 0) for seat in range(3)] == [-0.5, 1.0, -0.5]


def test_a_step_is_worth_the_points_gained_or_nothing_before_the_end(finished):
    reward = loop(reward_of, NMBR9)
    assert reward(finished.state, 0, 1, SCORE, 7) == finished.scores()[1] - 7
    before = finished.clone()
    before.undo()
    assert [reward(before.state, 0, 1, kind, 0) for kind in (OUTCOME, MARGIN)] == [0.0, 0.0]
