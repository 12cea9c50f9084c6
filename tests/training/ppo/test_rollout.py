"""Rollouts, the league and the learning step, on small numbers of games."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from patchwork_env.agents.network import NetworkConfig, PatchworkNetwork, encode
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork.vector_env import SelfPlayVectorEnv
from training.advantages import advantages
from training.config import Ppo, Reward, Schedule
from training.league import Pool
from training.ppo.learner import PpoLearner
from training.ppo.rollout import SelfPlay
from training.trainer import DivergenceError

GAMES, TURNS = 12, 60
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0)


def make_network(seed=0, advance=0.0):
    """A small network; ``advance`` is how much it likes to advance."""
    torch.manual_seed(seed)
    network = PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))
    with torch.no_grad():
        network.kind.bias[0] = advance
    return network


def collect(league_fraction=0.0, past_self=None, learner=None, turns=TURNS):
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    self_play = SelfPlay(env, REWARD, league_fraction)
    return self_play.collect(learner or make_network(), past_self, turns, np.random.default_rng(1))


@pytest.fixture(scope="module")
def rollout():
    return collect()


def test_rollout_is_what_was_played(rollout):
    """Every game is played again by its actions; new ones start where one ends."""
    decisions, ended = rollout.decisions, 0
    for i in range(GAMES):
        game = Game.from_state(rollout.states[0], i)
        for turn in range(TURNS):
            state = rollout.states[turn, i : i + 1]
            if game.is_over:
                game = Game.from_state(state)
                assert len(game.circle) == 33
            assert game == Game.from_state(state)
            assert decisions.players[turn, i] == game.current_player
            assert decisions.learning[turn, i] == (len(game.legal_actions()) > 1)
            game.play(rollout.actions[turn, i])
            assert decisions.ends[turn, i] == game.is_over
            assert decisions.rewards[turn, i].tolist() == pytest.approx(rewards_of(game))
            ended += game.is_over
        assert decisions.last_players[i] == game.current_player or game.is_over
    assert ended >= GAMES


def rewards_of(game):
    if not game.is_over:
        return [0, 0]
    margin = np.clip((game.scores()[0] - game.scores()[1]) / 20, -1, 1)
    first = (0.5 if game.winner() == 0 else -0.5) + 2 * margin
    return [first, -first]


def test_what_the_network_said_is_kept(rollout):
    learning = rollout.decisions.learning
    inputs, legal = encode(rollout.states[learning])
    with torch.inference_mode():
        output = make_network()(inputs)
    chosen = legal.position_of(rollout.actions[learning])
    assert legal.actions[chosen].tolist() == rollout.actions[learning].tolist()
    logs = output.log_probabilities.numpy()[chosen]
    np.testing.assert_allclose(rollout.log_probabilities[learning], logs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(rollout.decisions.values[learning], output.values, atol=1e-5)
    assert not rollout.log_probabilities[~learning].any()


def test_statistics(rollout):
    ends, games = rollout.decisions.ends, []
    for turn, i in np.argwhere(ends):
        game = Game.from_state(rollout.states[turn], i)
        game.play(rollout.actions[turn, i])
        games.append((np.mean(game.scores()), game.bonus_owner is not None))
    assert rollout.statistics["score"] == pytest.approx(np.mean([score for score, _ in games]))
    assert rollout.statistics["bonus_tiles"] == pytest.approx(np.mean([owned for _, owned in games]))
    assert rollout.statistics["turns_per_game"] == pytest.approx(ends.size / len(games))
    assert "win_rate_against_past_self" not in rollout.statistics
    assert collect(turns=3).statistics == {}


def test_league_games_have_the_past_self_in_one_seat():
    # The past self always advances and the learner never does if it can buy.
    rollout = collect(0.5, make_network(1, advance=50.0), make_network(0, advance=-50.0))
    decisions, league_games = rollout.decisions, np.arange(GAMES) >= GAMES // 2
    seats = []
    for i in range(GAMES):
        for turn in range(TURNS):
            game = Game.from_state(rollout.states[turn], i)
            if len(game.legal_actions()) == 1 or game.pending_special:
                continue
            is_learner = rollout.actions[turn, i] != ADVANCE
            assert is_learner == decisions.learning[turn, i]
            assert league_games[i] or is_learner
            if league_games[i] and is_learner:
                seats.append((i, game.current_player))
    # In each league game the learner keeps one seat, and it has both equally often.
    assert len(set(seats)) == GAMES // 2
    assert sum(seat for _, seat in set(seats)) == GAMES // 4
    learner_seats = dict(seats)
    winners = [
        (i, int(decisions.rewards[turn, i, 1] > 0))
        for turn, i in np.argwhere(decisions.ends)
        if league_games[i]
    ]
    wins = np.mean([learner_seats[i] == winner for i, winner in winners])
    assert rollout.statistics["win_rate_against_past_self"] == pytest.approx(wins)


def test_without_past_selves_league_games_are_self_play():
    assert collect(1.0).decisions.learning.tolist() == collect(0.0).decisions.learning.tolist()


def test_single_game_all_against_past_selves():
    """Turns in which nobody is asked, or the past self alone, are no obstacle."""
    env = SelfPlayVectorEnv(1, seed=2, masks=False, observations=False)
    network = make_network()
    rollout = SelfPlay(env, REWARD, 1.0).collect(network, make_network(1), 60, np.random.default_rng(1))
    assert 0 < rollout.decisions.learning.sum() < 50
    assert PpoLearner(network, Ppo()).update(rollout, 0.0, np.random.default_rng(0))
    rollout.decisions.learning[:] = False
    assert PpoLearner(network, Ppo()).update(rollout, 0.0, np.random.default_rng(0)) == {}


# --- past selves --------------------------------------------------------------------------------------------


def test_pool_keeps_the_last_copies():
    pool, network, random = Pool(3), make_network(), np.random.default_rng(0)
    assert pool.draw(random) is None
    for number in range(5):
        with torch.no_grad():
            network.value.bias.fill_(number)
        pool.add(network)
    with torch.no_grad():
        network.value.bias.fill_(-1)
    assert [snapshot.value.bias.item() for snapshot in pool.snapshots] == [2, 3, 4]
    assert not any(parameter.requires_grad for parameter in pool.snapshots[0].parameters())
    assert all(parameter.requires_grad for parameter in network.parameters())
    drawn = [pool.draw(random).value.bias.item() for _ in range(60)]
    assert set(drawn) == {2, 3, 4}


# --- learning -----------------------------------------------------------------------------------------------


def everything_at_once(**changes):
    """One minibatch with all decisions."""
    return Ppo(
        **{"epochs": 1, "minibatch_size": 10**6, "learning_rate": Schedule(start=1e-3, end=0)} | changes
    )


def weighted_log_probability(network, rollout):
    """What the policy gradient raises: the log-probabilities weighted by the advantages."""
    learning = rollout.decisions.learning
    inputs, legal = encode(rollout.states[learning])
    with torch.inference_mode():
        logs = network(inputs).log_probabilities.numpy()[legal.position_of(rollout.actions[learning])]
    estimates = advantages(rollout.decisions, 1.0, 0.95)[learning]
    return float((logs * (estimates - estimates.mean())).sum())


def test_update_makes_good_actions_likelier(rollout):
    network = make_network()
    before = weighted_log_probability(network, rollout)
    metrics = PpoLearner(network, everything_at_once()).update(rollout, 0.0, np.random.default_rng(0))
    assert weighted_log_probability(network, rollout) > before + 0.1
    # At the first step the policy is still the one that played.
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["clip_fraction"] == 0
    assert metrics["policy_loss"] == pytest.approx(0, abs=1e-5)


def test_update_learns_the_values(rollout):
    network = make_network()
    learner = PpoLearner(network, everything_at_once(epochs=20, learning_rate=Schedule(start=1e-2, end=0)))
    first = learner.update(rollout, 0.0, np.random.default_rng(0))
    second = learner.update(rollout, 0.0, np.random.default_rng(0))
    assert second["value_loss"] < 0.5 * first["value_loss"]


def test_entropy_bonus(rollout):
    def entropy_after(coefficient):
        network = make_network(advance=1.0)
        config = everything_at_once(epochs=10, entropy_coefficient=Schedule(start=coefficient, end=0))
        learner = PpoLearner(network, config)
        learner.update(rollout, 0.0, np.random.default_rng(0))
        return learner.update(rollout, 0.0, np.random.default_rng(0))["entropy"]

    assert entropy_after(5.0) > entropy_after(0.0)


def test_learning_rate_follows_its_schedule(rollout):
    network = make_network()
    before = [parameter.clone() for parameter in network.parameters()]
    learner = PpoLearner(network, everything_at_once())
    learner.update(rollout, 1.0, np.random.default_rng(0))  # at the end it is 0
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))
    learner.update(rollout, 0.5, np.random.default_rng(0))
    assert learner.optimizer.param_groups[0]["lr"] == 5e-4


def test_divergence_is_noticed_before_the_weights_change(rollout):
    network = make_network()
    with torch.no_grad():
        network.value.bias.fill_(1e30)  # its square is infinite
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(DivergenceError, match="training diverged: the loss is inf"):
        PpoLearner(network, everything_at_once()).update(rollout, 0.0, np.random.default_rng(0))
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
