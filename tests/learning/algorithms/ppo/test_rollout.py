"""Rollouts, replayed game by game, and updates that diverge."""

import copy
from collections import Counter

import numpy as np
import pytest
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import NetworkEvaluator
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import SelfPlay, choose
from patchwork_env.learning.config import Reward
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork_v0 import SelfPlayBatch
from tests.learning.algorithms.naive import check_end_of_rollout, naive_rewards

GAMES = 12
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0, margin_cut=1.0)


def make_network(seed=0, advance=0.0):
    """A small network; ``advance`` is added to its logit for advancing."""
    torch.manual_seed(seed)
    network = PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))
    with torch.no_grad():
        network.kind.bias[0] = advance
    return network


def new_self_play(league_fraction=0.0):
    env = SelfPlayBatch(GAMES, seed=2, masks=False, observations=False)
    return SelfPlay(env, REWARD, league_fraction)


EAGER, RELUCTANT = 50.0, -50.0
"""Additions to logits for advancing: past selves always advance, or never, so moves tell them apart."""


@pytest.mark.parametrize(
    ("advance", "league_fraction", "lengths"),
    [
        (0.0, 0.0, (60,)),
        (-3.0, 0.0, (38, 1, 1, 1)),  # these games end soon, some of them by forced turns alone
        (0.0, 2 / 3, (60,)),
        (RELUCTANT, 1.0, (25, 25, 25, 25)),
    ],
)
def test_rollouts_are_what_was_played(advance, league_fraction, lengths):
    """Against changing past selves; those with even numbers always advance if they can."""
    learner, self_play = make_network(0, advance), new_self_play(league_fraction)
    networks = [make_network(1 + number, (EAGER, RELUCTANT)[number % 2]) for number in range(6)]
    random, began, kinds, ended = np.random.default_rng(1), [None] * GAMES, set(), 0
    for k, turns in enumerate(lengths):
        drawn = [k, k + 1] if league_fraction else []
        in_play = {number for number in began if number is not None}
        assert self_play.past_selves_in_play == in_play
        past_selves = {number: networks[number] for number in in_play.union(drawn)}
        rollout = self_play.collect(learner, past_selves, turns, random, drawn)
        met, won, results = Counter(), Counter(), []
        for i in range(GAMES):
            position = i - (GAMES - round(league_fraction * GAMES))
            dealt = drawn[position // 2 % 2] if position >= 0 else None
            began[i] = replay(rollout, i, dealt, began[i], met, won, results)
            last = Game.from_state(rollout.states[-1], i)
            last.play(rollout.actions[-1, i])
            kinds.add(check_end_of_rollout(last, rollout.decisions, i, REWARD, learner))
        check_network_output(rollout, learner)
        assert (rollout.league.games, rollout.league.wins) == (met, {number: won[number] for number in met})
        rate = sum(won.values()) / sum(met.values()) if met else None
        assert rollout.statistics.get("win_rate_against_past_self") == rate
        ended += sum(met.values())
        found = [rollout.statistics[name] for name in ("score", "bonus_tiles") if results]
        assert found == pytest.approx(np.mean(results, axis=0) if results else [])
    assert bool(ended) == bool(league_fraction)
    assert advance != -3.0 or kinds == {"free", "forced", "decided", "over"}


def replay(rollout, i, dealt, opponent, met, won, results):
    """Replay one game of a batch, and those that follow it; return the opponent of the last one."""
    decisions, game = rollout.decisions, Game.from_state(rollout.states[0], i)
    for turn in range(len(rollout.states)):
        state = Game.from_state(rollout.states[turn], i)
        if game.is_over:
            assert len(state.circle) == 33
            game = state
        if len(state.circle) == 33 and sum(state.positions) == 0:
            opponent = dealt
        assert game == state
        mover, action = game.current_player, rollout.actions[turn, i]
        is_choice = len(game.legal_actions()) > 1
        is_asked = opponent is None or mover == i % 2
        assert decisions.players[turn, i] == mover
        assert decisions.learner_mask[turn, i] == (is_choice and is_asked)
        if is_choice and not is_asked and not game.pending_special:
            assert (action == ADVANCE) == (opponent % 2 == 0)
        game.play(action)
        assert decisions.dones[turn, i] == game.is_over
        if turn + 1 < len(rollout.states):
            assert decisions.rewards[turn, i].tolist() == pytest.approx(naive_rewards(game, REWARD))
        if game.is_over:
            results.append((np.mean(game.scores()), game.bonus_owner is not None))
        if game.is_over and opponent is not None:
            met[opponent] += 1
            won[opponent] += game.winner() == i % 2
    return None if game.is_over else opponent


def check_network_output(rollout, learner):
    """The learner's decisions have the values and log-probabilities of its network, all others zeros."""
    learning = rollout.decisions.learner_mask
    inputs, legal = PatchworkNetwork.encode(rollout.states[learning])
    with torch.inference_mode():
        output = learner(inputs)
    logs = output.log_probabilities.numpy()[legal.position_of(rollout.actions[learning])]
    np.testing.assert_allclose(rollout.log_probabilities[learning], logs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rollout.decisions.values[learning], output.values, atol=1e-5)
    assert not rollout.log_probabilities[~learning].any()
    assert not rollout.decisions.values[~learning].any()


def test_actions_are_drawn_by_the_policies_that_are_asked():
    states = np.repeat(Game(seed=1).state, 1500)
    networks = [make_network(seed, advance) for seed, advance in ((0, 5.0), (1, 3.0))]
    asked = np.arange(1500) % 3 // 2
    evaluators = [NetworkEvaluator(network, torch.float32) for network in networks]
    choice = choose(evaluators, asked, states, np.random.default_rng(3), ThreadPool(2))
    for number, network in enumerate(networks):
        inputs, _ = network.encode(states[:1])
        with torch.inference_mode():
            expected = network(inputs)
        advances = choice.actions[asked == number] == ADVANCE
        chance = float(expected.log_probabilities[0].exp())
        error = np.sqrt(chance * (1 - chance) / len(advances))
        assert advances.mean() == pytest.approx(chance, abs=4 * error)
        assert choice.values[asked == number] == pytest.approx(expected.values.item(), abs=1e-5)


def test_single_game_all_against_past_selves():
    """Some turns have no decision, or only one of the past self."""
    env, network = SelfPlayBatch(1, seed=2, masks=False, observations=False), make_network()
    learner = PpoLearner(network, Ppo())
    rollout = SelfPlay(env, REWARD, 1.0).collect(network, {0: make_network(1)}, 60, np.random.default_rng(1))
    assert 0 < rollout.decisions.learner_mask.sum() < 50
    assert learner.update(rollout, 0.0, np.random.default_rng(0))
    rollout.decisions.learner_mask[:] = False
    assert learner.update(rollout, 0.0, np.random.default_rng(0)) == {}


def test_a_divergence_changes_no_weight():
    network = make_network()
    rollout = new_self_play().collect(network, {}, 20, np.random.default_rng(1))
    with torch.no_grad():
        network.value.bias.fill_(1e30)  # its square is infinite
    before, config = copy.deepcopy(network.state_dict()), Ppo(epochs=1, minibatch_size=50)
    with pytest.raises(DivergenceError, match=r"the loss is inf \(loss inf, policy_loss -?0.*value_loss inf"):
        PpoLearner(network, config).update(rollout, 0.0, np.random.default_rng(0))
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
