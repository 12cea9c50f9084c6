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

from tests.envs.wrappers.rows import GAMES, NO, PICTURED, YES, Row, choose

Wrap = Callable[[Any], Any]
ALL = ("SameStep", "NextStep", "Disabled")
NOT_SAME = ALL[1:]
STEPS = {"Patchwork": 30, "Nmbr9": 7}
"""In which a game ends, and the next one begins."""


def make(game: str, mode: str, **options: Any) -> Any:
    return gymnasium.make_vec(
        f"patchwork_env:{game}-v0", 3, "vector_entry_point", autoreset_mode=mode, **GAMES[game], **options
    )


def wrapped(name: str, *args: Any, **kwargs: Any) -> Wrap:
    return lambda envs: getattr(wrappers, name)(envs, *args, **kwargs)


def masks_of(infos: Any) -> Any:
    """The masks of infos, which a wrapper may have made a list."""
    return [info.get("action_mask") for info in infos] if isinstance(infos, list) else infos["action_mask"]


def play(envs: Any, steps: int) -> list[Any]:
    """Some steps with random legal actions: what reset and every step returned."""
    rng = np.random.default_rng(0)
    seen: list[Any] = [(*envs.reset(seed=3), None)]
    masks = masks_of(seen[0][1])
    for _ in range(steps):
        result = envs.step(np.array([choose(mask, rng) for mask in masks]))
        seen.append(result)
        ended, masks = np.asarray(result[2]) | np.asarray(result[3]), masks_of(result[4])
        if ended.any() and envs.metadata["autoreset_mode"].value == "Disabled":
            begun = masks_of(envs.reset(options={"reset_mask": ended})[1])
            masks = [begun[i] if ended[i] else masks[i] for i in range(len(ended))]
    return seen


def works(
    wrap: Wrap,
    alike: Callable[[Any, Any], Any],
    modes: tuple[str, ...] = ALL,
    **options: Any,
) -> Callable[[str], None]:
    """Games in the wrapper are the games without it; modes in which it does not work are refused."""

    def check(game: str) -> None:
        steps = STEPS[game]
        for mode in modes:
            envs = wrap(make(game, mode, **options))
            seen, bare = play(envs, steps), play(make(game, mode, **options), steps)
            for one, other in zip(seen[1:], bare[1:], strict=True):
                assert (np.asarray(one[2]) == other[2]).all()
                assert alike(one, other)
            assert any(step[2].any() for step in bare[1:])
            envs.close()
        for mode in set(ALL) - set(modes):
            with pytest.raises((ValueError, AssertionError, BufferError)):
                play(wrap(make(game, mode, **options)), steps)

    return check


def refused(wrap: Wrap, *errors: type[Exception]) -> Callable[[str], None]:
    def check(game: str) -> None:
        with pytest.raises(errors):
            wrap(make(game, "NextStep"))

    return check


