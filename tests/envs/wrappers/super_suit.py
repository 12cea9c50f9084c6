"""SuperSuit's wrappers, which know no masks: they are tried with those of the game itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.envs.wrappers import single, turns
from tests.envs.wrappers.tries import NO, ODD, YES, Check, Wrap, choose, double, identity

ERRORS = (AssertionError, AttributeError, IndexError, TypeError)
"""What SuperSuit raises where a wrapper does not fit."""


def wrapped(name: str, *args: Any) -> Wrap:
    def wrap(env: Any) -> Any:
        import supersuit

        return getattr(supersuit, name)(env, *args)

    return wrap


def play_turns(env: Any) -> list[Any]:
    """A game by turns, with masks of the game itself."""
    rng, steps = np.random.default_rng(0), []
    env.reset(seed=3)
    for agent in env.agent_iter(200):
        observation, reward, terminated, truncated, _ = env.last()
        assert env.observation_space(agent).contains(observation)
        mask = env.unwrapped.observe(agent)["action_mask"]
        env.step(None if terminated or truncated else choose(mask, rng))
        steps.append(reward)
    return steps


def works_alone(wrap: Wrap, game: str) -> None:
    last = single.play(wrap(single.make(game)))[-1]
    assert last.terminated
    assert last.info["illegal_action"] < 0


def works_by_turns(wrap: Wrap, game: str) -> None:
    assert len(play_turns(wrap(turns.make(game)))) == len(turns.play(turns.make(game)))


def in_gymnasium(name: str, *args: Any) -> Check:
    """Works around single environments, and refuses those of turns, whose observations are dictionaries."""

    def check(game: str) -> None:
        works_alone(wrapped(name, *args), game)
        with pytest.raises(ERRORS):
            turns.play(wrapped(name, *args)(turns.make(game)))

    return check


def in_both(name: str, *args: Any) -> Check:
    """Works around single environments and around those of turns."""

    def check(game: str) -> None:
        works_alone(wrapped(name, *args), game)
        works_by_turns(wrapped(name, *args), game)

    return check


def in_turns(name: str, *args: Any) -> Check:
    """Works around environments of turns alone."""

    def check(game: str) -> None:
        works_by_turns(wrapped(name, *args), game)
        with pytest.raises(ERRORS):
            wrapped(name, *args)(single.make(game))

    return check


def nowhere(name: str, *args: Any) -> Check:
    def check(game: str) -> None:
        for make, play in ((single.make, single.play), (turns.make, play_turns)):
            env = make(game)
            with pytest.raises(ERRORS):
                play(wrapped(name, *args)(env))

    return check


def is_reshaped(game: str) -> None:
    in_gymnasium("reshape_v0", (1, single.make(game).observation_space.shape[0]))(game)


def is_delayed(game: str) -> None:
    assert single.play(wrapped("delay_observations_v0", 2)(single.make(game)))


def is_a_vector(game: str) -> None:
    envs = wrapped("gym_vec_env_v0", 2)(single.make(game))
    _, infos = envs.reset(seed=1)
    _, rewards, *_ = envs.step([choose(mask, np.random.default_rng(0)) for mask in infos["action_mask"]])
    assert rewards.shape == (2,)
    envs.close()


def is_a_vec_env(game: str) -> None:
    pytest.importorskip("stable_baselines3")
    envs = wrapped("stable_baselines3_vec_env_v0", 2)(single.make(game))
    assert envs.reset().shape[0] == 2
    assert game != "Patchwork" or len(envs.env_method("action_masks")) == 2
    envs.close()


def is_a_vector_of_agents(game: str) -> None:
    envs = wrapped("pettingzoo_env_to_vec_env_v1")(turns.make_parallel(game))
    observations, _ = envs.reset(seed=1)
    rng = np.random.default_rng(0)
    _, rewards, *_ = envs.step(np.array([choose(mask, rng) for mask in observations["action_mask"]]))
    assert rewards.shape == (2,)
    assert wrapped("concat_vec_envs_v1", 2, 0, "gymnasium")(envs).num_envs == 4


def loses_masks(game: str) -> None:
    envs = wrapped("vectorize_aec_env_v0", 2)(turns.make(game))
    envs.reset(seed=1)
    observations, *_ = envs.last()
    assert observations.dtype == object


CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "action_lambda_v1": in_both("action_lambda_v1", identity, identity),
        "observation_lambda_v0": in_both("observation_lambda_v0", identity, identity),
        "reward_lambda_v0": in_both("reward_lambda_v0", double),
        "clip_reward_v0": in_both("clip_reward_v0"),
        "nan_noop_v0": in_both("nan_noop_v0", 0),
        "nan_random_v0": in_both("nan_random_v0"),
        "nan_zeros_v0": in_both("nan_zeros_v0"),
        "pad_action_space_v0": in_turns("pad_action_space_v0"),
        "dtype_v0": in_gymnasium("dtype_v0", np.float64),
        "flatten_v0": in_gymnasium("flatten_v0"),
        "frame_stack_v2": in_gymnasium("frame_stack_v2", 4),
        "normalize_obs_v0": in_gymnasium("normalize_obs_v0"),
        "max_observation_v0": in_gymnasium("max_observation_v0", 2),
        "reshape_v0": is_reshaped,
        "gym_vec_env_v0": is_a_vector,
        "stable_baselines3_vec_env_v0": is_a_vec_env,
        "pettingzoo_env_to_vec_env_v1": is_a_vector_of_agents,
        "concat_vec_envs_v1": is_a_vector_of_agents,
    },
    ODD: {
        "delay_observations_v0": is_delayed,
        "sticky_actions_v0": single.forfeits(wrapped("sticky_actions_v0", 0.9)),
        "frame_skip_v0": single.forfeits(wrapped("frame_skip_v0", 3)),
    },
    NO: {
        "agent_indicator_v0": nowhere("agent_indicator_v0"),
        "pad_observations_v0": nowhere("pad_observations_v0"),
        "black_death_v3": nowhere("black_death_v3"),
        "color_reduction_v0": nowhere("color_reduction_v0"),
        "resize_v1": nowhere("resize_v1", 2, 2),
        "clip_actions_v0": nowhere("clip_actions_v0"),
        "scale_actions_v0": nowhere("scale_actions_v0", 2.0),
        "vectorize_aec_env_v0": loses_masks,
    },
}
