"""PettingZoo's wrappers and conversions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils import conversions, wrappers

from patchwork_env import nmbr9_v0, patchwork_v0
from tests.envs.wrappers import tries
from tests.envs.wrappers.tries import GAMES, NO, ODD, YES, Check, Wrap, choose

_MODULES = {"Patchwork": patchwork_v0, "Nmbr9": nmbr9_v0}


def make(game: str, kind: str = "env", **options: Any) -> Any:
    return getattr(_MODULES[game], kind)(**GAMES[game], **options)


def make_parallel(game: str, **options: Any) -> Any:
    """The environment whose players act at once."""
    return make(game, "parallel_env", **options)


wrapped, refused = tries.wrappers_of(wrappers), partial(tries.refused, make)


def play(env: Any, most: int = 200) -> list[Any]:
    """A game by turns with random legal actions: what ``last`` returned, and the action."""
    rng, steps = np.random.default_rng(0), []
    env.reset(seed=3)
    for agent in env.agent_iter(most):
        observation, reward, terminated, truncated, _ = env.last()
        action = None if terminated or truncated else choose(observation["action_mask"], rng)
        steps.append((agent, observation["observation"].sum(), reward, terminated, truncated, action))
        env.step(action)
    return steps


def play_at_once(env: Any, most: int = 100) -> list[Any]:
    """A game in which all act at once, with random legal actions."""
    rng = np.random.default_rng(0)
    steps: list[Any] = []
    observations, _ = env.reset(seed=3)
    while env.agents and len(steps) < most:
        actions = {agent: choose(observations[agent]["action_mask"], rng) for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
        steps.append((actions, rewards))
    return steps


def works(wrap: Wrap, kind: str = "env") -> Check:
    """A game in the wrapper is the game without it."""

    def check(game: str) -> None:
        assert play(wrap(make(game, kind))) == play(make(game, kind))

    return check


def works_at_once(game: str) -> None:
    env = wrappers.BaseParallelWrapper(make_parallel(game))
    assert play_at_once(env) == play_at_once(make_parallel(game))


def two_games(game: str) -> None:
    first, second = play(make(game)), play(wrappers.MultiEpisodeEnv(make(game), 2))
    count = len(first)
    assert second[: count - 1] == first[: count - 1]
    assert len(second) > count


def two_games_at_once(game: str) -> None:
    env = wrappers.MultiEpisodeParallelEnv(make_parallel(game), 2)
    assert len(play_at_once(env)) == 2 * len(play_at_once(make_parallel(game)))


def is_filmed(game: str) -> None:
    env = wrappers.RecordVideo(make(game, render_mode="rgb_array"), "films", lambda _: True)
    play(env, 1)
    env.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_filmed_at_once(game: str) -> None:
    env = wrappers.RecordVideoParallel(make_parallel(game, render_mode="rgb_array"), "films", lambda _: True)
    play_at_once(env, 1)
    env.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_silent(game: str) -> None:
    pytest.importorskip("pygame")
    env = wrappers.CaptureStdoutWrapper(make(game, render_mode="human"))
    env.reset(seed=1)
    assert env.render() == ""
    env.close()


def by_turns_and_back(game: str) -> None:
    assert len(play(conversions.parallel_to_aec(make_parallel(game)))) > 4
    parallel = make_parallel(game)
    assert conversions.aec_to_parallel(conversions.parallel_to_aec(parallel)) is parallel


def everybody_is_asked(game: str) -> None:
    env = conversions.turn_based_aec_to_parallel(make(game))
    observations, _ = env.reset(seed=3)
    masks = {agent: observations[agent]["action_mask"].any() for agent in env.agents}
    assert sorted(masks.values()) == [False, True]


CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "OrderEnforcingWrapper": works(wrapped("OrderEnforcingWrapper")),
        "AssertOutOfBoundsWrapper": works(wrapped("AssertOutOfBoundsWrapper")),
        "TerminateIllegalWrapper": works(wrapped("TerminateIllegalWrapper", -1), "raw_env"),
        "BaseWrapper": works(wrapped("BaseWrapper")),
        "BaseParallelWrapper": works_at_once,
        "MultiEpisodeEnv": two_games,
        "MultiEpisodeParallelEnv": two_games_at_once,
        "RecordVideo": is_filmed,
        "RecordVideoParallel": is_filmed_at_once,
        "parallel_to_aec": by_turns_and_back,
    },
    ODD: {
        "CaptureStdoutWrapper": is_silent,
        "turn_based_aec_to_parallel": everybody_is_asked,
    },
    NO: {
        "ClipOutOfBoundsWrapper": refused(
            wrapped("ClipOutOfBoundsWrapper"), AssertionError, match="Box spaces"
        ),
        "aec_to_parallel": refused(conversions.aec_to_parallel, AssertionError, match="not generally safe"),
    },
}
