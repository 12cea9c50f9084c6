"""Threads that share a batch: every game is stepped once, and an interrupt finds no half of a step."""

import copy
import pickle
import time

import numpy as np
import pytest
from numba import config

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.envs import self_play
from patchwork_env.patchwork import IllegalActionError

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="threads share machine code alone")

OUTPUTS = ("states", "observations", "masks", "counts", "random_actions")
OUTPUTS += ("rewards", "terminations", "final_scores")


@pytest.fixture(autouse=True)
def _many_cores(monkeypatch):
    monkeypatch.setattr(self_play, "usable_cores", lambda: 4)


def contents(env):
    return {name: getattr(env, name).tobytes() for name in OUTPUTS}


@pytest.mark.parametrize("module", [patchwork_v0, nmbr9_v0], ids=["patchwork", "nmbr9"])
@pytest.mark.parametrize("own", [{}, {"masks": False}, {"observations": False, "rewards": "score"}], ids=str)
def test_threads_do_not_change_the_games(module, own):
    alone, *others = (module.SelfPlayBatch(31, seed=5, threads=number, **own) for number in (1, 2, 4))
    duplicates = [copy.deepcopy(others[0]), pickle.loads(pickle.dumps(others[1]))]
    for step in range(120):
        if step == 60:
            for env in (alone, *others, *duplicates):
                env.reset(seed=7)
        for env in (alone, *others, *duplicates):
            env.step(env.random_actions)
        assert all(contents(env) == contents(alone) for env in (*others, *duplicates))


@pytest.mark.parametrize("wrong", [0, 40, 199])
def test_an_illegal_action_changes_nothing(wrong):
    env = patchwork_v0.SelfPlayBatch(200, seed=5, threads=3)
    env.step(env.random_actions)
    actions, saved, before = env.random_actions.copy(), env.save(), contents(env)
    actions[[wrong, 199]] = 5000
    with pytest.raises(IllegalActionError, match=f"action 5000 of game {wrong} is not legal"):
        env.step(actions)
    assert contents(env) == before
    assert all(np.array_equal(saved[name], array) for name, array in env.save().items())


def test_an_interrupt_waits_for_all_parts(monkeypatch):
    env, twin = (patchwork_v0.SelfPlayBatch(40, seed=5, threads=2) for _ in range(2))
    for each in (env, twin):
        each.step(each.random_actions)
    submit = env._team._leader.submit

    def slowly(function, *arguments):
        time.sleep(0.02)
        function(*arguments)

    def interrupted(*arguments):
        submit(slowly, *arguments)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(env._team._leader, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(env.random_actions)
    twin.step(twin.random_actions)
    assert contents(env) == contents(twin)


def test_there_are_no_more_threads_than_cores():
    assert patchwork_v0.SelfPlayBatch(1, threads=None).threads == 4
    assert patchwork_v0.SelfPlayBatch(1, threads=9).threads == 4
