"""Gymnasium's wrappers of single environments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.error import DependencyNotInstalled

from tests.envs.wrappers.rows import GAMES, NO, ODD, PICTURED, YES, Row, choose

Wrap = Callable[[Any], Any]


class Step(NamedTuple):
    """What a step returns."""

    observation: Any
    reward: Any
    terminated: bool
    truncated: bool
    info: dict[str, Any]


Comparison = Callable[[list[Step], list[Step]], bool]
"""Compares the steps of a game in a wrapper with those of the same game without it."""


def make(game: str, **options: Any) -> Any:
    return gymnasium.make(f"patchwork_env:{game}-v0", **GAMES[game], **options)


def wrapped(name: str, *args: Any, **kwargs: Any) -> Wrap:
    """Puts an environment into the wrapper of a name."""
    return lambda env: getattr(wrappers, name)(env, *args, **kwargs)


def play(env: Any, most: int = 100) -> list[Step]:
    """A game with random legal actions; a reset is a step without a reward."""
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=3)
    steps = [Step(observation, 0.0, False, False, info)]
    while len(steps) <= most and not (steps[-1].terminated or steps[-1].truncated):
        assert steps[-1].observation in env.observation_space
        steps.append(Step(*env.step(choose(steps[-1].info["action_mask"], rng))))
    return steps


def works(wrap: Wrap, alike: Comparison, most: int = 100, **options: Any) -> Callable[[str], None]:
    """A game in the wrapper is the game without it, and what the wrapper makes of it is right."""

    def check(game: str) -> None:
        env = wrap(make(game, **options))
        seen, bare = play(env, most), play(make(game, **options), most)
        for one, other in zip(seen, bare, strict=False):
            assert (np.asarray(one.info["action_mask"]) == other.info["action_mask"]).all()
        assert len(seen) == len(bare) or seen[-1].truncated
        assert alike(seen, bare)
        env.close()

    return check


def refused(wrap: Wrap, *errors: type[Exception]) -> Callable[[str], None]:
    """The wrapper does not take the environment, and says so in its own words."""

    def check(game: str) -> None:
        with pytest.raises(errors):
            wrap(make(game))

    return check


def forfeits(wrap: Wrap) -> Callable[[str], None]:
    """The wrapper plays actions that are not legal any more, which ends games."""

    def check(game: str) -> None:
        last = play(wrap(make(game, opponent="random")))[-1]
        assert last.reward == -1
        assert last.info["illegal_action"] >= 0

    return check


def same(seen: list[Step], bare: list[Step]) -> bool:
    """All is as without the wrapper."""
    observations = all(
        (np.asarray(a.observation) == b.observation).all() for a, b in zip(seen, bare, strict=False)
    )
    return observations and all(a[1:4] == b[1:4] for a, b in zip(seen, bare, strict=True))


def of_observations(function: Callable[[Any, Any], Any]) -> Comparison:
    """Compares observations, one by one."""
    return lambda seen, bare: all(
        np.asarray(function(one.observation, other.observation)).all()
        for one, other in zip(seen, bare, strict=True)
    )


def of_rewards(function: Callable[[float], float]) -> Comparison:
    """Compares rewards, one by one."""
    return lambda seen, bare: all(
        a.reward == function(b.reward) for a, b in zip(seen[1:], bare[1:], strict=True)
    )


def is_delayed(seen: list[Step], bare: list[Step]) -> bool:
    late = [step.observation for step in seen[2:]]
    return not seen[0].observation.any() and all(
        (one == other.observation).all() for one, other in zip(late, bare, strict=False)
    )


def is_normalized(seen: list[Step], bare: list[Step]) -> bool:
    numbers, before = (np.stack([step.observation for step in steps]) for steps in (seen, bare))
    return bool(np.isfinite(numbers).all()) and numbers.shape == before.shape and numbers.min() < 0


def has_statistics(seen: list[Step], bare: list[Step]) -> bool:
    episode = seen[-1].info["episode"]
    total = sum(step.reward for step in bare)
    return bool(episode["l"] == len(bare) - 1 and np.isclose(episode["r"], total))


def is_cut_short(seen: list[Step], bare: list[Step]) -> bool:
    del bare
    return len(seen) == 3 and seen[-1].truncated and not seen[-1].info["scores"].any()


def begins_anew(game: str) -> None:
    env = wrappers.Autoreset(make(game))
    last = play(env)[-1]
    assert last.terminated
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0, False, False)
    assert observation in env.observation_space
    assert info["action_mask"].any()


def is_filmed(wrap: Callable[..., Any]) -> Callable[[str], None]:
    """A game is on film; the folder is the working directory."""

    def check(game: str) -> None:
        env = wrap(make(game, render_mode="rgb_array"), "films")
        play(env, 1)
        env.close()
        assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]

    return check


def is_drawn(wrap: Wrap) -> Callable[[str], None]:
    def check(game: str) -> None:
        env = wrap(make(game, render_mode="rgb_array"))
        play(env, 1)
        picture = env.render()
        picture = picture[-1] if isinstance(picture, list) else picture
        assert picture.dtype == np.uint8
        assert picture.ndim == 3

    return check


def is_in_a_window(game: str) -> None:
    env = wrappers.HumanRendering(make(game, render_mode="rgb_array"))
    play(env, 1)
    assert env.render_mode == "human"
    env.close()


def is_torch(seen: list[Step], bare: list[Step]) -> bool:
    import torch

    tensors = all(isinstance(step.observation, torch.Tensor) for step in seen)
    return tensors and all(
        (a.observation.numpy() == b.observation).all() for a, b in zip(seen, bare, strict=True)
    )


def flattened(game: str) -> None:
    env = make(game, observation="dict")
    check = works(
        wrapped("FlattenObservation"),
        of_observations(lambda one, other: one == gymnasium.spaces.flatten(env.observation_space, other)),
        observation="dict",
    )
    check(game)


def filtered(game: str) -> None:
    key = next(iter(make(game, observation="dict").observation_space.spaces))
    check = works(
        wrapped("FilterObservation", [key]),
        of_observations(lambda one, other: list(one) == [key] and (one[key] == other[key]).all()),
        observation="dict",
    )
    check(game)


def reshaped(game: str) -> None:
    size = make(game).observation_space.shape[0]
    works(wrapped("ReshapeObservation", (1, size)), of_observations(lambda one, other: one[0] == other))(game)


def timed(game: str) -> None:
    def wrap(env: Any) -> Any:
        return wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 50))

    works(wrap, lambda seen, bare: len(seen[1].observation) == len(bare[1].observation) + 1)(game)


def identity(value: Any) -> Any:
    return value


_no = partial(Row, verdict=NO)
_yes = partial(Row, verdict=YES)
_odd = partial(Row, verdict=ODD)
_PIXELS = "for pictures: observations here are numbers of a game, not pixels"
_BOXES = "for continuous actions"
_REPEATS = "plays an action once more although it is no longer legal, which ends the game"
_JAX = "needs JAX"


ROWS = [
    _yes(
        "OrderEnforcing",
        note="`gymnasium.make` adds it",
        check=works(lambda env: wrappers.OrderEnforcing(env.unwrapped), same),
    ),
    _yes(
        "PassiveEnvChecker",
        note="`gymnasium.make` adds it; it finds nothing",
        check=works(lambda env: wrappers.PassiveEnvChecker(env.unwrapped), same),
    ),
    _yes(
        "RecordEpisodeStatistics",
        note='`info["episode"]` at the end of a game',
        check=works(wrapped("RecordEpisodeStatistics"), has_statistics),
    ),
    _yes(
        "TimeLimit",
        note="a game that it truncates has no `scores`, since it goes on",
        check=works(wrapped("TimeLimit", 2), is_cut_short),
    ),
    _yes(
        "Autoreset",
        note="the next `step` begins a game whatever the action; the mask at the end is all zeros",
        check=begins_anew,
    ),
    _yes(
        "RecordVideo",
        note='`render_mode="rgb_array"`; needs MoviePy',
        check=is_filmed(lambda *args: wrappers.RecordVideo(*args, episode_trigger=lambda _: True)),
        needs=("moviepy",),
        games=PICTURED,
    ),
    _yes(
        "RenderCollection",
        note='`render_mode="rgb_array"`',
        check=is_drawn(wrapped("RenderCollection")),
        games=PICTURED,
    ),
    _yes(
        "HumanRendering",
        note='`render_mode="rgb_array"`, in a window of Gymnasium\'s',
        check=is_in_a_window,
        needs=("pygame",),
        games=PICTURED,
    ),
    _yes(
        "AddWhiteNoise",
        note="of pictures alone",
        check=is_drawn(wrapped("AddWhiteNoise", 0.1)),
        games=PICTURED,
    ),
    _yes(
        "ObstructView",
        note="of pictures alone",
        check=is_drawn(wrapped("ObstructView", 0.2, 8)),
        games=PICTURED,
    ),
    _yes(
        "AddRenderObservation",
        note='`render_mode="rgb_array"`: pixels beside the observation or in its place',
        check=works(
            wrapped("AddRenderObservation", render_only=False),
            of_observations(lambda one, other: (one["state"] == other).all() and one["pixels"].ndim == 3),
            1,
            render_mode="rgb_array",
        ),
        games=PICTURED,
    ),
    _yes("TransformObservation", note="", check=works(wrapped("TransformObservation", identity, None), same)),
    _yes("FilterObservation", note='with `observation="dict"`', check=filtered),
    _yes(
        "FlattenObservation",
        note='with `observation="dict"`; Gymnasium sorts the names, unlike `observation="flat"`',
        check=flattened,
    ),
    _yes(
        "FrameStackObservation",
        note="the mask is that of the last frame",
        check=works(
            wrapped("FrameStackObservation", 3), of_observations(lambda one, other: one[-1] == other)
        ),
    ),
    _yes(
        "NormalizeObservation",
        note="most numbers are within 0 to 1 already",
        check=works(wrapped("NormalizeObservation"), is_normalized),
    ),
    _yes(
        "RescaleObservation",
        note="",
        check=works(
            wrapped("RescaleObservation", np.float32(0), np.float32(1)),
            of_observations(lambda one, other: (one >= 0) & (one <= 1) & (other >= one)),
        ),
    ),
    _yes("ReshapeObservation", note="", check=reshaped),
    _yes(
        "DtypeObservation",
        note="Gymnasium warns of an overflow in its own bounds for `float64`",
        check=works(
            wrapped("DtypeObservation", np.float64),
            of_observations(lambda one, other: (one == other) & (one.dtype == np.float64)),
        ),
    ),
    _yes(
        "DiscretizeObservation",
        note="with `multidiscrete=True`; one number for all of them is too large",
        check=works(
            wrapped("DiscretizeObservation", 3, multidiscrete=True),
            of_observations(lambda one, other: one.shape == other.shape),
        ),
    ),
    _yes("TimeAwareObservation", note="inside of `TimeLimit`", check=timed),
    _yes(
        "DelayObservation",
        note="the mask is not delayed, so actions stay legal",
        check=works(wrapped("DelayObservation", 2), is_delayed),
    ),
    _yes("TransformAction", note="", check=works(wrapped("TransformAction", identity, None), same)),
    _yes(
        "TransformReward",
        note="",
        check=works(
            wrapped("TransformReward", lambda reward: 2 * reward), of_rewards(lambda reward: 2 * reward)
        ),
    ),
    _yes(
        "ClipReward",
        note="",
        check=works(wrapped("ClipReward", -0.5, 0.5), of_rewards(lambda reward: min(max(reward, -0.5), 0.5))),
    ),
    _yes(
        "NormalizeReward",
        note="",
        check=works(
            wrapped("NormalizeReward"),
            lambda seen, bare: np.sign(seen[-1].reward) == np.sign(bare[-1].reward),
        ),
    ),
    _yes(
        "NumpyToTorch",
        note="masks are tensors, too; needs array-api-compat",
        check=works(wrapped("NumpyToTorch"), is_torch),
        needs=("array_api_compat", "torch"),
    ),
    _odd("StickyAction", note=_REPEATS, check=forfeits(wrapped("StickyAction", 0.9))),
    _odd("RepeatAction", note=_REPEATS, check=forfeits(wrapped("RepeatAction", 3))),
    _odd("MaxAndSkipObservation", note=_REPEATS, check=forfeits(wrapped("MaxAndSkipObservation", 3))),
    _no("ClipAction", note=_BOXES, check=refused(wrapped("ClipAction"), TypeError, AssertionError)),
    _no(
        "RescaleAction",
        note=_BOXES,
        check=refused(wrapped("RescaleAction", 0, 1), TypeError, AssertionError),
    ),
    _no("DiscretizeAction", note=_BOXES, check=refused(wrapped("DiscretizeAction", 3), TypeError)),
    _no(
        "GrayscaleObservation",
        note=_PIXELS,
        check=refused(wrapped("GrayscaleObservation"), ValueError, AssertionError),
    ),
    _no(
        "ResizeObservation",
        note=_PIXELS,
        check=refused(wrapped("ResizeObservation", (2, 2)), ValueError, AssertionError),
    ),
    _no(
        "AtariPreprocessing",
        note="for Atari",
        check=refused(
            wrapped("AtariPreprocessing"), AssertionError, AttributeError, ValueError, DependencyNotInstalled
        ),
    ),
    Row("ArrayConversion", "not tried", "`NumpyToTorch` is one"),
    Row("JaxToNumpy", "not tried", _JAX),
    Row("JaxToTorch", "not tried", _JAX),
]
