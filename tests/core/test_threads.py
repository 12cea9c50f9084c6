"""Threads that share a batch: everything is done once, whoever does it, and nobody stays behind."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from numba import config

from patchwork_env.core import threads
from patchwork_env.core.compile import kernel
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.threads import (
    Team,
    begin_phase,
    claim_chunk,
    finish_chunk,
    phase_of,
    spin_for_work,
    wait_for_members,
)
from patchwork_env.envs import self_play
from patchwork_env.patchwork import IllegalActionError
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="threads share machine code alone")

CHUNKS = 40
OUTPUTS = ("states", "observations", "masks", "counts", "random_actions")
OUTPUTS += ("rewards", "terminations", "final_scores")


@kernel
def _count_chunks(counters, leads, visits, effort, helped):
    """Counts the visits of every chunk, of each phase in a column of its own."""
    chunk = claim_chunk(counters, leads)
    while chunk >= 0:
        number = 1
        for _ in range(effort[0]):  # the Collatz sequence: 1, 4, 2, 1 and so on
            number = 3 * number + 1 if number % 2 else number // 2
        visits[chunk, phase_of(counters)] += number > 0
        if not leads:
            helped[0] = True
        finish_chunk(counters)
        chunk = claim_chunk(counters, leads)


@kernel
def _lead(counters, visits, effort, helped):
    begin_phase(counters, 0)
    _count_chunks(counters, True, visits, effort, helped)
    wait_for_members(counters, 1 << 62)
    between = visits[:, 0].sum()
    begin_phase(counters, 1)
    _count_chunks(counters, True, visits, effort, helped)
    return between


@kernel
def _assist(counters, visits, effort, helped):
    while spin_for_work(counters):
        _count_chunks(counters, False, visits, effort, helped)


def team_of(size: int, effort: int = 0) -> tuple[Team, np.ndarray, np.ndarray]:
    """A team, where it counts its visits, and where it notes that a member has helped."""
    visits, helped = np.zeros((CHUNKS, 2), np.int64), np.zeros(1, np.bool_)
    return Team(size, CHUNKS, _lead, _assist, (visits, np.array([effort]), helped)), visits, helped


def members() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("team-")]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _nobody_stays_behind():
    yield
    gc.collect()
    wait_until(lambda: not members())


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("effort", [0, 1000])
def test_every_chunk_is_done_once_in_every_phase(size: int, effort: int) -> None:
    team, visits, _ = team_of(size, effort)
    for call in range(1, 301):
        assert team.work() == call * CHUNKS  # the first phase was over when the second began
        assert (visits == call).all()
    assert len(members()) == size - 1


@pytest.mark.slow
def test_members_help_and_are_woken_again() -> None:
    team, _, helped = team_of(3, effort=100_000)
    for _ in range(3):
        wait_until(lambda: team._counters[threads._ASLEEP] == 2)
        helped[0], deadline = False, time.monotonic() + 60
        while not helped[0]:
            assert time.monotonic() < deadline
            team.work()


def test_members_that_are_of_no_use_are_woken_rarely() -> None:
    team, _, _ = team_of(2)
    alarms: list[int] = []
    team._alarm.release = alarms.append  # wakes nobody
    for _ in range(1000):
        team.work()
        team._counters[threads._ASLEEP] = 1
    del team._alarm.release
    assert alarms == [1] * 20  # after 1, 3, 7, 15, 31 and then always 63 calls


def test_interrupted_work_is_finished_before_the_next(monkeypatch) -> None:
    team, visits, _ = team_of(1)
    team._counters[threads._DONE] = CHUNKS - 1  # a member still has a chunk

    def finish(seconds: float) -> None:
        assert visits.sum() == 0
        finish_chunk(team._counters)

    monkeypatch.setattr(time, "sleep", finish)
    team.work()
    assert (visits == 1).all()


def test_leader_and_members_share_the_chunks_from_both_ends() -> None:
    team, _, _ = team_of(1)
    begin_phase(team._counters, 0)
    claims = [claim_chunk(team._counters, leads) for leads in [True, False, False] * 20]
    assert claims[:6] == [0, CHUNKS - 1, CHUNKS - 2, 1, CHUNKS - 3, CHUNKS - 4]
    assert sorted(claims[:CHUNKS]) == list(range(CHUNKS))
    assert claims[CHUNKS:] == [-1] * (60 - CHUNKS)
    team._counters[threads._DONE] = CHUNKS


# --- batched self-play ------------------------------------------------------------------------------------


@pytest.fixture
def _many_cores(monkeypatch):
    monkeypatch.setattr(self_play, "usable_cores", lambda: 4)


@pytest.mark.usefixtures("_many_cores")
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_do_not_change_the_games(threads: int) -> None:
    alone, together = (SelfPlayVectorEnv(300, seed=5, threads=number) for number in (1, threads))
    assert together.threads == threads
    for _ in range(200):
        for env in (alone, together):
            env.step(env.random_actions)
        for name in OUTPUTS:
            assert getattr(alone, name).tobytes() == getattr(together, name).tobytes(), name
    assert len(members()) == threads - 1


@pytest.mark.usefixtures("_many_cores")
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_with_threads_of_their_own(duplicate) -> None:
    env = SelfPlayVectorEnv(200, seed=5, threads=2)
    env.step(env.random_actions)
    twin = duplicate(env)
    states = twin.states.copy()
    env.step(env.random_actions)
    assert (twin.states == states).all()
    twin.step(twin.random_actions)
    assert (twin.states == env.states).all()
    assert len(members()) == 2


@pytest.mark.usefixtures("_many_cores")
@pytest.mark.parametrize("wrong", [0, 40, 199])
def test_an_illegal_action_changes_nothing(wrong: int) -> None:
    env = SelfPlayVectorEnv(200, seed=5, threads=3)
    env.step(env.random_actions)
    actions, saved = env.random_actions.copy(), env.save()
    before = [getattr(env, name).tobytes() for name in OUTPUTS]
    actions[[wrong, 199]] = 5000
    with pytest.raises(IllegalActionError, match=f"action 5000 of game {wrong} is not legal"):
        env.step(actions)
    assert [getattr(env, name).tobytes() for name in OUTPUTS] == before
    assert all((saved[name] == array).all() for name, array in env.save().items())
    env.step(env.random_actions)


@pytest.mark.usefixtures("_many_cores")
def test_games_go_on_after_reset_and_restore() -> None:
    env, alone = SelfPlayVectorEnv(200, seed=5, threads=2), SelfPlayVectorEnv(200, seed=6)
    env.step(env.random_actions)
    env.reset(seed=6)
    for each in (env, alone):
        each.step(each.random_actions)
    assert (env.states == alone.states).all()
    saved = env.save()
    env.step(env.random_actions)
    env.restore(saved)
    env.step(env.random_actions)
    alone.step(alone.random_actions)
    assert (env.states == alone.states).all()


def test_there_are_no_more_threads_than_cores() -> None:
    cores = usable_cores()
    assert SelfPlayVectorEnv(1, threads=None).threads == cores
    assert SelfPlayVectorEnv(1, threads=cores + 5).threads == cores
