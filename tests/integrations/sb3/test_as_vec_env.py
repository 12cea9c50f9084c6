"""Gymnasium's vector environments as environments of Stable-Baselines3."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from patchwork_env.integrations.sb3 import PatchworkPolicy, as_vec_env

PATCHWORK = "patchwork_env:Patchwork-v0"


def make(mode="vector_entry_point", **options):
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP} if mode == "sync" else {}
    return gymnasium.make_vec(PATCHWORK, 3, mode, vector_kwargs=kwargs, opponent="greedy", **options)


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_it_plays_the_games_of_gymnasium(mode, observation):
    envs, env = make(mode, observation=observation), as_vec_env(make(mode, observation=observation))
    assert is_masking_supported(env)
    env.seed(5)
    expected, infos = envs.reset(seed=5)
    observations, ended = env.reset(), 0
    for _ in range(60):
        compare(observations, expected)
        masks = get_action_masks(env)
        assert (masks == infos["action_mask"]).all()
        assert (env.env_method("action_masks", indices=[1])[0] == masks[1]).all()
        actions = masks.argmax(1)
        observations, rewards, ends, told = env.step(actions)
        expected, expected_rewards, terminations, _, infos = envs.step(actions)
        assert (rewards == expected_rewards).all()
        assert (ends == terminations).all()
        for i in np.flatnonzero(ends):
            compare(told[i]["terminal_observation"], infos["final_obs"][i])
            assert (told[i]["scores"] == infos["final_info"]["scores"][i]).all()
            assert told[i]["TimeLimit.truncated"] is False
            ended += 1
        assert all(bool(info) == end for info, end in zip(told, ends, strict=True))
    assert ended > 3
    env.close()


def compare(one, other):
    if isinstance(one, dict):
        assert list(one) == list(other)
        assert all((one[name] == other[name]).all() for name in one)
    else:
        assert (one == other).all()


def test_stock_maskable_ppo_learns_on_it():
    env = VecMonitor(as_vec_env(make()))
    sizes = {"network": {"width": 8, "depth": 1, "channels": 2}}
    options = {"n_steps": 24, "batch_size": 24, "n_epochs": 1, "seed": 5}
    model = MaskablePPO(PatchworkPolicy, env, policy_kwargs=sizes, **options)
    model.learn(3 * 72)
    assert len(model.ep_info_buffer) >= 3, "in 72 decisions of each of the three, whose games take about 22"


def test_observations_are_not_overwritten():
    env = as_vec_env(make(copy=False))
    first = env.reset()
    before = first.copy()
    env.step(get_action_masks(env).argmax(1))
    assert (first == before).all()


def test_mistakes():
    with pytest.raises(ValueError, match=r"it must be AutoresetMode\.SAME_STEP"):
        as_vec_env(gymnasium.make_vec(PATCHWORK, 2, "sync", opponent="greedy"))
    env = as_vec_env(make())
    with pytest.raises(AttributeError, match="no method 'render'; there is 'action_masks'"):
        env.env_method("render")
    with pytest.raises(AttributeError, match="no attribute 'game'"):
        env.get_attr("game")
    with pytest.raises(AttributeError, match="that could be set"):
        env.set_attr("game", 1)
