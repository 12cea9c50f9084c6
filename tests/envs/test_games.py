"""Options and rewards of the two games; the other tests of this folder are for all games."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from patchwork_env import nmbr9, nmbr9_v0, patchwork_v0
from patchwork_env.core.batches import MARGIN, loop, reward_of
from patchwork_env.envs.pettingzoo import GameParallelEnv
from patchwork_env.nmbr9_v0 import Nmbr9Env
from patchwork_env.patchwork_v0 import PatchworkEnv, PatchworkVectorEnv

CIRCLE = [*range(32, 0, -1), 0]
PATCHWORK = [patchwork_v0.env, patchwork_v0.raw_env, PatchworkEnv, partial(PatchworkVectorEnv, num_envs=2)]
PATCHWORK += [partial(patchwork_v0.SelfPlayBatch, num_envs=2)]
NMBR9 = [nmbr9_v0.raw_env, nmbr9_v0.parallel_env, partial(nmbr9_v0.SelfPlayBatch, 1), Nmbr9Env]


@pytest.mark.parametrize(
    ("makers", "options", "message"),
    [
        (PATCHWORK, {"special_patches": 2014}, "special_patches is 2014"),
        (PATCHWORK, {"first_player": "player_0"}, "'player_0'; allowed are 'random'"),
        (PATCHWORK, {"first_player": -1}, "first_player is -1"),
        (PATCHWORK[-2:], {"num_envs": 2**31}, "num_envs is 2147483648; allowed are 1 to 2147483647"),
        ([partial(GameParallelEnv, patchwork_v0.RULES)], {}, "of Patchwork do not act at the same time"),
        (NMBR9, {"players": 5}, "players is 5"),
        (NMBR9, {"players": 1, "rewards": "outcome"}, "needs 2 players"),
        (NMBR9, {"players": 1, "rewards": "margin"}, "needs 2 players"),
    ],
)
def test_wrong_options(makers, options, message):
    for make in makers:
        with pytest.raises(ValueError, match=message):
            make(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cirle": CIRCLE}, "did you mean 'circle'"),
        ({"circle": [*CIRCLE[1:], 32]}, "must end in patch 0"),
        ({"first_player": 2}, "first_player is 2"),
    ],
)
def test_wrong_options_of_a_reset(options, message):
    for env in (patchwork_v0.raw_env(), PatchworkEnv(), PatchworkVectorEnv(2)):
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)


def test_opponents_that_do_not_exist():
    for opponent in ("greddy", 5, Path("runs/nothing")):
        with pytest.raises((ValueError, FileNotFoundError), match=str(opponent)):
            PatchworkEnv(opponent)


def test_a_random_circle_and_a_given_one_take_as_many_random_numbers():
    env, other = patchwork_v0.raw_env(first_player="random"), patchwork_v0.raw_env(first_player="random")
    env.reset(seed=1)
    other.reset(seed=1, options={"circle": CIRCLE})
    env.reset()
    other.reset()
    assert env.game == other.game


def test_decks_give_their_games():
    batch = nmbr9_v0.SelfPlayBatch(2, deck=[3, 1, 4], seed=1)
    for _ in range(7):
        batch.step(batch.random_actions)
        assert {game.deck for game in batch.games()} == {(3, 1, 4)}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_winners_share_the_outcome_and_margins_are_to_the_best_of_the_others(players):
    rng, ties = np.random.default_rng(players), 0
    reward = loop(reward_of, nmbr9.Game.rules)
    for seed in range(8):
        game = nmbr9.Game(seed, players=players, deck_size=8)
        while not game.is_over:
            game.play(rng.choice(game.legal_actions()))
        winners = game.winners()
        share, rest = (players / len(winners) - 1) / (players - 1), -1 / (players - 1)
        expected = [share if player in winners else rest for player in range(players)]
        found = [game.rules.kernels.outcome(game.state, 0, player) for player in range(players)]
        assert found == pytest.approx(expected)
        ties += len(winners) > 1
        for player, score in enumerate(scores := game.scores()):
            margin = (score - max(scores[:player] + scores[player + 1 :])) / 100
            assert reward(game.state, 0, player, MARGIN, 0) == pytest.approx(margin)
    assert ties
