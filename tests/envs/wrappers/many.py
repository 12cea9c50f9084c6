"""Gymnasium's wrappers of vector environments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as of_singles
from gymnasium.wrappers import vector as wrappers

from tests.envs.wrappers import tries
from tests.envs.wrappers.tries import GAMES, NO, YES, Check, Wrap, choose, double, identity

Comparison = Callable[[Any, Any], Any]
"""Compares what a step returns in a wrapper with what it returns without it."""
ALL = ("SameStep", "NextStep", "Disabled")
NOT_SAME = ALL[1:]
STEPS = {"Patchwork": 30, "Nmbr9": 7}
"""In which a game ends, and the next one begins."""


def make(game: str, mode: str = "NextStep", **options: Any) -> Any:
    return gymnasium.make_vec(
        f"patchwork_env:{game}-v0", 3, "vector_entry_point", autoreset_mode=mode, **GAMES[game], **options
    )


wrapped, refused = tries.wrappers_of(wrappers), partial(tries.refused, make)


def masks_of(infos: Any) -> Any:
    """The masks of infos, which a wrapper may have made a list."""
    return [info.get("action_mask") for info in infos] if isinstance(infos, list) else infos["action_mask"]


def play(envs: Any, steps: int) -> list[Any]:
    """Some steps with random legal actions: what every step returned."""
    rng, seen = np.random.default_rng(0), []
    masks = masks_of(envs.reset(seed=3)[1])
    for _ in range(steps):
        result = envs.step(np.array([choose(mask, rng) for mask in masks]))
        seen.append(result)
        ended, masks = np.asarray(result[2]) | np.asarray(result[3]), masks_of(result[4])
        if ended.any() and envs.metadata["autoreset_mode"].value == "Disabled":
            begun = masks_of(envs.reset(options={"reset_mask": ended})[1])
            masks = [begun[i] if ended[i] else masks[i] for i in range(len(ended))]
    return seen


def works(wrap: Wrap, alike: Comparison, modes: tuple[str, ...] = ALL, **options: Any) -> Check:
    """Games in the wrapper are the games without it; modes in which it does not work are refused."""

    def check(game: str) -> None:
        steps = STEPS[game]
        for mode in modes:
            envs = wrap(make(game, mode, **options))
            seen, bare = play(envs, steps), play(make(game, mode, **options), steps)
            for one, other in zip(seen, bare, strict=True):
                assert (np.asarray(one[2]) == other[2]).all()
                assert alike(one, other)
            assert any(step[2].any() for step in bare)
            envs.close()
        for mode in set(ALL) - set(modes):
            with pytest.raises((ValueError, AssertionError, BufferError)):
                play(wrap(make(game, mode, **options)), steps)

    return check


def of_observations(function: Callable[[Any, Any], Any]) -> Comparison:
    return lambda one, other: bool(np.asarray(function(one[0], other[0])).all())


def of_rewards(function: Callable[[Any], Any]) -> Comparison:
    return lambda one, other: bool(np.allclose(one[1], function(other[1])))


def has_lists(one: Any, other: Any) -> bool:
    infos, arrays = one[4], other[4]
    return len(infos) == 3 and all((info["seat"] == arrays["seat"][i]) for i, info in enumerate(infos))


def has_statistics(one: Any, other: Any) -> bool:
    ended = np.asarray(other[2])
    if not ended.any():
        return "episode" not in one[4]
    return bool(((one[4]["episode"]["l"] >= 2) == ended).all())


def of_torch(game: str) -> None:
    def alike(one: Any, other: Any) -> bool:
        masks = one[4]["action_mask"].numpy() == other[4]["action_mask"]
        return bool((one[0].numpy() == other[0]).all() and masks.all())

    works(wrapped("NumpyToTorch"), alike, NOT_SAME)(game)


def is_filmed(game: str) -> None:
    envs = make(game, render_mode="rgb_array")
    envs = wrappers.RecordVideo(envs, "films", record_first_only=True, episode_trigger=lambda _: True)
    play(envs, 1)
    envs.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_in_a_window(game: str) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("cv2")
    envs = wrappers.HumanRendering(make(game, "SameStep", render_mode="rgb_array"))
    play(envs, 1)
    envs.close()


def filtered(game: str) -> None:
    key = next(iter(make(game, observation="dict").single_observation_space.spaces))
    alike = of_observations(lambda one, other: list(one) == [key] and (one[key] == other[key]).all())
    works(wrapped("FilterObservation", [key]), alike, NOT_SAME, observation="dict")(game)


def flattened(game: str) -> None:
    names = list(make(game, observation="dict").single_observation_space.spaces)
    alike = of_observations(
        lambda one, other: one == np.concatenate([other[name].reshape(3, -1) for name in names], axis=1)
    )
    works(wrapped("FlattenObservation"), alike, NOT_SAME, observation="dict")(game)


def reshaped(wrap: Callable[..., Wrap]) -> Check:
    def check(game: str) -> None:
        size = make(game).single_observation_space.shape[0]
        works(wrap(shape=(1, size)), of_observations(lambda one, other: one[:, 0] == other), NOT_SAME)(game)

    return check


same = of_observations(lambda one, other: one == other)

CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "RecordEpisodeStatistics": works(wrapped("RecordEpisodeStatistics"), has_statistics),
        "DictInfoToList": works(wrapped("DictInfoToList"), has_lists),
        "RecordVideo": is_filmed,
        "HumanRendering": is_in_a_window,
        "TransformObservation": works(wrapped("TransformObservation", identity), same, NOT_SAME),
        "VectorizeTransformObservation": reshaped(
            partial(wrapped, "VectorizeTransformObservation", of_singles.ReshapeObservation)
        ),
        "FilterObservation": filtered,
        "FlattenObservation": flattened,
        "ReshapeObservation": reshaped(partial(wrapped, "ReshapeObservation")),
        "RescaleObservation": works(
            wrapped("RescaleObservation", np.float32(0), np.float32(1)),
            of_observations(lambda one, other: (one >= 0) & (one <= 1) & (other >= one)),
            NOT_SAME,
        ),
        "DtypeObservation": works(
            wrapped("DtypeObservation", np.float64),
            of_observations(lambda one, other: (one == other) & (one.dtype == np.float64)),
            NOT_SAME,
        ),
        "NormalizeObservation": works(
            wrapped("NormalizeObservation"),
            of_observations(lambda one, other: np.isfinite(one) & (one.shape == other.shape)),
            ("NextStep",),
        ),
        "TransformAction": works(wrapped("TransformAction", identity), same),
        "VectorizeTransformAction": works(
            wrapped("VectorizeTransformAction", of_singles.TransformAction, func=identity, action_space=None),
            same,
        ),
        "TransformReward": works(wrapped("TransformReward", double), of_rewards(double)),
        "VectorizeTransformReward": works(
            wrapped("VectorizeTransformReward", of_singles.TransformReward, func=double), of_rewards(double)
        ),
        "ClipReward": works(
            wrapped("ClipReward", -0.5, 0.5), of_rewards(lambda rewards: np.clip(rewards, -0.5, 0.5))
        ),
        "NormalizeReward": works(
            wrapped("NormalizeReward"), lambda one, other: (np.sign(one[1]) == np.sign(other[1])).all()
        ),
        "NumpyToTorch": of_torch,
    },
    NO: {
        "GrayscaleObservation": refused(wrapped("GrayscaleObservation"), ValueError, AssertionError),
        "ResizeObservation": refused(wrapped("ResizeObservation", (2, 2)), ValueError, AssertionError),
        "ClipAction": refused(wrapped("ClipAction"), TypeError, AssertionError),
        "RescaleAction": refused(wrapped("RescaleAction", 0, 1), TypeError, AssertionError),
    },
}
