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

from tests.envs.wrappers import tries
from tests.envs.wrappers.tries import GAMES, NO, ODD, YES, Check, Wrap, choose, double, identity


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


wrapped, refused = tries.wrappers_of(wrappers), partial(tries.refused, make)


def play(env: Any, most: int = 100) -> list[Step]:
    """A game with random legal actions; a reset is a step without a reward."""
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=3)
    steps = [Step(observation, 0.0, False, False, info)]
    while len(steps) <= most and not (steps[-1].terminated or steps[-1].truncated):
        assert steps[-1].observation in env.observation_space
        steps.append(Step(*env.step(choose(steps[-1].info["action_mask"], rng))))
    return steps


def works(wrap: Wrap, alike: Comparison, most: int = 100, **options: Any) -> Check:
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


def forfeits(wrap: Wrap) -> Check:
    """The wrapper plays actions that are not legal any more, which ends games."""

    def check(game: str) -> None:
        last = play(wrap(make(game, opponent="random")))[-1]
        assert last.reward == -1
        assert last.info["illegal_action"] >= 0

    return check


def same(seen: list[Step], bare: list[Step]) -> bool:
    """All is as without the wrapper."""
    pairs = list(zip(seen, bare, strict=True))
    return all((a.observation == b.observation).all() and a[1:4] == b[1:4] for a, b in pairs)


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
    return len(seen) == 3 and seen[-1].truncated and not seen[-1].info["scores"].any()


def begins_anew(game: str) -> None:
    env = wrappers.Autoreset(make(game))
    last = play(env)[-1]
    assert last.terminated
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0, False, False)
    assert observation in env.observation_space
    assert info["action_mask"].any()


def is_filmed(game: str) -> None:
    env: Any = wrappers.RecordVideo(
        make(game, render_mode="rgb_array"), "films", episode_trigger=lambda _: True
    )
    play(env, 1)
    env.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_drawn(wrap: Wrap) -> Check:
    def check(game: str) -> None:
        env = wrap(make(game, render_mode="rgb_array"))
        play(env, 1)
        picture = env.render()
        picture = picture[-1] if isinstance(picture, list) else picture
        assert picture.dtype == np.uint8
        assert picture.ndim == 3

    return check


def is_in_a_window(game: str) -> None:
    pytest.importorskip("pygame")
    env: Any = wrappers.HumanRendering(make(game, render_mode="rgb_array"))
    play(env, 1)
    assert env.render_mode == "human"
    env.close()


def of_torch(game: str) -> None:
    import torch

    def alike(seen: Any, bare: Any) -> bool:
        return isinstance(seen, torch.Tensor) and (seen.numpy() == bare).all()

    works(wrapped("NumpyToTorch"), of_observations(alike))(game)


def flattened(game: str) -> None:
    space = make(game, observation="dict").observation_space
    alike = of_observations(lambda one, other: one == gymnasium.spaces.flatten(space, other))
    works(wrapped("FlattenObservation"), alike, observation="dict")(game)


def filtered(game: str) -> None:
    key = next(iter(make(game, observation="dict").observation_space.spaces))
    alike = of_observations(lambda one, other: list(one) == [key] and (one[key] == other[key]).all())
    works(wrapped("FilterObservation", [key]), alike, observation="dict")(game)


def reshaped(game: str) -> None:
    size = make(game).observation_space.shape[0]
    works(wrapped("ReshapeObservation", (1, size)), of_observations(lambda one, other: one[0] == other))(game)


def timed(env: Any) -> Any:
    return wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 50))


CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "OrderEnforcing": works(lambda env: wrappers.OrderEnforcing(env.unwrapped), same),
        "PassiveEnvChecker": works(lambda env: wrappers.PassiveEnvChecker(env.unwrapped), same),
        "RecordEpisodeStatistics": works(wrapped("RecordEpisodeStatistics"), has_statistics),
        "TimeLimit": works(wrapped("TimeLimit", 2), is_cut_short),
        "Autoreset": begins_anew,
        "RecordVideo": is_filmed,
        "RenderCollection": is_drawn(wrapped("RenderCollection")),
        "HumanRendering": is_in_a_window,
        "AddWhiteNoise": is_drawn(wrapped("AddWhiteNoise", 0.1)),
        "ObstructView": is_drawn(wrapped("ObstructView", 0.2, 8)),
        "AddRenderObservation": works(
            wrapped("AddRenderObservation", render_only=False),
            of_observations(lambda one, other: (one["state"] == other).all() and one["pixels"].ndim == 3),
            1,
            render_mode="rgb_array",
        ),
        "TransformObservation": works(wrapped("TransformObservation", identity, None), same),
        "FilterObservation": filtered,
        "FlattenObservation": flattened,
        "FrameStackObservation": works(
            wrapped("FrameStackObservation", 3), of_observations(lambda one, other: one[-1] == other)
        ),
        "NormalizeObservation": works(wrapped("NormalizeObservation"), is_normalized),
        "RescaleObservation": works(
            wrapped("RescaleObservation", np.float32(0), np.float32(1)),
            of_observations(lambda one, other: (one >= 0) & (one <= 1) & (other >= one)),
        ),
        "ReshapeObservation": reshaped,
        "DtypeObservation": works(
            wrapped("DtypeObservation", np.float64),
            of_observations(lambda one, other: (one == other) & (one.dtype == np.float64)),
        ),
        "DiscretizeObservation": works(
            wrapped("DiscretizeObservation", 3, multidiscrete=True),
            of_observations(lambda one, other: one.shape == other.shape),
        ),
        "TimeAwareObservation": works(
            timed, lambda seen, bare: len(seen[1].observation) == len(bare[1].observation) + 1
        ),
        "DelayObservation": works(wrapped("DelayObservation", 2), is_delayed),
        "TransformAction": works(wrapped("TransformAction", identity, None), same),
        "TransformReward": works(wrapped("TransformReward", double), of_rewards(double)),
        "ClipReward": works(
            wrapped("ClipReward", -0.5, 0.5), of_rewards(lambda reward: min(max(reward, -0.5), 0.5))
        ),
        "NormalizeReward": works(
            wrapped("NormalizeReward"),
            lambda seen, bare: np.sign(seen[-1].reward) == np.sign(bare[-1].reward),
        ),
        "NumpyToTorch": of_torch,
    },
    ODD: {
        "StickyAction": forfeits(wrapped("StickyAction", 0.9)),
        "RepeatAction": forfeits(wrapped("RepeatAction", 3)),
        "MaxAndSkipObservation": forfeits(wrapped("MaxAndSkipObservation", 3)),
    },
    NO: {
        "ClipAction": refused(wrapped("ClipAction"), TypeError, AssertionError),
        "RescaleAction": refused(wrapped("RescaleAction", 0, 1), TypeError, AssertionError),
        "DiscretizeAction": refused(wrapped("DiscretizeAction", 3), TypeError),
        "GrayscaleObservation": refused(wrapped("GrayscaleObservation"), ValueError, AssertionError),
        "ResizeObservation": refused(wrapped("ResizeObservation", (2, 2)), ValueError, AssertionError),
        "AtariPreprocessing": refused(
            wrapped("AtariPreprocessing"), AssertionError, AttributeError, ValueError, DependencyNotInstalled
        ),
    },
}
