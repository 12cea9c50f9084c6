"""Gymnasium's wrappers of single environments."""

from __future__ import annotations

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


def works(wrap: Wrap, most: int = 100, **options: Any) -> Check:
    """A game in the wrapper is the game without it, and what is observed is in the wrapper's space."""

    def check(game: str) -> None:
        env = wrap(make(game, **options))
        seen, bare = play(env, most), play(make(game, **options), most)
        for one, other in zip(seen, bare, strict=False):
            assert (np.asarray(one.info["action_mask"]) == other.info["action_mask"]).all()
        assert len(seen) == len(bare) or seen[-1].truncated
        env.close()

    return check


def forfeits(wrap: Wrap) -> Check:
    """The wrapper plays actions that are not legal any more, which ends games."""

    def check(game: str) -> None:
        last = play(wrap(make(game, opponent="random")))[-1]
        assert last.reward == -1
        assert last.info["illegal_action"] >= 0

    return check


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


CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "OrderEnforcing": works(lambda env: wrappers.OrderEnforcing(env.unwrapped)),
        "PassiveEnvChecker": works(lambda env: wrappers.PassiveEnvChecker(env.unwrapped)),
        "RecordEpisodeStatistics": works(wrapped("RecordEpisodeStatistics")),
        "TimeLimit": works(wrapped("TimeLimit", 2)),
        "Autoreset": begins_anew,
        "RecordVideo": is_filmed,
        "RenderCollection": is_drawn(wrapped("RenderCollection")),
        "HumanRendering": is_in_a_window,
        "AddWhiteNoise": is_drawn(wrapped("AddWhiteNoise", 0.1)),
        "ObstructView": is_drawn(wrapped("ObstructView", 0.2, 8)),
        "AddRenderObservation": works(
            wrapped("AddRenderObservation", render_only=False), 1, render_mode="rgb_array"
        ),
        "TransformObservation": works(wrapped("TransformObservation", identity, None)),
        "FilterObservation": works(
            lambda env: wrappers.FilterObservation(env, [*env.observation_space][:1]), observation="dict"
        ),
        "FlattenObservation": works(wrapped("FlattenObservation"), observation="dict"),
        "FrameStackObservation": works(wrapped("FrameStackObservation", 3)),
        "NormalizeObservation": works(wrapped("NormalizeObservation")),
        "RescaleObservation": works(wrapped("RescaleObservation", np.float32(0), np.float32(1))),
        "ReshapeObservation": works(
            lambda env: wrappers.ReshapeObservation(env, (1, *env.observation_space.shape))
        ),
        "DtypeObservation": works(wrapped("DtypeObservation", np.float64)),
        "DiscretizeObservation": works(wrapped("DiscretizeObservation", 3, multidiscrete=True)),
        "TimeAwareObservation": works(lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 50))),
        "DelayObservation": works(wrapped("DelayObservation", 2)),
        "TransformAction": works(wrapped("TransformAction", identity, None)),
        "TransformReward": works(wrapped("TransformReward", double)),
        "ClipReward": works(wrapped("ClipReward", -0.5, 0.5)),
        "NormalizeReward": works(wrapped("NormalizeReward")),
        "NumpyToTorch": works(wrapped("NumpyToTorch")),
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
