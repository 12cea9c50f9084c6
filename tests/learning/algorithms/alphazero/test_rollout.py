"""Searched self-play: what examples say about the games that were played."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.agents.policy import NetworkEvaluator
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.alphazero import rollout as module
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, Examples, SearchedSelfPlay
from patchwork_env.learning.algorithms.common.advantages import advantages
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv
from patchwork_env.search import GumbelSearch

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


@pytest.mark.parametrize("turns", [1, 40])
def test_examples_are_those_of_plain_play(turns, monkeypatch):
    """Every game is played again: who decides, what the search says, and what is gained."""
    env, network = games_before_their_last_choice(), make_network()
    seen, asked = [], []

    def noted_advantages(decisions, *settings):
        seen.append((decisions, settings))
        return advantages(decisions, *settings)

    def noted_step(actions):
        asked.append((env.states.copy(), actions.copy()))
        return SelfPlayVectorEnv.step(env, actions)

    monkeypatch.setattr(module, "advantages", noted_advantages)
    monkeypatch.setattr(env, "step", noted_step)
    config = CONFIG.model_copy(update={"td_lambda": 0.7})
    examples, _ = SearchedSelfPlay(env, config, REWARD).play(network, turns, np.random.default_rng(1))
    ((decisions, settings),) = seen
    assert settings == (1.0, 0.7)
    learned = advantages(decisions, 1.0, 0.7) + decisions.values
    assert examples.returns.tolist() == learned[decisions.learning].tolist()
    dynamics, random, policies = PatchworkDynamics(**REWARD.model_dump()), np.random.default_rng(1), []
    search = GumbelSearch(dynamics, 4, 4, c_scale=config.c_scale, value_range=5.0)  # from a loss to a win
    for turn, (states, actions) in enumerate(asked):
        games = [Game.from_state(states, i) for i in range(GAMES)]
        choosing = np.array([len(game.legal_actions()) > 1 for game in games])
        assert decisions.learning[turn].tolist() == choosing.tolist()
        if choosing.any():
            noise = np.random.default_rng(int(random.integers(2**63, size=1)[0]))
            result = search.run(states[choosing], NetworkEvaluator(network), noise)
            assert actions[choosing].tolist() == result.chosen.tolist()
            np.testing.assert_allclose(decisions.values[turn, choosing], result.values, atol=1e-5)
            policies += [result.policy]
        for i, game in enumerate(games):
            assert decisions.players[turn, i] == game.current_player
            game.play(actions[i])
            assert decisions.ends[turn, i] == game.is_over
            if turn + 1 == turns:
                check_what_comes_behind(game, decisions, i, network)
            else:
                assert decisions.rewards[turn, i].tolist() == pytest.approx(rewards_of(game))
    chosen = np.concatenate([states[d] for (states, _), d in zip(asked, decisions.learning, strict=True)])
    assert examples.states.tobytes() == chosen.tobytes()
    np.testing.assert_allclose(examples.policies, np.concatenate(policies), atol=1e-3)
    assert examples.counts.sum() == len(examples.policies)
    assert decisions.ends.any() or (decisions.rewards[-1] != 0).any()


def games_before_their_last_choice():
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    for i in range(GAMES):
        games = [Game(seed=i)]
        while not games[-1].is_over:
            games.append(games[-1].clone())
            games[-1].play(games[-1].legal_actions()[-1])  # buys whatever it can and ends without buttons
        last = [game for game in games if len(game.legal_actions()) > 1][-1]
        env.states[i], env.counts[i] = last.state[0], len(last.legal_actions())
    return env


def check_what_comes_behind(game, decisions, i, network):
    """Forced turns are played on; values are read where they are trained, or the result is known."""
    if game.is_over:
        assert decisions.rewards[-1, i].tolist() == pytest.approx(rewards_of(game))
        return
    while len(game.legal_actions()) == 1:
        game.play(game.legal_actions()[0])
    assert decisions.rewards[-1, i].tolist() == pytest.approx(rewards_of(game))
    expected = 0.0 if game.is_over else NetworkEvaluator(network)(game.state).values[0]
    assert decisions.last_values[i] == pytest.approx(expected, abs=1e-5)
    assert game.is_over or decisions.last_players[i] == game.current_player


def rewards_of(game):
    if not game.is_over:
        return [0, 0]
    margin = np.clip((game.scores()[0] - game.scores()[1]) / REWARD.margin_scale, -1, 1)
    first = REWARD.outcome * (1 if game.winner() == 0 else -1) + REWARD.margin * margin
    return [first, -first]


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