def of_observations(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda one, other: bool(np.asarray(function(one[0], other[0])).all())


def of_rewards(function: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda one, other: bool(np.allclose(one[1], function(other[1])))


def has_lists(one: Any, other: Any) -> bool:
    infos, arrays = one[4], other[4]
    return len(infos) == 3 and all((info["seat"] == arrays["seat"][i]) for i, info in enumerate(infos))


def has_statistics(one: Any, other: Any) -> bool:
    ended = np.asarray(other[2])
    if not ended.any():
        return "episode" not in one[4]
    return bool(((one[4]["episode"]["l"] >= 2) == ended).all())


def is_torch(one: Any, other: Any) -> bool:
    return bool(
        (one[0].numpy() == other[0]).all()
        and (one[4]["action_mask"].numpy() == other[4]["action_mask"]).all()
    )


def is_filmed(game: str) -> None:
    envs = make(game, "NextStep", render_mode="rgb_array")
    envs = wrappers.RecordVideo(envs, "films", record_first_only=True, episode_trigger=lambda _: True)
    play(envs, 1)
    envs.close()
    assert [path.suffix for path in Path("films").iterdir()] == [".mp4"]


def is_in_a_window(game: str) -> None:
    envs = wrappers.HumanRendering(make(game, "SameStep", render_mode="rgb_array"))
    play(envs, 1)
    envs.close()


def filtered(game: str) -> None:
    key = next(iter(make(game, "NextStep", observation="dict").single_observation_space.spaces))
    alike = of_observations(lambda one, other: list(one) == [key] and (one[key] == other[key]).all())
    works(wrapped("FilterObservation", [key]), alike, NOT_SAME, observation="dict")(game)


def flattened(game: str) -> None:
    space = make(game, "NextStep", observation="dict").single_observation_space
    names = list(space.spaces)
    alike = of_observations(
        lambda one, other: one == np.concatenate([other[name].reshape(3, -1) for name in names], axis=1)
    )
    works(wrapped("FlattenObservation"), alike, NOT_SAME, observation="dict")(game)


def reshaped(game: str) -> None:
    size = make(game, "NextStep").single_observation_space.shape[0]
    alike = of_observations(lambda one, other: one[:, 0] == other)
    works(wrapped("ReshapeObservation", (1, size)), alike, NOT_SAME)(game)
    lifted = wrapped("VectorizeTransformObservation", of_singles.ReshapeObservation, shape=(1, size))
    works(lifted, alike, NOT_SAME)(game)


def identity(value: Any) -> Any:
    return value


def double(value: Any) -> Any:
    return 2 * value


_yes, _no = partial(Row, verdict=YES), partial(Row, verdict=NO)
_MODES = "not with `SAME_STEP`"
_same = of_observations(lambda one, other: one == other)
_PIXELS, _BOXES = "for pictures", "for continuous actions"
_JAX = "needs JAX"


ROWS = [
    _yes(
        "RecordEpisodeStatistics",
        note="Gymnasium 1.2 leaves out the first step of every later game with `SAME_STEP`; 1.4 does not",
        check=works(wrapped("RecordEpisodeStatistics"), has_statistics),
    ),
    _yes("DictInfoToList", note="", check=works(wrapped("DictInfoToList"), has_lists)),
    _yes(
        "RecordVideo",
        note='`render_mode="rgb_array"`; with `SAME_STEP` the last frame of a game is missing; needs MoviePy',
        check=is_filmed,
        needs=("moviepy",),
        games=PICTURED,
    ),
    _yes(
        "HumanRendering",
        note='`render_mode="rgb_array"`; needs OpenCV',
        check=is_in_a_window,
        needs=("pygame", "cv2"),
        games=PICTURED,
    ),
    _yes(
        "TransformObservation",
        note=_MODES,
        check=works(wrapped("TransformObservation", identity), _same, NOT_SAME),
    ),
    _yes("VectorizeTransformObservation", note=_MODES, check=reshaped),
    _yes("FilterObservation", note=f'with `observation="dict"`; {_MODES}', check=filtered),
    _yes("FlattenObservation", note=f'with `observation="dict"`; {_MODES}', check=flattened),
    _yes("ReshapeObservation", note=_MODES, check=reshaped),
    _yes(
        "RescaleObservation",
        note=_MODES,
        check=works(
            wrapped("RescaleObservation", np.float32(0), np.float32(1)),
            of_observations(lambda one, other: (one >= 0) & (one <= 1) & (other >= one)),
            NOT_SAME,
        ),
    ),
    _yes(
        "DtypeObservation",
        note=_MODES,
        check=works(
            wrapped("DtypeObservation", np.float64),
            of_observations(lambda one, other: (one == other) & (one.dtype == np.float64)),
            NOT_SAME,
        ),
    ),
    _yes(
        "NormalizeObservation",
        note="with `NEXT_STEP`",
        check=works(
            wrapped("NormalizeObservation"),
            of_observations(lambda one, other: np.isfinite(one) & (one.shape == other.shape)),
            ("NextStep",),
        ),
    ),
    _yes("TransformAction", note="", check=works(wrapped("TransformAction", identity), _same)),
    _yes(
        "VectorizeTransformAction",
        note="",
        check=works(
            wrapped("VectorizeTransformAction", of_singles.TransformAction, func=identity, action_space=None),
            _same,
        ),
    ),
    _yes("TransformReward", note="", check=works(wrapped("TransformReward", double), of_rewards(double))),
    _yes(
        "VectorizeTransformReward",
        note="",
        check=works(
            wrapped("VectorizeTransformReward", of_singles.TransformReward, func=double), of_rewards(double)
        ),
    ),
    _yes(
        "ClipReward",
        note="",
        check=works(
            wrapped("ClipReward", -0.5, 0.5), of_rewards(lambda rewards: np.clip(rewards, -0.5, 0.5))
        ),
    ),
    _yes(
        "NormalizeReward",
        note="",
        check=works(
            wrapped("NormalizeReward"), lambda one, other: (np.sign(one[1]) == np.sign(other[1])).all()
        ),
    ),
    _yes(
        "NumpyToTorch",
        note=f"{_MODES}: it cannot take `final_obs`; needs array-api-compat",
        check=works(wrapped("NumpyToTorch"), is_torch, NOT_SAME),
        needs=("array_api_compat", "torch"),
    ),
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
    _no("ClipAction", note=_BOXES, check=refused(wrapped("ClipAction"), TypeError, AssertionError)),
    _no(
        "RescaleAction", note=_BOXES, check=refused(wrapped("RescaleAction", 0, 1), TypeError, AssertionError)
    ),
    Row("ArrayConversion", "not tried", "`NumpyToTorch` is one"),
    Row("JaxToNumpy", "not tried", _JAX),
    Row("JaxToTorch", "not tried", _JAX),
]
