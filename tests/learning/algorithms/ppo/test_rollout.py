"""Rollouts, the league and the learning step, on small numbers of games."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from patchwork_env.agents.networks import NetworkConfig
from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
from patchwork_env.errors import DivergenceError
from patchwork_env.learning.algorithms.common.advantages import advantages
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.ppo.config import Ppo
from patchwork_env.learning.algorithms.ppo.learner import PpoLearner
from patchwork_env.learning.algorithms.ppo.rollout import SelfPlay
from patchwork_env.learning.config import Reward, Schedule
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.actions import ADVANCE
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv

GAMES, TURNS = 12, 60
REWARD = Reward(outcome=0.5, margin=2.0, margin_scale=20.0)


def make_network(seed=0, advance=0.0):
    """A small network; ``advance`` is how much it likes to advance."""
    torch.manual_seed(seed)
    network = PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=4))
    with torch.no_grad():
        network.kind.bias[0] = advance
    return network


def collect(league_fraction=0.0, past_selves=(), learner=None, turns=TURNS):
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    self_play = SelfPlay(env, REWARD, league_fraction)
    past_selves = dict(enumerate(past_selves))
    return self_play.collect(learner or make_network(), past_selves, turns, np.random.default_rng(1))


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
            if turn < TURNS - 1:
                assert decisions.rewards[turn, i].tolist() == pytest.approx(rewards_of(game))
            ended += game.is_over
    assert ended >= GAMES


def rewards_of(game):
    if not game.is_over:
        return [0, 0]
    margin = np.clip((game.scores()[0] - game.scores()[1]) / 20, -1, 1)
    first = (0.5 if game.winner() == 0 else -0.5) + 2 * margin
    return [first, -first]


def test_what_the_network_said_is_kept(rollout):
    learning = rollout.decisions.learning
    inputs, legal = PatchworkNetwork.encode(rollout.states[learning])
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
    lasts = [max(np.flatnonzero(ends[:, i]), default=-1) for i in range(GAMES)]
    turns_of_finished_games = sum(last + 1 for last in lasts)
    assert rollout.statistics["turns_per_game"] == pytest.approx(turns_of_finished_games / len(games))
    assert "win_rate_against_past_self" not in rollout.statistics
    assert collect(turns=3).statistics == {}


def test_league_games_have_the_past_self_in_one_seat():
    # The past self always advances and the learner never does if it can buy.
    rollout = collect(0.5, [make_network(1, advance=50.0)], make_network(0, advance=-50.0))
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


def test_several_past_selves_share_the_league_games():
    """Networks that always advance and that never do, so that their moves tell them apart."""
    never, always = make_network(0, advance=-50.0), make_network(1, advance=50.0)
    rollout = collect(2 / 3, [never, always], never)
    seats = {i: set() for i in range(GAMES)}
    for turn, i in np.argwhere(~rollout.decisions.learning):
        game = Game.from_state(rollout.states[turn], i)
        if len(game.legal_actions()) > 1 and not game.pending_special:
            seats[i].add((game.current_player, rollout.actions[turn, i] == ADVANCE))
    # Games 4 to 11 are league games; neighbors have the same past self, and the learner both seats.
    expected = [{(1 - i % 2, i // 2 % 2 == 1)} for i in range(4, GAMES)]
    assert [seats[i] for i in range(GAMES)] == [set()] * 4 + expected
    wins, games = np.zeros(2, int), np.zeros(2, int)
    for turn, i in np.argwhere(rollout.decisions.ends[:, 4:]):
        wins[i // 2 % 2] += rollout.decisions.rewards[turn, 4 + i, i % 2] > 0
        games[i // 2 % 2] += 1
    assert rollout.league.wins == dict(enumerate(wins))
    assert rollout.league.games == dict(enumerate(games))
    assert games.min() > 0
    assert rollout.statistics["win_rate_against_past_self"] == wins.sum() / games.sum()


def test_opponents_change_between_games_only():
    """In short rollouts with changing past selves, a game goes on against whom it began with."""
    networks = [make_network(number) for number in range(5)]
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    self_play, random = SelfPlay(env, REWARD, 1.0), np.random.default_rng(1)
    began: dict[int, int] = {}
    wins, games, expected_wins, expected_games = Counter(), Counter(), Counter(), Counter()
    for drawn in range(5):
        in_play = self_play.past_selves_in_play | {drawn}
        assert in_play == {drawn, *began.values()}
        past_selves = {number: networks[number] for number in in_play}
        rollout = self_play.collect(networks[0], past_selves, 25, random, [drawn])
        wins.update(rollout.league.wins)
        games.update(rollout.league.games)
        for turn, i in np.ndindex(25, GAMES):
            opponent = began.setdefault(i, drawn)
            if rollout.decisions.ends[turn, i]:
                expected_games[opponent] += 1
                expected_wins[opponent] += rollout.decisions.rewards[turn, i, i % 2] > 0
                del began[i]
        in_progress = {i: number for i, number in enumerate(self_play.opponents.tolist()) if number >= 0}
        assert in_progress == began
    assert len(expected_games) > 1
    assert (games, wins) == (expected_games, expected_wins)


def test_threads_do_not_change_who_plays():
    """Networks that are sure of their moves, so that rounding has no say."""
    networks = [make_network(number, advance=(-1) ** number * 50.0) for number in range(4)]
    env = SelfPlayVectorEnv(GAMES, seed=2, masks=False, observations=False)
    shared = SelfPlay(env, REWARD, 0.5, ThreadPool(3)).collect(
        networks[0], dict(enumerate(networks[1:])), 20, np.random.default_rng(1)
    )
    alone = collect(0.5, networks[1:], networks[0], turns=20)
    assert shared.actions.tolist() == alone.actions.tolist()
    assert shared.decisions.learning.tolist() == alone.decisions.learning.tolist()


def test_behind_the_rollout_forced_turns_are_played_on():
    """Values are read where they are trained; a game that ends without another choice has its result."""
    network, kinds = make_network(advance=-3.0), []
    for turns in range(38, 42):
        rollout = collect(learner=network, turns=turns)
        decisions = rollout.decisions
        for i in range(GAMES):
            game = Game.from_state(rollout.states[-1], i)
            game.play(rollout.actions[-1, i])
            if game.is_over:
                kinds.append("over")
                assert decisions.rewards[-1, i].tolist() == pytest.approx(rewards_of(game))
                continue
            forced = 0
            while len(game.legal_actions()) == 1:
                game.play(game.legal_actions()[0])
                forced += 1
            kinds.append(("decided" if game.is_over else "forced") if forced else "free")
            assert decisions.rewards[-1, i].tolist() == pytest.approx(rewards_of(game))
            assert not decisions.ends[-1, i]
            expected = 0.0 if game.is_over else value_of(network, game)
            assert decisions.last_values[i] == pytest.approx(expected, abs=1e-5)
            assert game.is_over or decisions.last_players[i] == game.current_player
    assert set(kinds) == {"over", "decided", "forced", "free"}


def value_of(network, game):
    inputs, _ = PatchworkNetwork.encode(game.state)
    with torch.inference_mode():
        return network(inputs).values.item()


def test_without_past_selves_league_games_are_self_play():
    assert collect(1.0).decisions.learning.tolist() == collect(0.0).decisions.learning.tolist()


def test_single_game_all_against_past_selves():
    """Turns in which nobody is asked, or the past self alone, are no obstacle."""
    env = SelfPlayVectorEnv(1, seed=2, masks=False, observations=False)
    network = make_network()
    rollout = SelfPlay(env, REWARD, 1.0).collect(network, {0: make_network(1)}, 60, np.random.default_rng(1))
    assert 0 < rollout.decisions.learning.sum() < 50
    assert PpoLearner(network, Ppo()).update(rollout, 0.0, np.random.default_rng(0))
    rollout.decisions.learning[:] = False
    assert PpoLearner(network, Ppo()).update(rollout, 0.0, np.random.default_rng(0)) == {}


# --- learning -----------------------------------------------------------------------------------------------


def everything_at_once(**changes):
    """One minibatch with all decisions."""
    return Ppo(
        **{"epochs": 1, "minibatch_size": 10**6, "learning_rate": Schedule(start=1e-3, end=0)} | changes
    )


def weighted_log_probability(network, rollout):
    """What the policy gradient raises: the log-probabilities weighted by the advantages."""
    learning = rollout.decisions.learning
    inputs, legal = PatchworkNetwork.encode(rollout.states[learning])
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


def test_a_divergence_holds_what_the_loss_was_computed_from(rollout):
    network = make_network()
    with torch.no_grad():
        network.value.bias.fill_(1e30)
    config = everything_at_once(minibatch_size=50)
    with pytest.raises(DivergenceError) as caught:
        PpoLearner(network, config).update(rollout, 0.0, np.random.default_rng(0))
    losses, batch = caught.value.losses, caught.value.batch
    assert losses["loss"] == losses["value_loss"] == np.inf
    assert np.isfinite(losses["policy_loss"])
    learning = rollout.decisions.learning
    minibatches = int(np.ceil(learning.sum() / 50))
    first = np.array_split(np.random.default_rng(0).permutation(learning.sum()), minibatches)[0]
    assert batch["states"].tobytes() == rollout.states[learning][first].tobytes()
    assert batch["actions"].tolist() == rollout.actions[learning][first].tolist()
    assert batch["log_probabilities"].tolist() == rollout.log_probabilities[learning][first].tolist()
    estimates = advantages(rollout.decisions, 1.0, 0.95)[learning]
    assert batch["returns"] == pytest.approx((estimates + rollout.decisions.values[learning])[first])
    normal = (estimates - estimates.mean()) / estimates.std()
    assert batch["advantages"] == pytest.approx(normal[first], abs=1e-5)


# --- how far an update goes ---------------------------------------------------------------------------------


def update_and_measure(rollout, **changes):
    """A long update with large steps; its metrics, and KL(old || new) over the decisions of the rollout."""
    network = make_network()
    settings = {"epochs": 15, "learning_rate": Schedule(start=3e-3, end=0), "clip_range": 10.0} | changes
    learner = PpoLearner(network, everything_at_once(**settings))
    metrics = learner.update(rollout, 0.0, np.random.default_rng(0))
    inputs, legal = PatchworkNetwork.encode(rollout.states[rollout.decisions.learning])
    with torch.inference_mode():
        old = make_network()(inputs).log_probabilities
        new = network(inputs).log_probabilities
    return metrics, float((old.exp() * (old - new)).sum() / len(legal.counts))


def test_target_kl_ends_an_update(rollout):
    free, far = update_and_measure(rollout)
    assert "updates" not in free
    stopped, near = update_and_measure(rollout, target_kl=0.01)
    assert 0 < stopped["updates"] < 15
    assert 0 < near < far
    assert update_and_measure(rollout, target_kl=1e6)[0]["updates"] == 15
    # At the first minibatch the policy is still the old one; the second is one step away from it.
    assert update_and_measure(rollout, target_kl=1e-12)[0]["updates"] == 1


def test_target_kl_ends_all_epochs(rollout):
    metrics, _ = update_and_measure(rollout, target_kl=0.01, minibatch_size=100)
    minibatches = int(np.ceil(rollout.decisions.learning.sum() / 100))
    assert 0 < metrics["updates"] < 2 * minibatches


def test_kl_penalty_keeps_the_policy_near(rollout):
    _, far = update_and_measure(rollout)
    _, near = update_and_measure(rollout, kl_coefficient=Schedule(start=10.0, end=0))
    assert 0 < near < 0.5 * far


def test_kl_penalty_follows_its_schedule(rollout):
    """At the end of the run it is gone, and the update is the one without it."""
    network, twin = make_network(), make_network()
    rate = Schedule(start=1e-2, end=1e-2)
    plain = everything_at_once(epochs=4, learning_rate=rate)
    penalized = everything_at_once(epochs=4, learning_rate=rate, kl_coefficient=Schedule(start=10.0, end=0))
    PpoLearner(network, plain).update(rollout, 1.0, np.random.default_rng(0))
    PpoLearner(twin, penalized).update(rollout, 1.0, np.random.default_rng(0))
    assert all(map(torch.equal, network.parameters(), twin.parameters()))
    half = PpoLearner(make_network(), penalized).update(rollout, 0.5, np.random.default_rng(0))
    terms = half["policy_loss"] + 0.5 * half["value_loss"] + 5.0 * half["kl"]
    terms -= penalized.entropy_coefficient.at(0.5) * half["entropy"]
    assert half["loss"] == pytest.approx(terms, abs=1e-5)
    assert half["kl"] > 1e-4
