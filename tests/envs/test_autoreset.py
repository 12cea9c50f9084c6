"""The autoreset modes of batches: each is exactly as in Gymnasium's ``SyncVectorEnv``."""

import copy
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.envs.cases import CASES, NMBR9, Case, LastAction, assert_same, batched, cases, choose, single

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
modes = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
QUICK = Case(NMBR9, {"players": 2, "max_digit": 4, "copies": 1, "deck_size": 3}, {"deck": [3, 1, 4]})
"""A game of three moves of each player."""


def of_singles(case, num_envs, autoreset_mode, **options):
    return SyncVectorEnv([partial(single, case, **options)] * num_envs, autoreset_mode=autoreset_mode)


def actions_of(infos, rng, illegal):
    """An action of every game; any integer if nothing is legal, since it is ignored."""
    return np.array(
        [choose(mask, rng, illegal) if mask.any() else rng.integers(-9, 9) for mask in infos["action_mask"]]
    )


@modes
@pytest.mark.parametrize("illegal", [0.0, 0.05])
@pytest.mark.parametrize("case", [*CASES, QUICK], ids=repr)
def test_step_by_step(case, illegal, mode):
    options = {"observation": "dict", "rewards": "score", "seat": "random"} if illegal else {}
    options["autoreset_mode"] = mode
    own, theirs = batched(case, 4, **options), of_singles(case, 4, **options)
    assert own.single_observation_space == theirs.single_observation_space
    assert own.action_space == theirs.action_space
    assert own.metadata["autoreset_mode"] is mode
    rng, ended = np.random.default_rng(0), np.zeros(4, np.bool_)
    results = own.reset(seed=40), theirs.reset(seed=40)
    assert_same(*results)
    infos, ends = results[0][1], 0
    for step in range(60):
        if mode is DISABLED and ended.any():
            arguments = {"seed": None if step % 2 else 100 + step}
            begun = [envs.reset(**arguments, options={"reset_mask": ended.copy()}) for envs in (own, theirs)]
            assert_same(*begun)
            masks = np.where(ended[:, None], begun[0][1]["action_mask"], infos["action_mask"])
            infos = {**infos, "action_mask": masks}
        if step % 16 == 5:
            own = copy.deepcopy(own)
        actions = actions_of(infos, rng, illegal)
        results = own.step(actions), theirs.step(actions)
        assert_same(*results)
        assert step % 8 or results[0][0] in own.observation_space
        _, _, terminations, truncations, infos = results[0]
        ended = terminations | truncations
        ends += ended.sum()
    assert ends > 4
    for arguments in ({"options": case.given}, {"seed": [9, 9, 1, 2]}):
        assert_same(own.reset(**arguments), theirs.reset(**arguments))
        actions = actions_of({"action_mask": own.action_masks()}, rng, 0)
        assert_same(own.step(actions), theirs.step(actions))


@modes
@cases
def test_some_games_begin_anew(case, mode):
    own, theirs = batched(case, 4, autoreset_mode=mode), of_singles(case, 4, mode)
    results = own.reset(seed=3), theirs.reset(seed=3)
    rng = np.random.default_rng(0)
    for mask in ([True, False, False, True], [False, True, False, False], [True] * 4):
        if mode is DISABLED and own._ended.any():
            ended = own._ended.copy()
            assert_same(*(envs.reset(options={"reset_mask": ended}) for envs in (own, theirs)))
        actions = actions_of({"action_mask": own.action_masks()}, rng, 0)
        assert_same(own.step(actions), theirs.step(actions))
        before = own.games()
        for given in ({}, case.given):
            results = [
                envs.reset(seed=8, options={"reset_mask": np.array(mask), **given}) for envs in (own, theirs)
            ]
            assert_same(*results)
            stayed = [one == other for one, other in zip(own.games(), before, strict=True)]
            assert stayed == [not chosen for chosen in mask]
            assert (results[0][1]["_action_mask"] == mask).all()


