"""Advantages along each player's own decisions, against a plain implementation; rewards and next choices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from patchwork_env.learning.algorithms.common.advantages import Decisions, advantages, rewards_of_players
from patchwork_env.learning.config import Reward
from tests.learning.algorithms.naive import naive_advantage


@st.composite
def rollouts(draw):
    turns, games, players = draw(st.integers(1, 12)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shape, numbers = (turns, games), st.floats(-2, 2, width=32)
    return Decisions(
        draw(arrays(np.uint8, shape, elements=st.integers(0, players - 1))),
        draw(arrays(np.bool_, shape)),
        draw(arrays(np.float32, shape, elements=numbers)),
        draw(arrays(np.float32, (*shape, players), elements=numbers)),
        draw(arrays(np.bool_, shape)),
        draw(arrays(np.uint8, (games,), elements=st.integers(0, players - 1))),
        draw(arrays(np.float32, (games,), elements=numbers)),
    )


@settings(max_examples=50)
@given(rollouts(), st.sampled_from([0.0, 0.5, 0.97, 1.0]), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_agrees_with_the_definition(decisions, discount, decay):
    before = [array.copy() for array in decisions]
    result = advantages(decisions, discount, decay)
    for turn, game in np.ndindex(result.shape):
        expected = naive_advantage(decisions, turn, game, discount, decay)
        asked = decisions.learner_mask[turn, game]
        assert result[turn, game] == pytest.approx(expected if asked else 0, abs=1e-5)
    for array, copy in zip(decisions, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_both_players_are_rewarded_for_the_winner_and_the_clipped_difference_where_a_game_ended():
    winners = np.array([[0, 1, -1], [0, 1, 0]], np.int8)
    scores = np.array([[[30, 10], [5, 15], [9, 2]], [[90, -90], [0, 80], [7, 7]]], np.int16)
    reward = Reward(outcome=2.0, margin=0.5, margin_scale=20.0, margin_cut=1.0)
    rewards = rewards_of_players(reward, winners, scores)
    first = np.array([[2.5, -2.25, 0.0], [2.5, -2.5, 2.0]])
    assert rewards.dtype == np.float32
    np.testing.assert_array_equal(rewards, np.stack([first, -first], -1))
