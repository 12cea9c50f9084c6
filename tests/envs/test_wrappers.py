"""Games in the wrappers that work according to ``docs/use/wrappers.md``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as single
from gymnasium.wrappers import vector as many
from pettingzoo.utils import conversions
from pettingzoo.utils import wrappers as turns

from patchwork_env import nmbr9_v0

PAGE = Path(__file__).parents[2] / "docs" / "use" / "wrappers.md"
NAME = "patchwork_env:Nmbr9-v0"
GAME: dict[str, Any] = {"players": 2, "deck_size": 3}
PICTURES = {"render_mode": "rgb_array"}
NAMED = {"observation": "dict"}
Check = Callable[[], object]


def wrapped(library, name, *args, **kwargs):
    """Return a function that puts an environment into a wrapper of a library."""
    return lambda env: getattr(library, name)(env, *args, **kwargs)


def first_of(mask):
    """The first legal action; 0 if nothing is legal, since the action is ignored."""
    return int(np.asarray(mask).argmax())


def identity(value, *_):
    return value


def always(_):
    return True


def one_row(space):
    """The shape of a table with one row of such observations."""
    return (1, *space.shape)


# --- single environments of Gymnasium -----------------------------------------------------------------------


def play_alone(env):
    """The masks of a game, each with whether the game was truncated."""
    observation, info = env.reset(seed=3)
    steps, over = [(np.asarray(info["action_mask"]).tolist(), False)], False
    while not over:
        assert observation in env.observation_space
        observation, _, terminated, truncated, info = env.step(first_of(info["action_mask"]))
        steps.append((np.asarray(info["action_mask"]).tolist(), truncated))
        over = terminated or truncated
    return steps


def alone(wrap, **options):
    """Return a check that the game in the wrapper is the game without it, perhaps truncated."""

    def check():
        env = wrap(gymnasium.make(NAME, **GAME, **options))
        masks, cuts = zip(*play_alone(env), strict=True)
        bare, _ = zip(*play_alone(gymnasium.make(NAME, **GAME)), strict=True)
        assert masks == bare[: len(masks)]
        assert len(masks) == len(bare) or cuts[-1]
        if options == PICTURES:
            env.render()
        env.close()

    return check


def begins_anew():
    env: Any = single.Autoreset(gymnasium.make(NAME, **GAME))
    play_alone(env)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0, False, False)
    assert observation in env.observation_space
    assert info["action_mask"].any()


PLAIN: list[tuple[Any, ...]] = [
    *(("TimeLimit", 2), ("FrameStackObservation", 3), ("DelayObservation", 2), ("NumpyToTorch",)),
    *(("TransformObservation", identity, None), ("TransformAction", identity, None)),
    *(("RescaleObservation", np.float32(0), np.float32(1)), ("DtypeObservation", np.float64)),
    *(("RecordEpisodeStatistics",), ("NormalizeObservation",), ("NormalizeReward",)),
    *(("TransformReward", identity), ("ClipReward", -0.5, 0.5)),
]
SINGLE: dict[str, Check] = {
    **{name: alone(wrapped(single, name, *args)) for name, *args in PLAIN},
    "OrderEnforcing": alone(lambda env: single.OrderEnforcing(env.unwrapped)),
    "PassiveEnvChecker": alone(lambda env: single.PassiveEnvChecker(env.unwrapped)),
    "Autoreset": begins_anew,
    "RecordVideo": alone(wrapped(single, "RecordVideo", "films", always), **PICTURES),
    "RenderCollection": alone(wrapped(single, "RenderCollection"), **PICTURES),
    "HumanRendering": alone(wrapped(single, "HumanRendering"), **PICTURES),
    "AddWhiteNoise": alone(wrapped(single, "AddWhiteNoise", 0.1), **PICTURES),
    "ObstructView": alone(wrapped(single, "ObstructView", 0.2, 8), **PICTURES),
    "AddRenderObservation": alone(wrapped(single, "AddRenderObservation", render_only=False), **PICTURES),
    "FilterObservation": alone(
        lambda env: single.FilterObservation(env, [*env.observation_space][:1]), **NAMED
    ),
    "FlattenObservation": alone(wrapped(single, "FlattenObservation"), **NAMED),
    "ReshapeObservation": alone(lambda env: single.ReshapeObservation(env, one_row(env.observation_space))),
    "DiscretizeObservation": alone(wrapped(single, "DiscretizeObservation", 3, multidiscrete=True)),
    "TimeAwareObservation": alone(lambda env: single.TimeAwareObservation(single.TimeLimit(env, 50))),
}


# --- vector environments of Gymnasium -----------------------------------------------------------------------

ALL = ("SameStep", "NextStep", "Disabled")
NOT_SAME = ALL[1:]


def masks_of(infos):
    """The masks of infos, which may be a list of a wrapper."""
    return [info.get("action_mask") for info in infos] if isinstance(infos, list) else infos["action_mask"]


def play_many(envs):
    """The masks and ends of seven steps, during which games end and others begin."""
    seen, masks = [], masks_of(envs.reset(seed=3)[1])
    for _ in range(7):
        _, _, terminations, _, infos = envs.step(np.array([first_of(mask) for mask in masks]))
        masks, ended = masks_of(infos), np.asarray(terminations)
        seen.append((np.asarray(masks).tolist(), ended.tolist()))
        if ended.any() and envs.metadata["autoreset_mode"].value == "Disabled":
            masks = masks_of(envs.reset(options={"reset_mask": ended})[1])
    return seen


def batch(wrap, modes=ALL, **options):
    """Return a check that the games in the wrapper are the games without it."""

    def check():
        for mode in modes:
            envs, bare = (
                gymnasium.make_vec(NAME, 2, "vector_entry_point", autoreset_mode=mode, **GAME, **given)
                for given in (options, {})
            )
            env = wrap(envs)
            seen = play_many(env)
            assert seen == play_many(bare)
            assert any(any(ends) for _, ends in seen)
            env.close()

    return check


def in_a_window():
    pytest.importorskip("cv2")
    batch(wrapped(many, "HumanRendering"), ("SameStep",), **PICTURES)()


MANY: dict[str, Check] = {
    **{name: batch(wrapped(many, name)) for name in ("RecordEpisodeStatistics", "NormalizeReward")},
    **{name: batch(wrapped(many, name, identity)) for name in ("TransformAction", "TransformReward")},
    "DictInfoToList": batch(wrapped(many, "DictInfoToList")),
    "ClipReward": batch(wrapped(many, "ClipReward", -0.5, 0.5)),
    "RecordVideo": batch(wrapped(many, "RecordVideo", "films", episode_trigger=always), NOT_SAME, **PICTURES),
    "HumanRendering": in_a_window,
    "TransformObservation": batch(wrapped(many, "TransformObservation", identity), NOT_SAME),
    "VectorizeTransformObservation": batch(
        lambda envs: many.VectorizeTransformObservation(
            envs, single.ReshapeObservation, shape=one_row(envs.single_observation_space)
        ),
        NOT_SAME,
    ),
    "FilterObservation": batch(
        lambda envs: many.FilterObservation(envs, [*envs.single_observation_space][:1]), NOT_SAME, **NAMED
    ),
    "FlattenObservation": batch(wrapped(many, "FlattenObservation"), NOT_SAME, **NAMED),
    "ReshapeObservation": batch(
        lambda envs: many.ReshapeObservation(envs, one_row(envs.single_observation_space)), NOT_SAME
    ),
    "RescaleObservation": batch(wrapped(many, "RescaleObservation", np.float32(0), np.float32(1)), NOT_SAME),
    "DtypeObservation": batch(wrapped(many, "DtypeObservation", np.float64), NOT_SAME),
    "NormalizeObservation": batch(wrapped(many, "NormalizeObservation"), ("NextStep",)),
    "VectorizeTransformAction": batch(
        wrapped(many, "VectorizeTransformAction", single.TransformAction, func=identity, action_space=None)
    ),
    "VectorizeTransformReward": batch(
        wrapped(many, "VectorizeTransformReward", single.TransformReward, func=identity)
    ),
    "NumpyToTorch": batch(wrapped(many, "NumpyToTorch"), NOT_SAME),
}


# --- environments of PettingZoo -----------------------------------------------------------------------------


def play_turns(env):
    """The results of ``last`` in a game with turns."""
    steps: list[Any] = []
    env.reset(seed=3)
    for agent in env.agent_iter():
        seen, *others, _ = env.last()
        steps.append((agent, seen["action_mask"].tolist(), *others))
        env.step(None if any(others[1:]) else first_of(seen["action_mask"]))
    return steps


def play_at_once(env):
    """The actions and rewards of a game in which all act at once."""
    steps: list[Any] = []
    seen, _ = env.reset(seed=3)
    while env.agents:
        actions = {agent: first_of(seen[agent]["action_mask"]) for agent in env.agents}
        seen, rewards, *_ = env.step(actions)
        steps.append((actions, rewards))
    return steps


def in_turn(wrap, make=nmbr9_v0.env):
    def check():
        env = wrap(make(**GAME))
        assert play_turns(env) == play_turns(make(**GAME))
        env.close()

    return check


def at_once(wrap, games=1, **options):
    def check():
        env = wrap(nmbr9_v0.parallel_env(**GAME, **options))
        bare = nmbr9_v0.parallel_env(**GAME)
        steps, expected = play_at_once(env), play_at_once(bare)
        assert steps[: len(expected)] == expected
        assert len(steps) == games * len(expected)
        env.close()

    return check


def two_games():
    games, one = (play_turns(turns.MultiEpisodeEnv(nmbr9_v0.env(**GAME), count)) for count in (2, 1))
    assert games[: len(one) - 2] == one[:-2]
    assert len(games) > len(one)


def by_turns_and_back():
    parallel = nmbr9_v0.parallel_env(**GAME)
    by_turns = conversions.parallel_to_aec(parallel)
    assert len(play_turns(by_turns)) == len(play_turns(nmbr9_v0.env(**GAME)))
    assert conversions.aec_to_parallel(by_turns) is parallel


TURNS: dict[str, Check] = {
    "OrderEnforcingWrapper": in_turn(wrapped(turns, "OrderEnforcingWrapper")),
    "AssertOutOfBoundsWrapper": in_turn(wrapped(turns, "AssertOutOfBoundsWrapper")),
    "TerminateIllegalWrapper": in_turn(wrapped(turns, "TerminateIllegalWrapper", -1), nmbr9_v0.raw_env),
    "BaseWrapper": in_turn(wrapped(turns, "BaseWrapper")),
    "BaseParallelWrapper": at_once(wrapped(turns, "BaseParallelWrapper")),
    "MultiEpisodeEnv": two_games,
    "MultiEpisodeParallelEnv": at_once(wrapped(turns, "MultiEpisodeParallelEnv", 2), games=2),
    "RecordVideo": in_turn(
        wrapped(turns, "RecordVideo", "films", always), lambda **game: nmbr9_v0.env(**game, **PICTURES)
    ),
    "RecordVideoParallel": at_once(wrapped(turns, "RecordVideoParallel", "films", always), **PICTURES),
    "parallel_to_aec": by_turns_and_back,
}


# --- the tables of the page ---------------------------------------------------------------------------------

CONVERSIONS = {"aec_to_parallel", "parallel_to_aec", "turn_based_aec_to_parallel"}
LIBRARIES = {
    "Gymnasium, single environments": (SINGLE, {*single.__all__} - {"vector"}),
    "Gymnasium, vector environments": (MANY, {*many.__all__}),
    "PettingZoo": (TURNS, {*turns.__all__} | CONVERSIONS),
}
FILMS = ("RecordVideo", "RecordVideoParallel")


def listed(title):
    """The wrappers of a library that work according to the page, and all others on it."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    work: set[str] = set()
    others: set[str] = set()
    for verdict, text in re.findall(r"^\*\*(.*?):\*\* (.*?)\n\n", section + "\n\n", re.MULTILINE | re.DOTALL):
        names = work if verdict.startswith("Work") else others
        names |= set(re.findall(r"`(\w+)`", text))
    return work, others


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(
            *row, id=f"{title}-{row[0]}", marks=[pytest.mark.libraries] * (row[0] in (*FILMS, "NumpyToTorch"))
        )
        for title, (checks, there) in LIBRARIES.items()
        for row in checks.items()
        if row[0] in there
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast", "ignore:.*Overwriting existing videos")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:.*Casting input")
def test_games_are_played_in_it(name, check, monkeypatch, tmp_path):
    if name in FILMS:
        pytest.importorskip("moviepy")
    if name == "NumpyToTorch":
        pytest.importorskip("array_api_compat")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    check()
    assert [path.suffix for path in tmp_path.rglob("*.*")][:1] == [".mp4"] * (name in FILMS)


@pytest.mark.parametrize("title", LIBRARIES)
def test_the_page_lists_every_wrapper(title):
    checks, there = LIBRARIES[title]
    work, others = listed(title)
    assert there <= work | others
    assert work == set(checks)
    assert not work & others