def test_wrong_reset_masks():
    envs = batched(CASES[0], 2, autoreset_mode=DISABLED)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ValueError, match=r"of 2 games it may be 0 to 2\*\*64 - 2, because game i"):
        envs.reset(seed=2**64 - 1)
    envs.reset(seed=np.array(2**64 - 2))
    assert envs.np_random_seed == 2**64 - 2
    before = [game.to_bytes() for game in envs.games()]
    masks = [np.ones(3, bool), np.ones(2), np.zeros(2, bool), np.ones((2, 1), bool)]
    for wrong in ([True, False], "all", *masks):
        with pytest.raises(ValueError, match=r"reset_mask is .*; it must be an array \(2,\) of bools"):
            envs.reset(seed=2, options={"reset_mask": wrong})
    with pytest.raises(ValueError, match="unknown reset option 'circel'"):
        envs.reset(seed=2, options={"reset_mask": np.array([True, False]), "circel": 1})
    assert [game.to_bytes() for game in envs.games()] == before
    options = {"reset_mask": np.array([True, False])}
    envs.reset(seed=2, options=options)
    assert list(options) == ["reset_mask"]
    envs.reset(seed=2**64 - 2, options={"reset_mask": None})
    assert [game.to_bytes() for game in envs.games()] == before


def test_games_that_have_ended_wait_without_an_autoreset():
    envs, ended = batched(QUICK, 3, autoreset_mode=DISABLED), np.zeros(3, np.bool_)
    _, infos = envs.reset(seed=0)
    envs.step(infos["action_mask"].argmax(axis=1))
    wrong = int(np.flatnonzero(envs.action_masks()[1] == 0)[0])
    actions = envs.action_masks().argmax(axis=1)
    actions[1] = wrong
    _, rewards, ended, _, infos = envs.step(actions)
    assert ended.tolist() == [False, True, False]
    assert rewards[1] == -1
    assert infos["illegal_action"].tolist() == [-1, wrong, -1]
    before = [game.to_bytes() for game in envs.games()]
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"games \[1\] have ended: call reset\(\) with .*reset_mask"):
            envs.step(actions)
    assert [game.to_bytes() for game in envs.games()] == before
    envs.reset(options={"reset_mask": ended})
    envs.step(envs.action_masks().argmax(axis=1))


def test_the_batch_does_what_processes_do():
    options = {"num_envs": 2, "deck_size": 3, "render_mode": "ansi"}
    own = gymnasium.make_vec("patchwork_env:Nmbr9-v0", autoreset_mode=NEXT_STEP, **options)
    theirs = gymnasium.make_vec("patchwork_env:Nmbr9-v0", vectorization_mode="async", **options)
    results = own.reset(seed=2), theirs.reset(seed=2)
    for _ in range(8):
        assert_same(*results)
        assert own.render() == theirs.render()
        actions = results[0][-1]["action_mask"].argmax(axis=1)
        results = own.step(actions), theirs.step(actions)
    theirs.close()


@pytest.mark.parametrize("names", [("player",), ("last", "learner")])
def test_pictures_of_a_batch_are_those_of_single_environments_with_the_names_of_the_players(names):
    pytest.importorskip("PIL")
    options = {"render_mode": "rgb_array", "players": len(names), "seat": len(names) - 1}
    options["opponent"] = LastAction() if len(names) > 1 else None
    own, theirs = batched(QUICK, 2, **options), of_singles(QUICK, 2, SAME_STEP, **options)
    assert own.metadata["render_modes"] == ["ansi", "rgb_array"]
    own.reset(seed=1)
    theirs.reset(seed=1)
    frames = own.render()
    assert (type(frames), frames[0].dtype) == (tuple, np.uint8)
    np.testing.assert_equal(frames, theirs.render())
    np.testing.assert_equal(frames[0], NMBR9.pictures.rgb_array(own.games()[0], names=names))


def test_rendering_without_a_mode_a_game_or_a_window():
    with pytest.warns(UserWarning, match="without a render_mode; give one to gymnasium.make_vec"):
        assert batched(QUICK, 2).call("render") == (None, None)
    with pytest.raises(ResetNeeded):
        batched(QUICK, 2, render_mode="ansi").render()
    with pytest.raises(ValueError, match="render_mode is 'human'; allowed are None, 'ansi', 'rgb_array'"):
        batched(QUICK, 2, render_mode="human")
