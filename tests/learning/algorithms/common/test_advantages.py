"""Advantages along each player's own decisions, against a plain implementation; rewards and next choices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from patchwork_env.learning.algorithms.common.advantages import (
    Decisions,
    advantages,
    next_choices,
    rewards_of_players,
)
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv


def test_a_game_that_was_worked_out_by_hand():
    """Player 0 moves three times in a row, then player 1 twice, and the last move of player 0 wins."""
    players, values = [0, 0, 0, 1, 1, 0], [0.5, 0.25, -0.25, 0.25, -0.5, 0.5]
    rewards = np.zeros((6, 1, 2), np.float32)
    rewards[5, 0] = 1, -1
    game = Decisions(
        players=np.array(players, np.uint8)[:, None],
        learning=np.ones((6, 1), np.bool_),
        values=np.array(values, np.float32)[:, None],
        rewards=rewards,
        ends=(np.arange(6) == 5)[:, None],
        last_players=np.zeros(1, np.uint8),
        last_values=np.ones(1, np.float32),
    )
    # With a lambda of 1 the return minus the value: player 0 gets 1 and player 1 gets -1, each in all turns.
    assert advantages(game, 1.0, 1.0)[:, 0].tolist() == [0.5, 0.75, 1.25, -1.25, -0.5, 0.5]
    # From the end, each player for itself: error + 0.5 * the advantage of the player's next decision.
    expected = [-0.25 + 0.5 * 0.0, -0.5 + 0.5 * 1.0, 0.75 + 0.5 * 0.5, -0.75 + 0.5 * -0.5, -0.5, 0.5]
    assert advantages(game, 1.0, 0.5)[:, 0].tolist() == expected


def naive_advantages(decisions, discount, decay):
    """Each player of each game apart: its decisions, what it got behind each, the sum of the definition."""
    turns, games, players = decisions.rewards.shape
    result = np.zeros((turns, games))
    for game in range(games):
        for player in range(players):
            for begin, end in _segments(decisions.ends[:, game].tolist()):
                own = [
                    turn
                    for turn in range(begin, end)
                    if decisions.learning[turn, game] and decisions.players[turn, game] == player
                ]
                values = [float(decisions.values[turn, game]) for turn in own]
                values.append(_value_behind(decisions, game, player, end))
                errors = []
                for k, turn in enumerate(own):
                    until = own[k + 1] if k + 1 < len(own) else end
                    reward = float(decisions.rewards[turn:until, game, player].astype(float).sum())
                    errors.append(reward + discount * values[k + 1] - values[k])
                for k, turn in enumerate(own):
                    later = errors[k:]
                    result[turn, game] = sum((discount * decay) ** n * e for n, e in enumerate(later))
    return result


def _segments(ends):
    """Begin and end of every game in a column."""
    bounds = [0, *(turn + 1 for turn, end in enumerate(ends) if end), len(ends)]
    return list(pairwise(bounds))


def _value_behind(decisions, game, player, end):
    if decisions.ends[end - 1, game]:
        return 0.0
    sign = 1 if decisions.last_players[game] == player else -1
    return sign * float(decisions.last_values[game])


@st.composite
def rollouts(draw):
    turns, games, players = draw(st.integers(1, 12)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
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


@given(rollouts(), st.sampled_from([0.0, 0.5, 0.97, 1.0]), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_agrees_with_the_definition(decisions, discount, decay):
    before = [array.copy() for array in decisions]
    result = advantages(decisions, discount, decay)
    np.testing.assert_allclose(result, naive_advantages(decisions, discount, decay), atol=1e-5)
    for array, copy in zip(decisions, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_both_players_are_rewarded_for_the_winner_and_the_clipped_difference_where_a_game_ended():
    winners = np.array([[0, 1, -1], [0, 1, 0]], np.int8)
    scores = np.array([[[30, 10], [5, 15], [9, 2]], [[90, -90], [0, 80], [7, 7]]], np.int16)
    rewards = rewards_of_players(Reward(outcome=2.0, margin=0.5, margin_scale=20.0), winners, scores)
    first = np.array([[2.5, -2.25, 0.0], [2.5, -2.5, 2.0]])
    assert rewards.dtype == np.float32
    np.testing.assert_array_equal(rewards, np.stack([first, -first], -1))


def test_next_choices_come_after_forced_turns_and_tell_who_won():
    env = SelfPlayVectorEnv(60, seed=5, masks=False, observations=False)
    ends = forced = 0
    for turn in range(70):
        if turn > 40:
            before = env.states.copy()
            ahead = next_choices(env.states)
            np.testing.assert_array_equal(env.states, before)
            for i, game in enumerate(env.games()):
                while len(game.legal_actions()) == 1:
                    game.play(game.legal_actions()[0])
                    forced += 1
                assert ahead.states[i : i + 1].tobytes() == game.state.tobytes()
                assert ahead.winners[i] == (game.winner() if game.is_over else -1)
                assert ahead.scores[i].tolist() == (list(game.scores()) if game.is_over else [0, 0])
                ends += game.is_over
        env.step(env.random_actions)
    assert forced > ends > 10
