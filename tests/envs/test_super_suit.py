"""SuperSuit's wrappers, which know no masks: the games are played with those of the game itself."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("supersuit")

import supersuit

from patchwork_env import nmbr9_v0
from tests.envs.test_wrappers import GAME, NAME, first_of, identity, listed, one_row, play_alone

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


def single():
    return gymnasium.make(NAME, **GAME)


FUNCTIONS: dict[str, list[Any]] = {
    "action_lambda_v1": [identity, identity],
    "observation_lambda_v0": [identity, identity],
    "reward_lambda_v0": [identity],
    "clip_reward_v0": [],
    "nan_noop_v0": [0],
    "nan_random_v0": [],
    "nan_zeros_v0": [],
}
IN_TURNS: dict[str, list[Any]] = FUNCTIONS | {"pad_action_space_v0": []}
ALONE: dict[str, list[Any]] = FUNCTIONS | {
    "dtype_v0": [np.float64],
    "flatten_v0": [],
    "frame_stack_v2": [4],
    "normalize_obs_v0": [],
    "max_observation_v0": [2],
    "reshape_v0": [one_row(single().observation_space)],
}


@pytest.mark.parametrize("name", ALONE)
def test_around_single_environments(name):
    env = getattr(supersuit, name)(single(), *ALONE[name])
    assert play_alone(env) == play_alone(single())


@pytest.mark.parametrize("name", IN_TURNS)
def test_around_environments_of_turns(name):
    """They hide the masks, which are taken from the environment within."""
    env = getattr(supersuit, name)(nmbr9_v0.env(**GAME), *IN_TURNS[name])
    env.reset(seed=3)
    for agent in env.agent_iter():
        observation, *_, terminated, _, _ = env.last()
        assert env.observation_space(agent).contains(observation)
        mask = env.unwrapped.observe(agent)["action_mask"]
        env.step(None if terminated else first_of(mask))
    assert env.unwrapped.game.is_over


def test_batches():
    assert supersuit.stable_baselines3_vec_env_v0(single(), 2).reset().shape[0] == 2
    of_gymnasium = supersuit.gym_vec_env_v0(single(), 2)
    of_agents = supersuit.pettingzoo_env_to_vec_env_v1(nmbr9_v0.parallel_env(**GAME))
    masks = of_gymnasium.reset(seed=1)[1]["action_mask"], of_agents.reset(seed=1)[0]["action_mask"]
    for envs, of_games in zip((of_gymnasium, of_agents), masks, strict=True):
        assert envs.step(np.array([first_of(mask) for mask in of_games]))[1].shape == (2,)
    assert supersuit.concat_vec_envs_v1(of_agents, 2, 0, "gymnasium").num_envs == 4


OF_MANY = {
    "gym_vec_env_v0",
    "stable_baselines3_vec_env_v0",
    "pettingzoo_env_to_vec_env_v1",
    "concat_vec_envs_v1",
}


def test_the_page_knows_every_wrapper():
    work, others = listed("SuperSuit")
    said = {name for name in work | others if re.fullmatch(r"\w+_v\d", name)}
    there = {name for name in dir(supersuit) if re.fullmatch(r"\w+_v\d", name)}
    assert said <= there
    missing = {name.rpartition("_")[0] for name in there} - {name.rpartition("_")[0] for name in said}
    assert missing == {"stable_baselines_vec_env"}
    assert work & said == {*ALONE, *IN_TURNS, *OF_MANY}
