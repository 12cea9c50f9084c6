"""The vector environment: the same episodes in the same form as Gymnasium's own makes of single ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from patchwork_env.errors import OpponentError
from patchwork_env.patchwork import Game, IllegalActionError
from patchwork_env.patchwork_v0 import PatchworkVectorEnv

NAME = "patchwork_env:Patchwork-v0"
CIRCLE = [*range(32, 0, -1), 0]


def last_action(game: Game) -> int:
    return int(game.legal_actions()[-1])


def batched(num_envs: int, **options: Any) -> Any:
    return gymnasium.make_vec(NAME, num_envs=num_envs, vectorization_mode="vector_entry_point", **options)


def singles(num_envs: int, **options: Any) -> Any:
    """Single environments side by side, as Gymnasium does it."""
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    return gymnasium.make_vec(NAME, num_envs, vectorization_mode="sync", vector_kwargs=mode, **options)


def random_actions(masks: np.ndarray, rng: np.random.Generator, illegal: float = 0.0) -> np.ndarray:
    """A random legal action for every game, or with some probability one that is not legal."""
    return np.array([rng.choice(np.flatnonzero(mask != (rng.random() < illegal))) for mask in masks])


def assert_same(one: Any, other: Any) -> None:
    assert data_equivalence(one, other, exact=True), f"{one}\n{other}"


# --- against Gymnasium's own ------------------------------------------------------------------------------


@pytest.mark.parametrize("illegal", [0.0, 0.02])
@pytest.mark.parametrize(
    "options",
    [
        {"opponent": "greedy"},
        {"opponent": last_action, "observation": "dict", "rewards": "margin", "special_patches": "2014"},
        {"opponent": "greedy", "seat": "random", "first_player": "random"},
        {"opponent": "greedy", "seat": 1},
    ],
)
def test_it_does_what_single_environments_do(options: dict[str, Any], illegal: float) -> None:
    own, theirs = batched(5, **options), singles(5, **options)
    assert own.single_observation_space == theirs.single_observation_space
    assert own.observation_space == theirs.observation_space
    assert own.action_space == theirs.action_space
    rng, ended = np.random.default_rng(0), 0
    for arguments in ({"seed": 40}, {"seed": [9, 9, 1, 2, 3]}, {}, {"options": {"circle": CIRCLE}}):
        results = own.reset(**arguments), theirs.reset(**arguments)
        assert_same(*results)
        for _ in range(45):
            actions = random_actions(results[0][-1]["action_mask"], rng, illegal)
            results = own.step(actions), theirs.step(actions)
            assert_same(*results)
            assert results[0][0] in own.observation_space
            ended += results[0][2].sum()
    assert ended > 10


def test_the_end_of_an_episode() -> None:
    envs = batched(3, opponent="greedy", seat=0)
    _, infos = envs.reset(seed=0)
    rng, terminations = np.random.default_rng(0), np.zeros(3, bool)
    while not terminations.any():
        observations, rewards, terminations, truncations, infos = envs.step(
            random_actions(infos["action_mask"], rng)
        )
    ended = np.flatnonzero(terminations)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert not truncations.any()
    assert (np.abs(rewards[ended]) == 1).all()
    assert (infos["_final_info"] == terminations).all()
    assert (infos["_final_obs"] == terminations).all()
    for i in ended:
        assert not infos["final_info"]["action_mask"][i].any()
        own, other = infos["final_info"]["scores"][i]
        assert rewards[i] == np.sign(own - other)
        assert infos["final_obs"][i] in envs.single_observation_space
        assert (infos["final_obs"][i] != observations[i]).any()
        assert infos["action_mask"][i].any()
        assert len(envs.games()[i].circle) > 25


# --- reproducibility --------------------------------------------------------------------------------------


def test_the_number_of_games_does_not_matter() -> None:
    few, many = batched(3, opponent="greedy"), batched(20, opponent="greedy")
    results = [few.reset(seed=4), many.reset(seed=4)]
    for _ in range(60):
        masks = results[1][-1]["action_mask"]
        assert (results[0][-1]["action_mask"] == masks[:3]).all()
        assert (results[0][0] == results[1][0][:3]).all()
        actions = masks.argmax(axis=1)
        results = [few.step(actions[:3]), many.step(actions)]
        assert (results[0][1] == results[1][1][:3]).all()


@pytest.mark.parametrize("seed", [3, [5, 6, None, 7]])
def test_a_seed_fixes_everything_the_opponent_too(seed: Any) -> None:
    def episodes(envs: Any) -> list[Any]:
        results, rng = [envs.reset(seed=seed)], np.random.default_rng(0)
        for _ in range(50):
            results.append(envs.step(random_actions(results[-1][-1]["action_mask"], rng)))
        return results

    envs = batched(4, opponent="random", seat="random", first_player="random")
    first, again = episodes(envs), episodes(envs)
    if isinstance(seed, int):
        assert_same(first, again)
        assert_same(first, episodes(batched(4, opponent="random", seat="random", first_player="random")))
    else:
        circles = [results[0][0][:, 249:282] for results in (first, again)]
        assert ((circles[0] == circles[1]).all(axis=1) == [True, True, False, True]).all()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
def test_copies_go_on_like_the_original(duplicate: Callable[[Any], Any]) -> None:
    envs = batched(4, opponent="random", seat="random")
    envs.reset(seed=1)
    twin = duplicate(envs)
    for _ in range(60):
        actions = envs.action_masks().argmax(axis=1)
        assert_same(envs.step(actions), twin.step(actions))


# --- arrays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_what_is_returned_stays_as_it_is_unless_one_opts_out(layout: str) -> None:
    for is_copied in (True, False):
        envs = batched(4, opponent="greedy", observation=layout, copy=is_copied)
        observations, infos = envs.reset(seed=0)
        kept = observations["players"] if layout == "dict" else observations
        before, masks = kept.copy(), infos["action_mask"]
        first = masks.copy()
        for _ in range(3):
            envs.step(envs.action_masks().argmax(axis=1))
        assert (kept == before).all() == is_copied
        assert (masks == first).all() == is_copied
        assert (envs.action_masks() == masks).all() == (not is_copied)


def test_masks_are_those_of_the_games() -> None:
    envs = batched(6, opponent="greedy", seat=1)
    envs.reset(seed=0)
    for _ in range(40):
        masks = envs.action_masks()
        assert (masks.shape, masks.dtype) == ((6, 2026), np.int8)
        for game, mask in zip(envs.games(), masks, strict=True):
            assert game.current_player == 1
            assert (game.action_mask() == mask).all()
        envs.step(masks.argmax(axis=1))


def test_gymnasium_wrappers() -> None:
    envs = RecordEpisodeStatistics(batched(4, opponent="greedy"))
    _, infos = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        *_, infos = envs.step(random_actions(infos["action_mask"], rng))
    assert len(envs.return_queue) >= 4
    assert set(envs.return_queue) <= {-1.0, 1.0}


# --- mistakes ---------------------------------------------------------------------------------------------


def state_of(envs: PatchworkVectorEnv) -> tuple[list[bytes], bytes]:
    return [game.to_bytes() for game in envs.games()], envs.action_masks().tobytes()


@pytest.mark.parametrize(
    ("options", "actions", "message"),
    [
        (
            {"illegal_action": "raise"},
            [0, 0, 2025],
            "action 2025 of game 2 is not legal; no game was changed",
        ),
        ({"illegal_action": "raise"}, [0, -1, 2025], "action -1 of game 1 is not legal"),
        ({}, [0, 2026, 0], "action 2026 of game 1 is not legal"),
        ({}, [0, 0], "they must be 3 integers"),
        ({}, [0.0, 0.0, 0.0], "they must be 3 integers"),
    ],
)
def test_wrong_actions_change_nothing(options: dict[str, Any], actions: Any, message: str) -> None:
    envs = batched(3, opponent="greedy", **options)
    envs.reset(seed=0)
    before = state_of(envs)
    with pytest.raises(ValueError, match=message) as caught:
        envs.step(actions)
    assert isinstance(caught.value, IllegalActionError) == ("legal" in message)
    assert state_of(envs) == before
    envs.step([0, 0, 0])
    assert state_of(envs) != before


def test_an_opponent_that_plays_an_illegal_action() -> None:
    def cheat(game: Game) -> int:
        return 2025 if game.history == () and len(game.circle) < 33 else last_action(game)

    envs = batched(3, opponent=cheat, seat=0)
    envs.reset(seed=0)
    before = state_of(envs)
    with pytest.raises(OpponentError, match="opponent 'cheat': action 2025 is not legal in game 0"):
        envs.step([last_action(game) for game in envs.games()])
    assert state_of(envs) == before


def test_before_the_first_reset() -> None:
    envs = batched(2)
    for call in (lambda: envs.step([0, 0]), envs.action_masks, envs.games):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"num_envs": 2, "seat": 2}, "seat is 2; allowed are 0 and 1"),
        ({"num_envs": 2, "copy": 1}, "copy is 1; allowed are False, True"),
        ({"num_envs": 2, "illegal_action": "ignore"}, "illegal_action is 'ignore'"),
        ({"num_envs": 2, "opponent": "greddy"}, "greddy"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PatchworkVectorEnv(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2]}, "there are 2 seeds for 3 games"),
        ({"seed": [1, 2, -3]}, "seed is -3"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1, "options": {"circles": CIRCLE}}, "unknown reset option 'circles'"),
    ],
)
def test_a_wrong_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    envs, twin = batched(3, opponent="random"), batched(3, opponent="random")
    envs.reset(seed=1)
    twin.reset(seed=1)
    with pytest.raises(ValueError, match=message):
        envs.reset(**arguments)
    assert state_of(envs) == state_of(twin)
    assert_same(envs.reset(), twin.reset())
