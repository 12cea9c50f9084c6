"""Searched self-play: what examples say about the games that were played."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, Examples, SearchedSelfPlay
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv

GAMES = 6
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0)
CONFIG = AlphaZero(num_envs=GAMES, simulations=4, max_considered=4, td_lambda=1.0)


def make_network(seed=0):
    torch.manual_seed(seed)
    return PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))


def collect(turns, threads=None, config=CONFIG, seed=1):
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    self_play = SearchedSelfPlay(env, config, REWARD, threads)
    examples, ended = self_play.play(make_network(), turns, np.random.default_rng(seed))
    return examples, ended.figures()


@pytest.fixture(scope="module")
def rollout():
    return collect(100)


def policies_of(examples):
    return np.split(examples.policies.astype(np.float64), np.cumsum(examples.counts)[:-1])


def test_examples_are_decisions_with_a_policy_over_their_legal_actions(rollout):
    examples, _ = rollout
    assert len(examples.states) > 50 * GAMES
    for i, policy in enumerate(policies_of(examples)):
        legal = Game.from_state(examples.states, i).legal_actions()
        assert len(policy) == len(legal) == examples.counts[i] > 1
        assert policy.sum() == pytest.approx(1, abs=5e-3)
        assert policy.min() >= 0


def test_returns_are_those_of_the_games_in_which_the_decisions_were_made(rollout):
    """With lambda 1 a decision's return is the payoff of its player at the end of its game."""
    examples, _ = rollout
    returns = examples.returns.astype(np.float64)
    ended = returns[: 10 * GAMES]  # of first games, all of which end within the rollout
    assert set(ended.round(4)) <= set(_possible_returns())
    assert np.abs(returns).max() <= REWARD.margin + REWARD.outcome + 1e-5
    assert (ended > 0).any()
    assert (ended < 0).any()
    first_states = examples.states[:GAMES]
    for i in range(GAMES):
        same_game = _circle_is_part_of(first_states, i, examples.states[: 10 * GAMES])
        signs = np.where(examples.states["current_player"][: 10 * GAMES][same_game] == 0, 1, -1)
        of_player_0 = (ended[same_game] * signs).round(4)
        assert len(set(of_player_0)) == 1


def _possible_returns():
    points = np.arange(-300, 300)
    margins = REWARD.margin * np.clip(points / REWARD.margin_scale, -1, 1)
    return np.concatenate([margins + REWARD.outcome, margins - REWARD.outcome]).round(4)


def _circle_is_part_of(first_states, i, states):
    """Which states belong to the game that starts with record ``i``: circles of random games all differ."""
    start = list(first_states["circle"][i][:33])
    return np.array([_is_reduced(list(s["circle"][: s["num_patches"]]), start) for s in states])


def _is_reduced(circle, start):
    """Whether a circle is what is left of another one, in the same cyclic order."""
    left = [patch for patch in start if patch in set(circle)]
    return any(left[k:] + left[:k] == circle for k in range(len(left)))


def test_statistics(rollout):
    _, statistics = rollout
    assert statistics["winner_score"] > statistics["score"]
    assert 15 < statistics["turns_per_game"] < 100


def test_same_seed_same_examples_and_other_seed_others():
    first, second, other = collect(20)[0], collect(20)[0], collect(20, seed=5)[0]
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.states, other.states)


def test_threads_share_the_games():
    examples, _ = collect(12, ThreadPool(2))
    assert len(examples.states) == len(examples.counts) == len(examples.returns)
    for i, policy in enumerate(policies_of(examples)):
        assert len(policy) == len(Game.from_state(examples.states, i).legal_actions())


def test_a_rollout_that_is_cut_before_turns_without_a_choice_knows_the_end_they_lead_to():
    """Every game stands before its last choice, and a rollout of one turn makes it."""
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    for i in range(GAMES):
        games = [Game(seed=i)]
        while not games[-1].is_over:
            games.append(games[-1].clone())
            games[-1].play(games[-1].legal_actions()[-1])  # buys whatever it can and ends without buttons
        last = [game for game in games if len(game.legal_actions()) > 1][-1]
        env.states[i], env.counts[i] = last.state[0], len(last.legal_actions())
    players = env.current_players.copy()
    examples, _ = SearchedSelfPlay(env, CONFIG, REWARD).play(make_network(), 1, np.random.default_rng(1))
    ends = {i: _without_choices(env.states, i) for i in range(GAMES) if env.counts[i] == 1}
    expected = {i: _payoff(game, players[i]) for i, game in ends.items() if game.is_over}
    assert len(expected) > 1
    assert {i: examples.returns[i] for i in expected} == pytest.approx(expected)


def _without_choices(states, i):
    """The game of a record after all turns that leave no choice."""
    game = Game.from_state(states, i)
    while len(legal := game.legal_actions()) == 1:
        game.play(legal[0])
    return game


def _payoff(game, player):
    difference = game.scores()[player] - game.scores()[1 - player]
    margin = max(-1.0, min(1.0, difference / REWARD.margin_scale))
    return REWARD.outcome * (1 if game.winner() == player else -1) + REWARD.margin * margin


def test_policies_of_some_examples():
    examples = Examples(
        np.zeros(3), np.array([2, 1, 3]), np.arange(6).astype(np.float16), np.zeros(3, np.float32)
    )
    assert examples.policies_of(np.array([2, 0, 2])).tolist() == [3, 4, 5, 0, 1, 3, 4, 5]


@pytest.mark.slow
def test_a_rollout_without_a_decision_has_no_examples():
    """Turn by turn, until in no game there is a choice."""
    env = SelfPlayVectorEnv(1, seed=2, masks=False, observations=False)
    self_play = SearchedSelfPlay(env, CONFIG, REWARD)
    rollouts = [self_play.play(make_network(), 1, np.random.default_rng(1))[0] for _ in range(100)]
    numbers = [len(examples.states) for examples in rollouts]
    assert set(numbers) == {0, 1}
    without = rollouts[numbers.index(0)]
    assert [array.dtype for array in without] == [array.dtype for array in NO_EXAMPLES]
    assert all(len(array) == 0 for array in without)


def test_a_network_that_has_diverged_is_an_error_with_the_states():
    network = make_network()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(torch.nan)
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    with pytest.raises(DivergenceError, match="training diverged: values or policies") as caught:
        SearchedSelfPlay(env, CONFIG, REWARD).play(network, 1, np.random.default_rng(1))
    assert set(caught.value.batch) == {"states", "values"}
    assert len(caught.value.batch["states"]) == len(caught.value.batch["values"])
