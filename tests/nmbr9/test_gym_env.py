"""The Gymnasium environments: their interface, and that they play the game of the engine."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from patchwork_env.nmbr9 import Game, IllegalActionError
from patchwork_env.nmbr9.observation import as_dict
from patchwork_env.nmbr9_v0 import Nmbr9Env, Nmbr9VectorEnv

NAME = "patchwork_env:Nmbr9-v0"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"observation": "dict", "order": "known"},
    {"order": "free", "max_digit": 6, "deck_size": 5},
]
LINE = {"deck": [3] * 20}


def raw(**options: Any) -> Nmbr9Env:
    env = gymnasium.make(NAME, **options).unwrapped
    assert isinstance(env, Nmbr9Env)
    return env


def raw_vector(num_envs: int, **options: Any) -> Nmbr9VectorEnv:
    envs = gymnasium.make_vec(NAME, num_envs=num_envs, vectorization_mode="vector_entry_point", **options)
    assert isinstance(envs, Nmbr9VectorEnv)
    return envs


def play(env: gymnasium.Env[Any, Any], info: dict[str, Any], seed: int) -> list[Any]:
    """Random legal play to the end of the episode."""
    rng, transitions, over = np.random.default_rng(seed), [], False
    while not over:
        transitions.append(env.step(rng.choice(np.flatnonzero(info["action_mask"]))))
        _, _, terminated, truncated, info = transitions[-1]
        over = terminated or truncated
    return transitions


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_check_env(options: dict[str, Any]) -> None:
    check_env(raw(**options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_episodes_pass_the_passive_checker_and_return_the_score(options: dict[str, Any]) -> None:
    env = gymnasium.make(NAME, **options)
    observation, info = env.reset(seed=4)
    assert observation in env.observation_space
    transitions = play(env, info, 4)
    for seen, reward, terminated, truncated, after in transitions:
        assert seen in env.observation_space
        assert (type(reward), type(terminated), truncated) == (float, bool, False)
        assert (env.unwrapped.action_masks() == env.unwrapped.game.action_mask()).all()
        assert after["action_mask"].dtype == np.int8
    game = env.unwrapped.game
    assert game.is_over
    assert transitions[-1][4]["score"] == game.scores()[0] == sum(reward for _, reward, *_ in transitions)
    assert not transitions[-1][4]["action_mask"].any()


def test_the_seed_gives_the_game_of_that_seed() -> None:
    env = raw()
    env.reset(seed=11)
    assert env.game == Game(seed=11)
    env.reset()
    assert env.game != Game(seed=11)
    env.reset(options={"deck": [9, 1, 4]})
    assert env.game == Game(deck=[9, 1, 4])


def test_an_illegal_action_ends_the_episode() -> None:
    env = raw()
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["illegal_action"]) == (-1.0, True, False, 0)
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="16394 does not exist"):
        env.step(16394)


def test_an_illegal_action_may_raise_instead() -> None:
    env = raw(illegal_action="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="action 0 is not legal"):
        env.step(0)
    assert env.game == Game(seed=1)


def test_the_edge_of_the_table_truncates() -> None:
    env = raw()
    _, info = env.reset(options=LINE)
    truncated = False
    while not truncated:
        before = env.game
        _, reward, terminated, truncated, info = env.step(info["action_mask"].argmax())
        assert (reward, terminated) == (0.0, False)
    assert info["score"] == 0
    assert env.game == before
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_copies_and_pickles_go_on_alike() -> None:
    env = raw()
    _, info = env.reset(seed=2)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = [transition[1:3] for transition in play(env, info, 3)]
    for twin in twins:
        assert [transition[1:3] for transition in play(twin, info, 3)] == expected
        twin.reset()
    env.reset()
    assert env.game == twins[0].game == twins[1].game


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "random"}, "order is 'random'; allowed are 'unknown', 'known', 'free'"),
        ({"max_digit": 10}, "max_digit is 10; allowed are 0 to 9"),
        ({"copies": 5}, "5 copies of the digits 0 to 9 make 50 cards"),
        ({"deck_size": 21}, "deck_size is 21; allowed are 1 to 20"),
        ({"observation": "planes"}, "observation is 'planes'"),
        ({"illegal_action": "ignore"}, "illegal_action is 'ignore'"),
        ({"render_mode": "svg"}, "render_mode is 'svg'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Nmbr9Env(**options)


# --- many at once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_game_is_that_of_a_single_environment(options: dict[str, Any]) -> None:
    envs, single = raw_vector(3, **options), [raw(**options) for _ in range(3)]
    observations, infos = envs.reset(seed=5)
    starts = [env.reset(seed=5 + i) for i, env in enumerate(single)]
    assert [env.game for env in single] == envs.games()
    masks = [info["action_mask"] for _, info in starts]
    rng = np.random.default_rng(1)
    for _ in range(45):
        assert (infos["action_mask"] == np.array(masks)).all()
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in masks]
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        assert observations in envs.observation_space
        for i, env in enumerate(single):
            seen, reward, terminated, truncated, info = env.step(actions[i])
            assert (reward, terminated, truncated) == (rewards[i], terminations[i], truncations[i])
            if terminated:
                assert infos["final_info"]["score"][i] == info["score"]
                last = infos["final_obs"][i]
                assert same(last, seen)
                seen, info = env.reset()
            masks[i] = info["action_mask"]
            assert same(part(observations, i), seen)
    assert [env.game for env in single] == envs.games()


def part(observations: Any, i: int) -> Any:
    """The observation of game ``i``."""
    if isinstance(observations, dict):
        return {name: tensor[i] for name, tensor in observations.items()}
    return observations[i]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)
    return bool((one == other).all())


def test_illegal_actions_and_the_edge_in_a_batch() -> None:
    envs = raw_vector(2)
    _, infos = envs.reset(options=LINE)
    ended = np.zeros(2, bool)
    while not ended[0]:
        _, rewards, terminations, truncations, infos = envs.step(infos["action_mask"].argmax(axis=1))
        ended = truncations
    assert truncations.all()
    assert not terminations.any()
    _, rewards, terminations, truncations, infos = envs.step([0, int(infos["action_mask"][1].argmax())])
    assert rewards.tolist() == [-1.0, 0.0]
    assert terminations.tolist() == [True, False]
    assert infos["final_info"]["illegal_action"][0] == 0
    strict = raw_vector(2, illegal_action="raise")
    strict.reset(seed=1)
    with pytest.raises(IllegalActionError, match="action 0 of game 0"):
        strict.step([0, 0])


def test_arrays_are_fresh_unless_told_otherwise() -> None:
    for fresh in (True, False):
        envs = raw_vector(2, copy=fresh)
        first, infos = envs.reset(seed=1)
        second, *_ = envs.step(infos["action_mask"].argmax(axis=1))
        assert np.shares_memory(first, second) != fresh
    assert as_dict(second)["tiles"].shape == (2, 4, 40, 6)
