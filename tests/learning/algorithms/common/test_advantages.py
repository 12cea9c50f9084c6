"""Advantages along each player's own decisions: games worked out by hand, and a plain implementation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
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


def column(players, values, *, rewards=None, ends=(), learning=None, last=(0, 0.0)):
    """The column of one game; ``rewards`` maps turns to the reward of player 0, minus that of player 1."""
    turns = len(players)
    both = np.zeros((turns, 1, 2), np.float32)
    for turn, reward in (rewards or {}).items():
        both[turn, 0] = reward, -reward
    return Decisions(
        players=np.array(players, np.uint8)[:, None],
        learning=np.array([True] * turns if learning is None else learning)[:, None],
        values=np.array(values, np.float32)[:, None],
        rewards=both,
        ends=np.array([turn in ends for turn in range(turns)])[:, None],
        last_players=np.array([last[0]], np.uint8),
        last_values=np.array([last[1]], np.float32),
    )


def estimates(decisions, discount=1.0, decay=1.0):
    return advantages(decisions, discount, decay)[:, 0].tolist()


# Player 0 moves three times in a row, then player 1 twice, and the last move of player 0 ends the game, which
# it wins. All numbers are sums of powers of two, so that results are exact.
WHOLE_GAME = column([0, 0, 0, 1, 1, 0], [0.5, 0.25, -0.25, 0.25, -0.5, 0.5], rewards={5: 1.0}, ends=[5])


def test_lambda_1_is_the_return_minus_the_value():
    # Player 0 gets 1 and player 1 gets -1, each in all of its turns.
    returns = [1, 1, 1, -1, -1, 1]
    values = WHOLE_GAME.values[:, 0]
    assert estimates(WHOLE_GAME) == [r - v for r, v in zip(returns, values, strict=True)]
    assert estimates(WHOLE_GAME) == [0.5, 0.75, 1.25, -1.25, -0.5, 0.5]


def test_a_player_alone_gets_its_rewards_as_they_come():
    alone = WHOLE_GAME._replace(
        players=np.zeros((6, 1), np.uint8),
        rewards=np.arange(6, dtype=np.float32).reshape(6, 1, 1),
        ends=np.zeros((6, 1), np.bool_),
        last_values=np.array([8], np.float32),
    )
    values = alone.values[:, 0]
    assert estimates(alone) == [8 + sum(range(turn, 6)) - values[turn] for turn in range(6)]


def test_lambda_0_looks_one_own_decision_ahead():
    assert estimates(WHOLE_GAME, decay=0.0) == [
        0.25 - 0.5,  # player 0: value of its second turn
        -0.25 - 0.25,  # of its third turn
        0.5 - -0.25,  # of its last turn, behind the two of player 1
        -0.5 - 0.25,  # player 1: value of its second turn
        -1 - -0.5,  # the defeat, which came by a move of player 0
        1 - 0.5,
    ]


def test_lambda_between():
    # From the end, each player for itself: error + 0.5 * the advantage of the player's next decision.
    assert estimates(WHOLE_GAME, decay=0.5) == [
        -0.25 + 0.5 * 0.0,
        -0.5 + 0.5 * 1.0,
        0.75 + 0.5 * 0.5,
        -0.75 + 0.5 * -0.5,
        -0.5,
        0.5,
    ]


def test_discount_counts_own_decisions_only():
    # Returns of player 0: 1/8, 1/4, 1/2 and 1, though two turns of player 1 lie between its last two.
    # Returns of player 1: -1/2 and -1.
    assert estimates(WHOLE_GAME, discount=0.5) == [
        0.125 - 0.5,
        0.25 - 0.25,
        0.5 - -0.25,
        -0.5 - 0.25,
        -1 - -0.5,
        1 - 0.5,
    ]


def test_last_decision_of_the_loser_meets_the_defeat():
    # Player 1 moves once and then never again while player 0 takes four turns to win.
    game = column([1, 0, 0, 0, 0], [0.0] * 5, rewards={4: 1.0}, ends=[4])
    assert estimates(game, decay=0.0) == [-1, 0, 0, 0, 1]


def test_rewards_between_two_own_decisions_add_up():
    # Player 0 decides in turns 0 and 3; meanwhile it gets 0.5, -0.25 and 1.
    game = column([0, 1, 1, 0], [0.0] * 4, rewards={0: 0.5, 1: -0.25, 2: 1.0, 3: 0.125}, last=(0, 0.0))
    # Player 1 gets 0.25 after turn 1 and -1 - 0.125 behind turn 2.
    assert estimates(game, decay=0.0) == [1.25, 0.25, -1.125, 0.125]


# In the first game of this column player 1 beats player 0; the second one goes on behind the rollout, where
# player 1 is to move and expects 0.5. Player 0, who is not to move, expects -0.5.
TWO_GAMES = column(
    [0, 1, 1, 1, 0], [0.25, 0.5, 0.125, -0.25, 0.75], rewards={1: -1.0}, ends=[1], last=(1, 0.5)
)


def test_games_in_one_column_do_not_touch():
    assert estimates(TWO_GAMES) == [
        -1 - 0.25,
        1 - 0.5,
        0.5 - 0.125,  # of the second game; nothing of the first one
        0.5 - -0.25,
        -0.5 - 0.75,
    ]


def test_bootstrap_of_both_players():
    assert estimates(TWO_GAMES, decay=0.0) == [
        -1 - 0.25,
        1 - 0.5,
        -0.25 - 0.125,
        0.5 - -0.25,  # player 1 is to move and expects 0.5
        -0.5 - 0.75,  # player 0 is not
    ]


def test_bootstrap_of_a_player_without_a_later_decision():
    # The only decision of player 1 is the first one; player 0 is to move behind the rollout and expects 0.75.
    game = column([1, 0, 0], [0.5, 0.25, 0.0], last=(0, 0.75))
    assert estimates(game, decay=0.0) == [-0.75 - 0.5, -0.25, 0.75]
    assert estimates(game, discount=0.5, decay=0.0) == [-0.375 - 0.5, -0.25, 0.375]


def test_turns_of_others_are_skipped():
    # The learner sits in seat 0; player 1 is a past self, whose last move beats it. In the second game the
    # past self is to move and, as the learner's network says, expects 0.25.
    game = column(
        players=[0, 1, 0, 1, 1, 0, 1],
        values=[0.5, 9.0, -0.5, 9.0, 9.0, 0.125, 9.0],
        learning=[True, False, True, False, False, True, False],
        rewards={4: -1.0},
        ends=[4],
        last=(1, 0.25),
    )
    assert estimates(game) == [-1 - 0.5, 0, -1 - -0.5, 0, 0, -0.25 - 0.125, 0]
    assert estimates(game, decay=0.0) == [-0.5 - 0.5, 0, -1 - -0.5, 0, 0, -0.25 - 0.125, 0]


def test_a_skipped_turn_of_the_learner_is_no_decision():
    # The second turn is a forced move of player 0: its value is not asked, and no discount is due.
    game = column([0, 0, 0], [0.5, 9.0, 0.25], learning=[True, False, True], rewards={2: 1.0}, ends=[2])
    assert estimates(game, discount=0.5, decay=0.0) == [0.5 * 0.25 - 0.5, 0, 1 - 0.25]


def test_columns_are_independent():
    short = column([1, 1, 0, 1, 0, 0], [0.5] * 6, rewards={3: -1.0}, ends=[3], last=(1, 0.25))
    both = Decisions(
        *(np.concatenate(pair, 0 if pair[0].ndim == 1 else 1) for pair in zip(WHOLE_GAME, short, strict=True))
    )
    result = advantages(both, 0.5, 0.5)
    assert result.shape == (6, 2)
    assert result.dtype == np.float32
    assert result[:, 0].tolist() == estimates(WHOLE_GAME, 0.5, 0.5)
    assert result[:, 1].tolist() == estimates(short, 0.5, 0.5)


def naive_advantages(decisions, discount, decay):
    """Each player of each game apart: its decisions, what it got behind each, the sum of the definition."""
    turns, games = decisions.players.shape
    result = np.zeros((turns, games))
    for game in range(games):
        for player in (0, 1):
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
    turns, games = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    shape, numbers = (turns, games), st.floats(-2, 2, width=32)
    return Decisions(
        draw(arrays(np.uint8, shape, elements=st.integers(0, 1))),
        draw(arrays(np.bool_, shape)),
        draw(arrays(np.float32, shape, elements=numbers)),
        draw(arrays(np.float32, (*shape, 2), elements=numbers)),
        draw(arrays(np.bool_, shape)),
        draw(arrays(np.uint8, (games,), elements=st.integers(0, 1))),
        draw(arrays(np.float32, (games,), elements=numbers)),
    )


@given(rollouts(), st.sampled_from([0.0, 0.5, 0.97, 1.0]), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_agrees_with_the_definition(decisions, discount, decay):
    before = [array.copy() for array in decisions]
    result = advantages(decisions, discount, decay)
    np.testing.assert_allclose(result, naive_advantages(decisions, discount, decay), atol=1e-5)
    for array, copy in zip(decisions, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_perfect_values_leave_no_advantage(decay):
    # Both players know the result from the beginning.
    players = [0, 0, 1, 0, 1, 1]
    game = column(players, [1.0 if p == 1 else -1.0 for p in players], rewards={5: -1.0}, ends=[5])
    assert estimates(game, decay=decay) == [0.0] * 6


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
