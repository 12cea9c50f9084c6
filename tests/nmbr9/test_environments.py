"""The environments of NMBR 9: what is special to the game; ``tests/envs`` has what all games do."""

from functools import partial

import numpy as np
import pytest

from patchwork_env import nmbr9_v0
from patchwork_env.nmbr9 import Game
from patchwork_env.nmbr9_v0 import Nmbr9Env, SelfPlayBatch


def test_decks_give_their_games():
    batch = SelfPlayBatch(2, deck=[3, 1, 4], seed=1)
    for _ in range(7):
        batch.step(batch.random_actions)
        assert {game.deck for game in batch.games()} == {(3, 1, 4)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "random"}, "order is 'random'; allowed are 'unknown', 'known', 'free'"),
        ({"players": 5}, "players is 5"),
        ({"players": 1, "rewards": "outcome"}, "needs 2 players"),
        ({"players": 1, "rewards": "margin"}, "needs 2 players"),
    ],
)
def test_wrong_options(options, message):
    for make in (nmbr9_v0.raw_env, nmbr9_v0.parallel_env, partial(SelfPlayBatch, 1), Nmbr9Env):
        with pytest.raises(ValueError, match=message):
            make(**options)


def play_out(env, seed):
    """Random legal play; returns every agent's sum of rewards."""
    rng, returns = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        over = terminated or truncated
        env.step(None if over else rng.choice(np.flatnonzero(observation["action_mask"])))
    return returns


@pytest.mark.parametrize("players", [2, 3, 4])
def test_outcomes(players):
    env = nmbr9_v0.raw_env(players=players, deck_size=8)
    ties = 0
    for seed in range(8):
        env.reset(seed=seed)
        returns, winners = list(play_out(env, seed).values()), env.game.winners()
        assert abs(sum(returns)) < 1e-9
        assert {player for player in range(players) if returns[player] == max(returns)} == set(winners)
        if len(winners) == 1:
            assert sorted(returns) == pytest.approx([-1 / (players - 1)] * (players - 1) + [1])
        ties += len(winners) > 1
    assert ties


def test_two_that_tie_get_nothing():
    game = Game(deck=[5], players=2)
    for _ in range(2):
        game.play(game.legal_actions()[0])
    assert [game.rules.kernels.outcome(game.state, 0, player) for player in range(2)] == [0.0, 0.0]
