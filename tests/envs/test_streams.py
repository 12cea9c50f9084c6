"""Random streams: no two of one environment are ever equal."""

from __future__ import annotations

from typing import Any

import pytest

from patchwork_env.agents import load
from patchwork_env.envs.dealing import Dealer
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from tests.envs.cases import NMBR9, PATCHWORK, streams_of

GAMES = [
    (PATCHWORK, {}),
    (NMBR9, {"players": 1, "deck_size": 6}),
    *((NMBR9, {"players": players, "deck_size": 6}) for players in (2, 3, 4)),
]
OPPONENTS = ["random", "uct:simulations=2", "partner:level=1"]
SEEDS = (0, 4, 2**33)


def single(rules, options, opponents, seat, seed):
    env = GameEnv(rules, opponents and opponents[seed % len(opponents)], seat=seat, **options)
    env.reset(seed=seed)

    def step():
        if env.step(env.action_masks().argmax())[2]:
            env.reset()

    return env, step


def many(rules, options, opponents, seat, seed):
    envs = GameVectorEnv(rules, 3, opponents, seat=seat, **options)
    envs.reset(seed=seed)
    return envs, lambda: envs.step(envs.action_masks().argmax(1))


def self_play(rules, options, opponents, seat, seed):
    batch = SelfPlayBatch(rules, 3, seed=seed, **options)
    return batch, lambda: batch.step(batch.random_actions)


def sb3(rules, options, opponents, seat, seed):
    env = SelfPlayVecEnv(4, opponents, game=rules.name, seed=seed, **options)
    env.reset()
    return env, lambda: env.step(env.action_masks().argmax(1))


def test_a_seed_gives_seats_and_deals_different_streams():
    dealer = Dealer(PATCHWORK, 2, PATCHWORK.options, "random")
    for game in (1, 0):
        dealer.reseed(game, 7 + game)
    states = [state for _, state in streams_of(dealer)]
    assert len(set(states)) == len(states) == 4


@pytest.mark.parametrize("make", [single, many])
def test_a_reset_with_a_seed_restarts_all_streams(make):
    """Also those of the hidden information that opponents see."""
    env, step = make(NMBR9, {"players": 2, "deck_size": 6}, [load("random")], "random", 4)
    begun = list(streams_of(env))
    for _ in range(3):
        step()
    env.reset(seed=4)
    assert list(streams_of(env)) == begun


@pytest.mark.parametrize("make", [single, many, self_play, sb3])
@pytest.mark.parametrize(("rules", "options"), GAMES, ids=str)
def test_no_two_streams_of_an_environment_are_ever_equal(make, rules, options):
    for seed, seat in zip(SEEDS, (0, "alternate", "random"), strict=True):
        opponents = None if options.get("players") == 1 else [load(spec) for spec in OPPONENTS]
        env, step = make(rules, options, opponents, seat, seed)
        for _ in range(12):
            found = list(streams_of(env))
            names: dict[Any, list[str]] = {}
            for name, state in found:
                names.setdefault(state, []).append(name)
            assert all(len(equal) == 1 for equal in names.values()), [n for n in names.values() if len(n) > 1]
            step()
    assert len(found) >= 2 + 2 * (make is single and opponents is not None)
