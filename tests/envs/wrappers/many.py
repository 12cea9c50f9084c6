"""Gymnasium's wrappers of vector environments."""

from __future__ import annotations

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


def works(wrap: Wrap, modes: tuple[str, ...] = ALL, **options: Any) -> Check:
    """Games in the wrapper are the games without it; modes in which it does not work are refused."""

    def check(game: str) -> None:
        steps = STEPS[game]
        for mode in modes:
            envs = wrap(make(game, mode, **options))
            seen, bare = play(envs, steps), play(make(game, mode, **options), steps)
            for one, other in zip(seen, bare, strict=True):
                assert (np.asarray(masks_of(one[4])) == other[4]["action_mask"]).all()
                assert (np.asarray(one[2]) == other[2]).all()
            assert any(step[2].any() for step in bare)
            envs.close()
        for mode in set(ALL) - set(modes):
            with pytest.raises((ValueError, AssertionError, BufferError)):
                play(wrap(make(game, mode, **options)), steps)

    return check


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


def in_a_row(space: Any) -> tuple[int, ...]:
    """The shape of a table with one row."""
    return (1, *space.shape)


CHECKS: dict[str, dict[str, Check]] = {
    YES: {
        "RecordEpisodeStatistics": works(wrapped("RecordEpisodeStatistics")),
        "DictInfoToList": works(wrapped("DictInfoToList")),
        "RecordVideo": is_filmed,
        "HumanRendering": is_in_a_window,
        "TransformObservation": works(wrapped("TransformObservation", identity), NOT_SAME),
        "VectorizeTransformObservation": works(
            lambda envs: wrappers.VectorizeTransformObservation(
                envs, of_singles.ReshapeObservation, shape=in_a_row(envs.single_observation_space)
            ),
            NOT_SAME,
        ),
        "FilterObservation": works(
            lambda envs: wrappers.FilterObservation(envs, [*envs.single_observation_space][:1]),
            NOT_SAME,
            observation="dict",
        ),
        "FlattenObservation": works(wrapped("FlattenObservation"), NOT_SAME, observation="dict"),
        "ReshapeObservation": works(
            lambda envs: wrappers.ReshapeObservation(envs, in_a_row(envs.single_observation_space)), NOT_SAME
        ),
        "RescaleObservation": works(wrapped("RescaleObservation", np.float32(0), np.float32(1)), NOT_SAME),
        "DtypeObservation": works(wrapped("DtypeObservation", np.float64), NOT_SAME),
        "NormalizeObservation": works(wrapped("NormalizeObservation"), ("NextStep",)),
        "TransformAction": works(wrapped("TransformAction", identity)),
        "VectorizeTransformAction": works(
            wrapped("VectorizeTransformAction", of_singles.TransformAction, func=identity, action_space=None)
        ),
        "TransformReward": works(wrapped("TransformReward", double)),
        "VectorizeTransformReward": works(
            wrapped("VectorizeTransformReward", of_singles.TransformReward, func=double)
        ),
        "ClipReward": works(wrapped("ClipReward", -0.5, 0.5)),
        "NormalizeReward": works(wrapped("NormalizeReward")),
        "NumpyToTorch": works(wrapped("NumpyToTorch"), NOT_SAME),
    },
    NO: {
        "GrayscaleObservation": refused(wrapped("GrayscaleObservation"), ValueError, AssertionError),
        "ResizeObservation": refused(wrapped("ResizeObservation", (2, 2)), ValueError, AssertionError),
        "ClipAction": refused(wrapped("ClipAction"), TypeError, AssertionError),
        "RescaleAction": refused(wrapped("RescaleAction", 0, 1), TypeError, AssertionError),
    },
}
