"""SuperSuit's wrappers, which know no masks: they are tried with those of the game itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.envs.wrappers import single, turns
from tests.envs.wrappers.rows import NO, ODD, YES, Row, choose

ERRORS = (AssertionError, AttributeError, IndexError, TypeError)
"""What SuperSuit raises where a wrapper does not fit."""


def wrapped(name: str, *args: Any) -> Callable[[Any], Any]:
    def wrap(env: Any) -> Any:
        import supersuit

        return getattr(supersuit, name)(env, *args)

    return wrap


def in_gymnasium(name: str, *args: Any) -> Callable[[str], None]:
    """Works around single environments, and refuses those of turns, whose observations are dictionaries."""

    def check(game: str) -> None:
        env = wrapped(name, *args)(single.make(game))
        steps = single.play(env)
        assert steps[-1].terminated
        assert steps[-1].reward != -1 or steps[-1].info["illegal_action"] < 0
        with pytest.raises(ERRORS):
            turns.play(wrapped(name, *args)(turns.make(game)))

    return check


def in_both(name: str, *args: Any) -> Callable[[str], None]:
    """Works around single environments and around those of turns."""

    def check(game: str) -> None:
        assert single.play(wrapped(name, *args)(single.make(game)))[-1].terminated
        assert len(play_turns(wrapped(name, *args)(turns.make(game)))) == len(turns.play(turns.make(game)))

    return check


def in_turns(name: str, *args: Any) -> Callable[[str], None]:
    """Works around environments of turns alone."""

    def check(game: str) -> None:
        assert len(play_turns(wrapped(name, *args)(turns.make(game)))) == len(turns.play(turns.make(game)))
        with pytest.raises(ERRORS):
            wrapped(name, *args)(single.make(game))

    return check


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


def nowhere(name: str, *args: Any) -> Callable[[str], None]:
    def check(game: str) -> None:
        with pytest.raises(ERRORS):
            single.play(wrapped(name, *args)(single.make(game)))
        with pytest.raises(ERRORS):
            play_turns(wrapped(name, *args)(turns.make(game)))

    return check


def forfeits(name: str, *args: Any) -> Callable[[str], None]:
    def check(game: str) -> None:
        last = single.play(wrapped(name, *args)(single.make(game)))[-1]
        assert last.reward == -1
        assert last.info["illegal_action"] >= 0

    return check


def is_a_vector(game: str) -> None:
    import supersuit

    envs = supersuit.gym_vec_env_v0(single.make(game), 2)
    _, infos = envs.reset(seed=1)
    _, rewards, *_ = envs.step([choose(mask, np.random.default_rng(0)) for mask in infos["action_mask"]])
    assert rewards.shape == (2,)
    envs.close()


def is_a_vec_env(game: str) -> None:
    import supersuit

    envs = supersuit.stable_baselines3_vec_env_v0(single.make(game), 2)
    assert envs.reset().shape[0] == 2
    assert len(envs.env_method("action_masks")) == 2 if game == "Patchwork" else True
    envs.close()


def is_a_vector_of_agents(game: str) -> None:
    import supersuit

    if game == "Nmbr9":
        envs = supersuit.pettingzoo_env_to_vec_env_v1(turns.make(game, "parallel_env"))
        observations, _ = envs.reset(seed=1)
        rng = np.random.default_rng(0)
        actions = np.array([choose(mask, rng) for mask in observations["action_mask"]])
        _, rewards, *_ = envs.step(actions)
        assert rewards.shape == (2,)
        both = supersuit.concat_vec_envs_v1(envs, 2, base_class="gymnasium")
        assert both.num_envs == 4


def loses_masks(game: str) -> None:
    import supersuit

    envs = supersuit.vectorize_aec_env_v0(turns.make(game), 2)
    envs.reset(seed=1)
    observations, *_ = envs.last()
    assert observations.dtype == object


_yes, _no, _odd = partial(Row, verdict=YES), partial(Row, verdict=NO), partial(Row, verdict=ODD)
_GYM = "Gymnasium; in PettingZoo it asks for observations that are no dictionary"
_BOTH = "Gymnasium and PettingZoo"
_PIXELS = "for pictures"
_BOXES = "for continuous actions"
_REPEATS = "plays an action once more although it is no longer legal"


def _identity(value: Any, space: Any) -> Any:
    del space
    return value


def _space(space: Any) -> Any:
    return space


ROWS = [
    _yes("action_lambda_v1", note=_BOTH, check=in_both("action_lambda_v1", _identity, _space)),
    _yes("observation_lambda_v0", note=_BOTH, check=in_both("observation_lambda_v0", _identity, _space)),
    _yes("reward_lambda_v0", note=_BOTH, check=in_both("reward_lambda_v0", lambda reward: 2 * reward)),
    _yes("clip_reward_v0", note=_BOTH, check=in_both("clip_reward_v0")),
    _yes("nan_noop_v0", note=_BOTH, check=in_both("nan_noop_v0", 0)),
    _yes("nan_random_v0", note=_BOTH, check=in_both("nan_random_v0")),
    _yes("nan_zeros_v0", note=_BOTH, check=in_both("nan_zeros_v0")),
    _yes(
        "pad_action_space_v0",
        note="PettingZoo; there is nothing to pad",
        check=in_turns("pad_action_space_v0"),
    ),
    _yes("dtype_v0", note=_GYM, check=in_gymnasium("dtype_v0", np.float64)),
    _yes("flatten_v0", note=_GYM, check=in_gymnasium("flatten_v0")),
    _yes("frame_stack_v2", note=_GYM, check=in_gymnasium("frame_stack_v2", 4)),
    _yes("normalize_obs_v0", note=_GYM, check=in_gymnasium("normalize_obs_v0")),
    _yes("max_observation_v0", note=_GYM, check=in_gymnasium("max_observation_v0", 2)),
    _yes(
        "reshape_v0",
        note=_GYM,
        check=lambda game: in_gymnasium("reshape_v0", (1, single.make(game).observation_space.shape[0]))(
            game
        ),
    ),
    _odd(
        "delay_observations_v0",
        note="in PettingZoo masks are delayed, too, so actions are not legal",
        check=lambda game: single.play(wrapped("delay_observations_v0", 2)(single.make(game))),
    ),
    _odd("sticky_actions_v0", note=_REPEATS, check=forfeits("sticky_actions_v0", 0.9)),
    _odd("frame_skip_v0", note=_REPEATS, check=forfeits("frame_skip_v0", 3)),
    _no(
        "agent_indicator_v0",
        note="asks for observations that are no dictionary; every observation is from the view of its agent",
        check=nowhere("agent_indicator_v0"),
    ),
    _no(
        "pad_observations_v0", note="as above; there is nothing to pad", check=nowhere("pad_observations_v0")
    ),
    _no(
        "black_death_v3",
        note="asks for observations that are no dictionary; agents leave together",
        check=nowhere("black_death_v3"),
    ),
    _no("color_reduction_v0", note=_PIXELS, check=nowhere("color_reduction_v0")),
    _no("resize_v1", note=_PIXELS, check=nowhere("resize_v1", 2, 2)),
    _no("clip_actions_v0", note=_BOXES, check=nowhere("clip_actions_v0")),
    _no("scale_actions_v0", note=_BOXES, check=nowhere("scale_actions_v0", 2.0)),
    _yes("gym_vec_env_v0", note="Gymnasium; `make_vec` is faster by far", check=is_a_vector),
    _yes(
        "stable_baselines3_vec_env_v0",
        note="Gymnasium; `SelfPlayVecEnv` is faster by far",
        check=is_a_vec_env,
        needs=("stable_baselines3",),
    ),
    _yes("pettingzoo_env_to_vec_env_v1", note="`nmbr9_v0.parallel_env()`", check=is_a_vector_of_agents),
    _yes("concat_vec_envs_v1", note="as above", check=is_a_vector_of_agents),
    _no(
        "vectorize_aec_env_v0", note="makes objects of observations that are dictionaries", check=loses_masks
    ),
]
