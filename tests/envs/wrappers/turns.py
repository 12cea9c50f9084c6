"""PettingZoo's wrappers and conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils import conversions, wrappers

from patchwork_env import nmbr9_v0, patchwork_v0
from tests.envs.wrappers.rows import GAMES, NO, ODD, PICTURED, YES, Row, choose

Wrap = Callable[[Any], Any]
_MODULES = {"Patchwork": patchwork_v0, "Nmbr9": nmbr9_v0}


def make(game: str, kind: str = "env", **options: Any) -> Any:
    return getattr(_MODULES[game], kind)(**GAMES[game], **options)


def wrapped(name: str, *args: Any, **kwargs: Any) -> Wrap:
    return lambda env: getattr(wrappers, name)(env, *args, **kwargs)


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
    rng, steps = np.random.default_rng(0), []
    observations, _ = env.reset(seed=3)
    while env.agents and len(steps) < most:
        actions = {agent: choose(observations[agent]["action_mask"], rng) for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
        steps.append((actions, rewards))
    return steps


def works(wrap: Wrap, kind: str = "env", **options: Any) -> Callable[[str], None]:
    """A game in the wrapper is the game without it."""

    def check(game: str) -> None:
        assert play(wrap(make(game, kind, **options))) == play(make(game, kind, **options))

    return check


def works_at_once(wrap: Wrap) -> Callable[[str], None]:
    """The same for the environments whose players act at once."""

    def check(game: str) -> None:
        if game == "Nmbr9":
            assert play_at_once(wrap(make(game, "parallel_env"))) == play_at_once(make(game, "parallel_env"))

    return check


def refused(wrap: Wrap, error: type[Exception], match: str, **options: Any) -> Callable[[str], None]:
    def check(game: str) -> None:
        with pytest.raises(error, match=match):
            wrap(make(game, **options))

    return check


def two_games(game: str) -> None:
    env = wrappers.MultiEpisodeEnv(make(game), 2)
    first, second = play(make(game)), play(env)
    count = len(first)
    assert second[: count - 1] == first[: count - 1]
    assert len(second) > count


def two_games_at_once(game: str) -> None:
    if game == "Nmbr9":
        env = wrappers.MultiEpisodeParallelEnv(make(game, "parallel_env"), 2)
        assert len(play_at_once(env)) == 2 * len(play_at_once(make(game, "parallel_env")))


def is_filmed(game: str) -> None:
    env = wrappers.RecordVideo(make(game, render_mode="rgb_array"), "films", lambda _: True)
    play(env, 1)
    env.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_filmed_at_once(game: str) -> None:
    if game == "Nmbr9":
        env = wrappers.RecordVideoParallel(
            make(game, "parallel_env", render_mode="rgb_array"), "films", lambda _: True
        )
        play_at_once(env, 1)
        env.close()
        assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_silent(game: str) -> None:
    env = wrappers.CaptureStdoutWrapper(make(game, render_mode="human"))
    env.reset(seed=1)
    assert env.render() == ""
    env.close()


def by_turns_and_back(game: str) -> None:
    if game == "Nmbr9":
        env = conversions.parallel_to_aec(make(game, "parallel_env"))
        assert len(play(env)) > 4
        parallel = make(game, "parallel_env")
        assert conversions.aec_to_parallel(conversions.parallel_to_aec(parallel)) is parallel


def everybody_is_asked(game: str) -> None:
    env = conversions.turn_based_aec_to_parallel(make(game))
    observations, _ = env.reset(seed=3)
    masks = {agent: observations[agent]["action_mask"].any() for agent in env.agents}
    assert sorted(masks.values()) == [False, True]


_yes = partial(Row, verdict=YES)
_no = partial(Row, verdict=NO)
_AT_ONCE = "`nmbr9_v0.parallel_env()`"

ROWS = [
    _yes(
        "OrderEnforcingWrapper",
        note="`env()` wears its like already: with the same errors and warnings, and without its cost",
        check=works(wrapped("OrderEnforcingWrapper")),
    ),
    _yes("AssertOutOfBoundsWrapper", note="as above", check=works(wrapped("AssertOutOfBoundsWrapper"))),
    _yes(
        "TerminateIllegalWrapper",
        note="as above; `raw_env()` can wear it, too",
        check=works(wrapped("TerminateIllegalWrapper", -1), "raw_env"),
    ),
    _yes("BaseWrapper", note="and wrappers of your own", check=works(wrapped("BaseWrapper"))),
    _yes("BaseParallelWrapper", note=_AT_ONCE, check=works_at_once(wrapped("BaseParallelWrapper"))),
    _yes("MultiEpisodeEnv", note="", check=two_games),
    _yes("MultiEpisodeParallelEnv", note=_AT_ONCE, check=two_games_at_once),
    _yes(
        "RecordVideo",
        note='`render_mode="rgb_array"`; needs MoviePy',
        check=is_filmed,
        needs=("moviepy",),
        games=PICTURED,
    ),
    _yes(
        "RecordVideoParallel",
        note=f"{_AT_ONCE}; needs MoviePy",
        check=is_filmed_at_once,
        needs=("moviepy",),
        games=PICTURED,
    ),
    Row(
        "CaptureStdoutWrapper",
        ODD,
        'it takes `render_mode="human"`, which is a window and prints nothing: ask for `render_mode="ansi"`',
        is_silent,
        ("pygame",),
        PICTURED,
    ),
    _no(
        "ClipOutOfBoundsWrapper",
        note="for continuous actions",
        check=refused(wrapped("ClipOutOfBoundsWrapper"), AssertionError, "Box spaces"),
    ),
    _no(
        "aec_to_parallel",
        note="players move one after the other; for NMBR 9 there is `nmbr9_v0.parallel_env()`",
        check=refused(conversions.aec_to_parallel, AssertionError, "not generally safe"),
    ),
    _yes("parallel_to_aec", note=f"{_AT_ONCE}; `nmbr9_v0.env()` is quicker", check=by_turns_and_back),
    Row(
        "turn_based_aec_to_parallel",
        ODD,
        "asks all agents for actions, also those that are not to move, whose masks are all zeros",
        everybody_is_asked,
    ),
]
