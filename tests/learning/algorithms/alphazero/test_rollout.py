"""Searched self-play: its examples compared with the games."""

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import NetworkEvaluator
from patchwork_env.agents.patchwork.policy.agent import PatchworkDynamics
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.learning.algorithms.alphazero import rollout as module
from patchwork_env.learning.algorithms.alphazero.config import AlphaZero
from patchwork_env.learning.algorithms.alphazero.rollout import NO_EXAMPLES, SearchedSelfPlay
from patchwork_env.learning.algorithms.common.advantages import advantages
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game
from patchwork_env.patchwork_v0 import SelfPlayBatch
from patchwork_env.search import GumbelSearch
from tests.learning.algorithms.naive import check_end_of_rollout, naive_rewards

GAMES = 6
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0, margin_cut=1.0)
CONFIG = AlphaZero(num_envs=GAMES, simulations=4, max_considered=4, td_lambda=1.0)


def new_env(games):
    return SelfPlayBatch(games, seed=2, masks=False, observations=False)


def make_network(seed=0):
    torch.manual_seed(seed)
    return PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))


@pytest.mark.parametrize("turns", [1, 2, 40])
def test_examples_are_those_of_plain_play(turns, monkeypatch):
    """Every game is replayed: decisions, results of the search, and rewards."""
    env, network = games_before_their_last_choice(), make_network()
    seen, asked = [], []

    def noted_advantages(decisions, *settings):
        seen.append((decisions, settings))
        return advantages(decisions, *settings)

    def noted_step(actions):
        asked.append((env.states.copy(), actions.copy()))
        return SelfPlayBatch.step(env, actions)

    monkeypatch.setattr(module, "advantages", noted_advantages)
    monkeypatch.setattr(env, "step", noted_step)
    config = CONFIG.model_copy(update={"td_lambda": 0.7})
    examples, _ = SearchedSelfPlay(env, config, REWARD).play(network, turns, np.random.default_rng(1))
    ((decisions, settings),) = seen
    assert settings == (1.0, 0.7)
    learned = advantages(decisions, 1.0, 0.7) + decisions.values
    assert examples.returns.tolist() == learned[decisions.learner_mask].tolist()
    dynamics, random, policies = PatchworkDynamics(**REWARD.model_dump()), np.random.default_rng(1), []
    search = GumbelSearch(dynamics, 4, 4, c_scale=config.c_scale, value_range=5.0)  # from a loss to a win
    for turn, (states, actions) in enumerate(asked):
        games = [Game.from_state(states, i) for i in range(GAMES)]
        choosing = np.array([len(game.legal_actions()) > 1 for game in games])
        assert decisions.learner_mask[turn].tolist() == choosing.tolist()
        if choosing.any():
            noise = np.random.default_rng(int(random.integers(2**63, size=1)[0]))
            result = search.run(states[choosing], NetworkEvaluator(network), noise)
            assert actions[choosing].tolist() == result.chosen.tolist()
            np.testing.assert_allclose(decisions.values[turn, choosing], result.values, atol=1e-5)
            policies += [result.policy]
        for i, game in enumerate(games):
            assert decisions.players[turn, i] == game.current_player
            game.play(actions[i])
            assert decisions.dones[turn, i] == game.is_over
            if turn + 1 == turns:
                check_end_of_rollout(game, decisions, i, REWARD, network)
            else:
                assert decisions.rewards[turn, i].tolist() == pytest.approx(naive_rewards(game, REWARD))
    chosen = np.concatenate([states[d] for (states, _), d in zip(asked, decisions.learner_mask, strict=True)])
    assert examples.states.tobytes() == chosen.tobytes()
    np.testing.assert_allclose(examples.policies, np.concatenate(policies), atol=1e-3)
    assert examples.counts.sum() == len(examples.policies)
    assert decisions.dones.any() or (decisions.rewards[-1] != 0).any()


def games_before_their_last_choice():
    env = new_env(GAMES)
    saved, states = env.save(), env.states.copy()
    for i in range(GAMES):
        games = [Game(seed=i)]
        while not games[-1].is_over:
            games.append(games[-1].clone())
            games[-1].play(games[-1].legal_actions()[-1])  # buys if it can, and ends without buttons
        states[i] = [game for game in games if len(game.legal_actions()) > 1][-1].state[0]
    env.restore(saved | {"states": states.view(np.uint8)})
    return env


def test_examples_depend_on_the_seed_and_threads_share_the_games():
    played = []
    for seed, threads in ((1, None), (1, None), (5, None), (1, ThreadPool(2))):
        self_play = SearchedSelfPlay(new_env(GAMES), CONFIG, REWARD, threads)
        played.append(self_play.play(make_network(), 8, np.random.default_rng(seed))[0])
    first, second, other, shared = played
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.states, other.states)
    for i, count in enumerate(shared.counts):
        assert count == len(Game.from_state(shared.states, i).legal_actions())
    assert len(shared.policies) == shared.counts.sum()
    assert len(shared.states) == len(shared.counts) == len(shared.returns)


@pytest.mark.slow
def test_a_rollout_without_a_decision_has_no_examples():
    """Turn by turn, until a rollout has no choice."""
    self_play = SearchedSelfPlay(new_env(1), CONFIG, REWARD)
    rollouts = [self_play.play(make_network(), 1, np.random.default_rng(1))[0] for _ in range(100)]
    numbers = [len(examples.states) for examples in rollouts]
    assert set(numbers) == {0, 1}
    without = rollouts[numbers.index(0)]
    assert [(array.dtype, len(array)) for array in without] == [(array.dtype, 0) for array in NO_EXAMPLES]
